#!/usr/bin/env python3
"""What sources of filters may be, and how they are read: categories of an archive that several filters share, options of each
source. Through the real programs, against a server of lists.

Usage: sources_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import ctypes
import gzip
import hashlib
import io
import json
import os
import resource
import struct
import tarfile
import unittest.mock
import zipfile

from interception_site import main, until
from update_site import Site, hosts


def archive(files, folder="blacklists"):
    """A tar.gz as UT1 publishes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text.encode()))
    return out.getvalue()


SCHOOL = {"adult/domains": hosts(60, "adult"), "adult/urls": "pages.test/adult\n", "adult/usage": "black\n",
          "games/domains": hosts(50, "game"), "games/usage": "black\n",
          "good/domains": hosts(40, "good"), "good/usage": "white\n"}


class Categories(Site):
    def setUp(self):
        super().setUp()
        self.lists.pages["/ut1.tar.gz"] = archive(SCHOOL)

    def school(self, adult=("adult",), games=("games",)):
        self.configure([("adult", {"sources": [self.source("/ut1.tar.gz", categories=list(adult))]}),
                        ("games", {"sources": [self.source("/ut1.tar.gz", categories=list(games))]})])

    def test_two_filters_of_one_archive_that_is_fetched_once(self):
        self.school()
        self.update()
        self.assertEqual(self.lists.requests("/ut1.tar.gz"), 1)
        self.assertTrue(self.stops("adult1.test", "adult"))
        self.assertFalse(self.stops("game1.test", "adult"))
        self.assertTrue(self.stops("game1.test", "games"))
        self.assertFalse(self.stops("adult1.test", "games"))
        self.assertEqual([self.first(name)["entries"] for name in ("adult", "games")], [62, 50])  # a URL is the page and what is below it

    def test_news_are_fetched_once_and_so_is_that_there_are_none(self):
        self.school()
        self.update()
        self.update("adult", "games")
        self.assertEqual(self.lists.requests("/ut1.tar.gz"), 2)
        self.assertEqual([self.first(name)["result"] for name in ("adult", "games")], ["unchanged"] * 2)
        self.lists.pages["/ut1.tar.gz"] = archive(SCHOOL | {"games/domains": hosts(55, "game")})
        self.update("adult", "games")
        self.assertEqual(self.lists.requests("/ut1.tar.gz"), 3)
        self.assertTrue(self.stops("game54.test", "games"))
        self.assertEqual([self.first(name)["result"] for name in ("adult", "games")], ["updated"] * 2)

    def test_filter_that_joins_later_gets_its_own(self):
        self.configure([("adult", {"sources": [self.source("/ut1.tar.gz", categories=["adult"])]})])
        self.update()
        self.school()
        self.update("adult", "games")
        self.assertTrue(self.stops("game1.test", "games"))

    def test_failure_is_shared_but_not_what_is_too_large_for_one(self):
        self.lists.pages["/ut1.tar.gz"] = (500, {}, b"")
        self.school()
        self.update(exit_status=1)
        self.assertEqual(self.lists.requests("/ut1.tar.gz"), 1)
        self.assertEqual([self.first(name)["result"] for name in ("adult", "games")], ["failed"] * 2)
        self.lists.pages["/ut1.tar.gz"] = archive(SCHOOL)
        self.configure([(name, {"sources": [self.source("/ut1.tar.gz", categories=[name])], "guards": {"most_bytes": most}})
                        for name, most in (("adult", "1KiB"), ("games", "1MiB"))])
        self.update("adult", "games", exit_status=1)
        self.assertEqual([self.first(name)["guard"] for name in ("adult", "games")], ["most_bytes", ""])
        self.assertTrue(self.stops("game1.test", "games"))

    def test_category_that_is_not_there_is_named_with_those_that_are(self):
        self.school(games=["gaming"])
        said = self.update(exit_status=1)
        self.assertIn("has no category gaming; it has adult, games, good", said)
        self.assertTrue(self.stops("adult1.test", "adult"))

    def test_other_categories_are_another_list_to_the_guards(self):
        self.school(games=["adult", "games"])
        self.update()
        self.assertEqual(self.first("games")["entries"], 112)
        self.school(games=["good", "games"])
        self.assertIn("white:", self.update("games", exit_status=1))
        self.school()
        self.update("games")
        self.assertEqual(self.first("games")["entries"], 50)
        self.assertFalse(self.stops("adult1.test", "games"))
        self.lists.pages["/ut1.tar.gz"] = archive(SCHOOL | {"games/domains": hosts(30, "game")})
        self.update("games")  # 40 % fewer than 50, and not 73 % fewer than 112

    def test_white_categories(self):
        whole = self.source("/ut1.tar.gz")
        self.ads(whole)
        said = self.update(exit_status=1)
        self.assertIn("say with white: what becomes of it", said)
        for white, is_stopped in (("allow", False), ("block", True)):
            self.ads(whole | {"white": white})
            self.update("ads")
            self.assertEqual(self.stops("good1.test"), is_stopped, white)
            self.assertTrue(self.stops("game1.test"), white)

    def test_white_categories_are_what_a_white_list_is_made_of(self):
        self.configure([("ok", {"sources": [self.source("/ut1.tar.gz", categories=["good"])], "action": "allow"})])
        self.update()
        self.assertTrue(self.stops("good1.test", "ok"))
        self.assertFalse(self.stops("game1.test", "ok"))

    def test_build_takes_categories_too(self):
        (self.folder / "ut1.tar.gz").write_bytes(archive(SCHOOL))
        done = self.command("build", "-o", "ads.bwf", "--categories", "games,adult", "ut1.tar.gz", program="bloomwall-filter")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(self.stops("game1.test") and self.stops("adult1.test"))
        self.assertFalse(self.stops("good1.test"))

    def test_why_reads_these_categories_alone(self):
        self.school()
        self.update()
        said = self.command("why", "--config", "bloomwall.yaml", "http://game3.test/").stdout
        self.assertRegex(said, r"ut1\.tar\.gz:\S*games/domains")
        self.assertIn("game3.test", said)


class Options(Site):
    def test_column_of_each_table(self):
        self.lists.pages["/a.csv"] = "Malware,Domain,Date\n" + "".join(f"x,ad{i}.test,2026\n" for i in range(60))
        self.lists.pages["/b.csv"] = "".join(f"{i};y;pop{i}.test\n" for i in range(60))
        self.ads(self.source("/a.csv"), self.source("/b.csv", column="3"))
        said = self.update(exit_status=1)
        self.assertIn("column: NUMBER or NAME", said)
        self.assertNotIn("--csv-column", said)
        self.ads(self.source("/a.csv", column="Domain"), self.source("/b.csv", column="3"))
        self.update("ads")
        self.assertTrue(self.stops("ad7.test") and self.stops("pop7.test"))
        said = self.command("why", "--config", "bloomwall.yaml", "http://pop7.test/").stdout
        self.assertIn("7;y;pop7.test", said)

    def test_options_are_those_of_one_source(self):
        self.lists.pages["/exact.txt"] = hosts(60, "ex")
        self.lists.pages["/plain.txt"] = hosts(60, "pl")
        self.lists.pages["/hosts"] = "".join(f"0.0.0.0 ho{i}.test\n" for i in range(60))
        self.ads(self.source("/exact.txt", exact=True), self.source("/plain.txt"), self.source("/hosts", hosts_as_suffix=True))
        self.update()
        for host, is_stopped in (("ex1.test", True), ("www.ex1.test", False), ("www.pl1.test", True), ("www.ho1.test", True)):
            self.assertEqual(self.stops(host), is_stopped, host)
        self.ads(self.source("/exact.txt"), self.source("/plain.txt"), self.source("/hosts"))  # the same lists, read otherwise
        self.update("ads")
        for host, is_stopped in (("www.ex1.test", True), ("www.ho1.test", False), ("ho1.test", True)):
            self.assertEqual(self.stops(host), is_stopped, host)

    def test_what_else_build_can_leave_in(self):
        self.lists.pages["/tld.txt"] = "zip\n*.mov\n" + hosts(60)
        self.lists.pages["/wide.txt"] = "198.0.0.0/6\n" + "".join(f"203.0.{i}.0/24\n" for i in range(60))
        self.lists.pages["/third.txt"] = "[Adblock Plus 2.0]\n" + "".join(f"||third{i}.test^$third-party\n" for i in range(60))
        self.lists.pages["/script.txt"] = "".join(f"http://www{i}.test/a/{name}\n" for i in range(30)
                                                  for name in ("run.php", "index.html"))
        self.lists.pages["/wild.txt"] = "".join(f"*.wild{i}.test\n" for i in range(60))
        self.configure([("tld", {"sources": [self.source("/tld.txt", allow_tld=True)]}),
                        ("wide", {"sources": [self.source("/wide.txt", allow_wide_ranges=True)]}),
                        ("third", {"sources": [self.source("/third.txt", aggressive=True)]}),
                        ("wild", {"sources": [self.source("/wild.txt", strict_wildcard=True)]}),
                        ("script", {"sources": [self.source("/script.txt", path_info=True)]}),
                        ("index", {"sources": [self.source("/script.txt", index_files=True)]})])
        self.update()
        self.assertTrue(self.stops("any.zip", "tld"))
        self.assertEqual(self.first("wide")["unusable"], 0)
        self.assertTrue(self.stops("third3.test", "third"))
        self.assertTrue(self.stops("a.wild3.test", "wild"))
        self.assertFalse(self.stops("wild3.test", "wild"))
        for url, stopped_by in (("www3.test/a/run.php/x", "script"), ("www3.test/a", "index"), ("www3.test/a/x", "")):
            for name in ("script", "index"):
                self.assertEqual(self.stops(url, name), name == stopped_by, (url, name))

    def test_what_servers_take_for_a_listed_url(self):
        self.lists.pages["/urls.txt"] = "".join(f"http://url{i}.test/{path}\n" for i in range(60)
                                                for path in ("a/index.php", "b?id=1&b=x+y"))
        source = self.source("/urls.txt", path_info=True, index_files=True)
        self.configure([("loose", {"sources": [source], "build": {"query_spellings": True}}),
                        ("strict", {"sources": [self.source("/urls.txt")]})])
        self.update()
        for path in ("a/index.php/x", "a/", "b?&id=1;b=x%20y&"):
            self.assertTrue(self.stops("url3.test/" + path, "loose"), path)
            self.assertFalse(self.stops("url3.test/" + path, "strict"), path)
        self.configure([("loose", {"sources": [source]}), ("strict", {"sources": [self.source("/urls.txt")]})])
        self.update("loose")  # the same list and another filter
        self.assertFalse(self.stops("url3.test/b?&id=1;b=x%20y&", "loose"))
        self.assertTrue(self.stops("url3.test/a/", "loose"))

    def test_wrong_keys_are_named(self):
        for source, complaint in (({"column": ""}, "the number of a column"), ({"categories": ["/x"]}, "the name of a category"),
                                  ({"column": "2", "format": "hosts"}, "goes with format"), ({"white": "allowed"}, "refuse")):
            self.ads(self.source("/a.txt", **source))
            done = self.command("check", "--config", "bloomwall.yaml")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(complaint, done.stdout + done.stderr)


ALLOWED = "[Adblock Plus]\n! Title: what may pass\n" + "".join(f"@@||good{i}.test^$important\n" for i in range(40)) + "@@|one.test^|\n"


class AllowLists(Site):
    def test_published_allow_list_as_a_file_and_as_a_source(self):
        self.lists.pages["/allow.txt"] = ALLOWED
        self.lists.pages["/ads.txt"] = hosts(50) + hosts(40, "good") + "one.test\n"
        (self.folder / "allow.txt").write_text(ALLOWED)
        ads = ("ads", {"sources": [self.source("/ads.txt")]})
        for filters, more in (([("ok", {"sources": [self.source("/allow.txt")], "action": "allow"}), ads], {}),
                              ([ads], {"allow_lists": ["allow.txt"]})):
            self.configure(filters, **more)
            self.update()
            for host, word in (("good3.test", "allowed"), ("www.good3.test", "allowed"), ("one.test", "allowed"),
                               ("www.one.test", "blocked"), ("ad3.test", "blocked")):
                said = self.command("explain", "--config", "bloomwall.yaml", f"http://{host}/")
                self.assertIn(word, said.stdout.lower(), f"{host}: {said.stdout}{said.stderr}")


EXCEPTIONS = "[Adblock Plus]\n" + "".join(f"||ad{i}.test^\n" for i in range(50)) + (
    "||tracker.test^\n@@||pay.tracker.test^\n||one.test^\n@@|www.one.test^|\n||folder.test^\n@@||folder.test/ok/\n"
    "||hard.test^$important\n@@||www.hard.test^\n||subs.test^\n@@||*.subs.test^\n")
VERDICTS = (("http://tracker.test/", "blocked"), ("http://pay.tracker.test/", "allowed"), ("http://www.pay.tracker.test/", "allowed"),
            ("http://one.test/", "blocked"), ("http://www.one.test/", "allowed"), ("http://x.www.one.test/", "blocked"),
            ("http://folder.test/", "blocked"), ("http://folder.test/ok/a", "allowed"), ("http://www.hard.test/", "blocked"),
            ("http://subs.test/", "blocked"), ("http://a.subs.test/", "allowed"), ("http://ad1.test/", "blocked"))


class Exceptions(Site):
    def judge(self, cases, config="bloomwall.yaml"):
        for url, word in cases:
            said = self.command("explain", "--config", config, url)
            self.assertIn(word, said.stdout.lower(), f"{url}: {said.stdout}{said.stderr}")

    def beside(self):
        return sorted(file.name for file in self.folder.glob("ads.bwf.*.allow"))

    def test_exceptions_of_a_list_free_what_its_filter_blocks(self):
        self.lists.pages["/ads.txt"] = EXCEPTIONS
        self.ads()
        said = self.update()
        self.assertIn("; 4 exceptions of the lists free what this filter alone stops; 1 exception of the lists left out: they would "
                      "free what an $important rule stops\n", said)
        self.assertEqual(self.state()["exceptions"], 4)
        self.assertEqual(len(self.beside()), 1)
        self.judge(VERDICTS)
        said = self.command("check", "--config", "bloomwall.yaml").stdout
        self.assertIn("allow lists: 0 entries\nexceptions that lists of filters carry: 4\n", said)
        said = self.command("why", "--config", "bloomwall.yaml", "http://pay.tracker.test/").stdout
        self.assertIn("freed by S pay.tracker.test", said)
        self.assertIn("@@||pay.tracker.test^", said)
        self.run_proxy()
        self.assertEqual(self.ask("GET", "/api/v1/lists")[1]["items"][0]["exceptions"], 4)

    def test_no_other_filter(self):
        self.lists.pages["/ads.txt"] = EXCEPTIONS
        self.lists.pages["/more.txt"] = hosts(50, "more") + "pay.tracker.test\n"
        self.configure([("ads", {"sources": [self.source("/ads.txt")]}), ("more", {"sources": [self.source("/more.txt")]})])
        self.update()
        self.judge([("http://pay.tracker.test/", "blocked"), ("http://www.one.test/", "allowed")])

    def test_they_change_with_the_list(self):
        self.lists.pages["/ads.txt"] = EXCEPTIONS
        self.ads()
        self.update()
        first = self.beside()
        self.run_proxy()
        self.assertEqual(self.status_of("http://tracker.test/"), 403)
        self.assertNotEqual(self.status_of("http://pay.tracker.test/"), 403)
        self.lists.pages["/ads.txt"] = EXCEPTIONS.replace("@@||pay.tracker.test^\n", "")  # the same bits
        self.update("ads")
        self.assertEqual(self.beside(), first)
        until(lambda: self.status_of("http://pay.tracker.test/") == 403)
        self.assertEqual(self.state()["exceptions"], 3)
        for i in range(3):  # others; what is left is of the last two
            self.lists.pages["/ads.txt"] = EXCEPTIONS + f"||next{i}.test^\n"
            self.update("ads")
        self.assertEqual(len(self.beside()), 2)
        self.judge(VERDICTS)
        self.lists.pages["/ads.txt"] = EXCEPTIONS.replace("@@", "!")
        self.update("ads")
        self.judge([("http://pay.tracker.test/", "blocked")])

    def test_build_does_the_same(self):
        (self.folder / "ads.txt").write_text(EXCEPTIONS)
        done = self.command("build", "-o", "ads.bwf", "ads.txt", program="bloomwall-filter")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 exceptions of the lists free what this filter alone stops", done.stdout + done.stderr)
        self.configure([("ads", {})])
        self.judge(VERDICTS)
        done = self.command("build", "-o", "ads.bwf", "--allow-out", "allow.txt", "ads.txt", program="bloomwall-filter")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.judge([("http://pay.tracker.test/", "blocked")])

    def test_guards_see_what_is_free(self):
        self.lists.pages["/ads.txt"] = EXCEPTIONS
        guards = {"must_pass": ["pay.tracker.test"], "must_block": ["tracker.test"]}
        self.configure([("ads", {"sources": [self.source("/ads.txt")], "guards": guards})])
        self.update()
        self.judge(VERDICTS)
        self.lists.pages["/ads.txt"] = EXCEPTIONS.replace("@@||pay.tracker.test^\n", "")
        self.assertIn("refused (must_pass)", self.update("ads", exit_status=1))
        self.lists.pages["/ads.txt"] = EXCEPTIONS + "@@||tracker.test^\n"
        self.assertIn("refused (must_block)", self.update("ads", exit_status=1))
        self.assertEqual(self.state()["exceptions"], 4)
        self.judge(VERDICTS)

    def test_zones_and_actions_of_privoxy(self):
        self.lists.pages["/zone"] = "$TTL 60\n@ SOA a. b. 1 2 3 4 5\n@ NS a.\n" + "".join(
            f"ad{i}.test CNAME .\n*.ad{i}.test CNAME .\n" for i in range(30)) + "ok.ad1.test CNAME rpz-passthru.\n"
        self.lists.pages["/action"] = "{+block}\n" + "".join(f".pop{i}.test\n" for i in range(30)) + "{-block}\n.ok.pop1.test\n"
        self.configure([("ads", {"sources": [self.source("/zone", format="rpz")]}),
                        ("pop", {"sources": [self.source("/action", format="privoxy")]})])
        self.update()
        self.judge([("http://ok.ad1.test/", "allowed"), ("http://x.ok.ad1.test/", "blocked"), ("http://ad1.test/", "blocked"),
                    ("http://ok.pop1.test/", "allowed"), ("http://pop1.test/", "blocked")])

    def test_white_categories_free_what_the_others_block(self):
        self.lists.pages["/ut1.tar.gz"] = archive(SCHOOL | {"good/domains": "www.game1.test\n"})
        self.ads(self.source("/ut1.tar.gz", white="allow"))
        self.update()
        self.judge([("http://www.game1.test/", "allowed"), ("http://game1.test/", "blocked")])


def zipped(files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return out.getvalue()


def holed(name, size):
    """A tar archive of a file that is nothing but a hole, in the form of GNU."""
    entry = tarfile.TarInfo(name)
    entry.type = tarfile.GNUTYPE_SPARSE
    block = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    block[386:398] = b"%011o\0" % size  # one piece of no octets, where the file ends
    block[398:410] = b"%011o\0" % 0
    block[483:495] = b"%011o\0" % size
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])
    return bytes(block[:512]) + bytes(1024)


class Created:
    """The names of files that are made in a folder, told by the kernel: none is missed."""

    def __init__(self, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.watch = self.libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        in_create = 0x100
        if self.watch < 0 or self.libc.inotify_add_watch(self.watch, str(folder).encode(), in_create) < 0:
            raise OSError(ctypes.get_errno(), "inotify")

    def names(self):
        found = []
        try:
            while octets := os.read(self.watch, 65536):
                while octets:
                    size = struct.unpack_from("iIII", octets)[3]
                    found.append(octets[16:16 + size].rstrip(b"\0").decode())
                    octets = octets[16 + size:]
        except BlockingIOError:
            pass
        return found


class Archives(Site):
    def setUp(self):
        super().setUp()
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        self.created = Created(self.temporary)
        self.addCleanup(os.close, self.created.watch)
        patch = unittest.mock.patch.dict(os.environ, TMPDIR=str(self.temporary))
        patch.start()
        self.addCleanup(patch.stop)

    def unpacked(self):
        return sum(name.startswith("bloomwall-lists-") for name in self.created.names())

    def both(self, path, **more):
        self.configure([(name, {"sources": [self.source(path, categories=[name])]} | more) for name in ("adult", "games")])

    def test_archive_that_several_filters_take_from_is_unpacked_once(self):
        for path, pack in (("/a.tar.gz", lambda files: archive(files, "lists")), ("/a.zip", zipped)):
            with self.subTest(path):
                self.lists.pages[path] = pack(SCHOOL)
                self.both(path)
                self.update()
                self.assertEqual(self.unpacked(), 1)
                self.assertTrue(self.stops("adult1.test", "adult") and self.stops("game1.test", "games"))
                self.assertFalse(self.stops("game1.test", "adult"))
                self.lists.pages[path] = pack(SCHOOL | {"games/domains": hosts(50, "game") + "new.test\n"})
                self.update("adult", "games")
                self.assertEqual(self.unpacked(), 1)
                self.assertTrue(self.stops("new.test", "games"))
                self.ads(self.source(path, categories=["adult"]))
                self.update()
                self.assertEqual(self.unpacked(), 1, "the build reads what was checked")

    def test_no_more_than_most_bytes_are_unpacked(self):
        large = {"adult/domains": "".join(f"a{i}.test\n" for i in range(200_000)), "games/domains": hosts(50, "game")}
        deep = {"adult/domains.gz": gzip.compress(large["adult/domains"].encode()).decode("latin-1")}
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as packed:
            packed.writestr("adult/domains.gz", deep["adult/domains.gz"].encode("latin-1"))
            packed.writestr("games/domains", large["games/domains"])
        for path, octets in (("/a.tar.gz", archive(large)), ("/a.zip", zipped(large)), ("/deep.zip", inner.getvalue())):
            with self.subTest(path):
                self.lists.pages[path] = octets
                self.both(path, guards={"most_bytes": "1MiB"})
                self.assertIn("refused (most_bytes): unpacks to more than guards.most_bytes", self.update(exit_status=1))
        # What one filter may take is too much for another.
        self.lists.pages["/a.zip"] = zipped(large)
        self.configure([("adult", {"sources": [self.source("/a.zip", categories=["adult"])]}),
                        ("games", {"sources": [self.source("/a.zip", categories=["games"])], "guards": {"most_bytes": "1MiB"}})])
        said = self.update(exit_status=1)
        self.assertIn("adult: built, 200,000 entries", said)
        self.assertIn("games: ", said)
        self.assertIn("refused (most_bytes)", said)

    def test_bombs_fill_no_folder_for_temporary_files(self):
        self.lists.pages["/hole.tar"] = holed("adult/domains", 1 << 32)
        self.lists.pages["/bomb.zip"] = zipped({"adult/domains": "a.test\n" * (1 << 23)})
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        for path, word in (("/hole.tar", "has holes"), ("/bomb.zip", "refused (most_bytes)")):
            self.ads(self.source(path), guards={"most_bytes": "8MiB"})
            # More in one file ends the program.
            resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, limit[1]))
            try:
                said = self.update(exit_status=1)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            self.assertIn(word, said)


class Losses(Site):
    def test_why_says_what_is_not_taken(self):
        self.lists.pages["/ads.txt"] = hosts(100) + "||page.test^$script\n||page2.test^$script\n##.banner\n"
        self.ads(self.source("/ads.txt", format="adblock"))
        self.update()
        for host, expected in (("page.test", "http://page.test/: no filter lists it"), ("ad1.test", "ads: S ad1.test")):
            said = self.command("why", "--config", "bloomwall.yaml", f"http://{host}/").stdout
            self.assertIn(expected, said)
            self.assertIn(f"ads, of {self.lists.url('/ads.txt')}: 3 of ", said)
            self.assertIn("||page.test^$script", said)
            self.assertIn("cosmetic", said)
        said = json.loads(self.command("why", "--json", "--config", "bloomwall.yaml", "http://page.test/").stdout)
        self.assertEqual([loss["filter"] for loss in said["not_taken"]], ["ads"])
        (self.folder / "own.txt").write_text("||ad1.test^\n||ad2.test^$popup\n" + hosts(50))
        said = self.command("why", "--config", "bloomwall.yaml", "http://ad1.test/", "own.txt").stdout
        self.assertIn("ads, of own.txt: 1 of ", said)

    def test_exceptions_beside_a_signed_filter_are_said_not_to_count(self):
        self.lists.pages["/ads.txt"] = EXCEPTIONS
        self.ads()
        self.assertRegex(self.update(), r"built, .* \d exceptions")
        self.assertNotIn("does not count", self.command("check", "--config", "bloomwall.yaml").stderr)
        for words in (("keygen", "my.key"), ("sign", "ads.bwf", "--key", "my.key")):
            self.assertEqual(self.command(*words, program="bloomwall-filter").returncode, 0)
        self.configure([("ads", {"public_key": "my.key.pub"})])
        checked = self.command("check", "--config", "bloomwall.yaml")
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertIn(".allow) does not count, since public_key is set", checked.stderr)
        self.ads(self.source("/ads.txt"), public_key="my.key.pub")
        self.assertIn("sources: goes without public_key", self.update(exit_status=78))

    def test_list_without_a_length_that_ends_within_a_line_is_not_taken(self):
        def page(body, transfer_encoding="", content_encoding=""):
            def answer(handler):
                handler.send_response(200)
                for name, value in {"Transfer-Encoding": transfer_encoding, "Content-Encoding": content_encoding}.items():
                    if value:
                        handler.send_header(name, value)
                handler.send_header("Connection", "close")
                handler.end_headers()
                text = gzip.compress(body.encode()) if content_encoding == "gzip" else body.encode()
                handler.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(text), text) if transfer_encoding else text)
                handler.close_connection = True
                with contextlib.suppress(OSError):
                    handler.connection.unwrap()  # TLS, too, says that it ends: curl 8 takes nothing else for the end of a body without a length
            return answer
        whole = hosts(50) + "www.bank.test.login.evil.test\n"
        cut = whole[:whole.index(".login")]
        self.lists.pages["/ads.txt"] = page(whole)
        self.ads()
        self.update()
        for coding in ("", "identity"):
            self.lists.pages["/ads.txt"] = page(cut, content_encoding=coding)
            self.assertIn("refused (whole): its last line, 51, has no end", self.update("ads", exit_status=1))
            self.assertFalse(self.stops("www.bank.test"))
            self.assertTrue(self.stops("www.bank.test.login.evil.test"))
        self.update("ads", "--force", "--why", "seen")
        self.assertTrue(self.stops("www.bank.test"))
        self.update("ads")  # as it was taken
        for host, codings in (("a.test", {"transfer_encoding": "chunked"}), ("b.test", {"content_encoding": "gzip"})):
            self.lists.pages["/ads.txt"] = page(cut + "\n" + host, **codings)
            self.update("ads")
            self.assertTrue(self.stops(host))
        self.lists.pages["/ads.txt"] = page(cut)
        self.ads(self.source("/ads.txt", sha256=hashlib.sha256(cut.encode()).hexdigest()))
        self.update("ads")
        self.assertFalse(self.stops("b.test"))

    def test_list_that_was_cut_is_refused_by_what_it_says_of_itself(self):
        whole = "# Number of entries: 1000\n" + hosts(1000)
        self.lists.pages["/ads.txt"] = whole
        self.ads()
        self.update()
        self.lists.pages["/ads.txt"] = whole[:len(whole) * 6 // 10]
        said = self.update("ads", exit_status=1)
        self.assertIn("refused (stated)", said)
        self.assertEqual(self.first()["guard"], "stated")
        self.assertTrue(self.stops("ad999.test"))
        self.ads(guards={"stated": "50%"})
        self.update("ads")
        self.assertFalse(self.stops("ad999.test"))

    def test_what_is_not_taken_is_said_by_reason(self):
        self.lists.pages["/ads.txt"] = "! list\n" + "".join(f"||ad{i}.test^\n" for i in range(96)) + \
            "||a.test^$script\n||b.test^$script\n||c.test/x*y\nd.test##.ad\n"
        self.ads()
        said = self.update()
        built = self.command("build", "-o", "x.bwf", "--format", "adblock", self.make("list.txt", self.lists.pages["/ads.txt"]),
                             program="bloomwall-filter")
        loss = "4 of 100 rules are not taken (4.0 %): 2 modifier $script (line 98: ||a.test^$script)"
        self.assertIn(loss, said)
        self.assertIn(loss, built.stdout + built.stderr)
        self.assertIn(loss, self.first()["loss"])
        self.run_proxy()
        status, lists = self.ask("GET", "/api/v1/lists")
        self.assertEqual(status, 200)
        self.assertIn(loss, lists["items"][0]["sources"][0]["loss"])

    def make(self, name, text):
        (self.folder / name).write_text(text)
        return name


if __name__ == "__main__":
    main()
