#!/usr/bin/env python3
"""`bloomwall update` through the real programs, against a server whose lists change, break, shrink and are poisoned.

Usage: update_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import fcntl
import gzip
import io
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import tarfile
import threading
import time
import unittest

from interception_site import BUILD, SANITIZED, main, until
from seed import test_seed
from update_site import ParentProxy, Site, hosts

HTML = "<!DOCTYPE html>\n<html><head><title>Just a moment...</title></head>\n<body>\n" + "<p>wait</p>\n" * 50 + "</body></html>\n"


def endless(status, fields, piece, first=b""):
    """A page that never ends, unless its reader does."""
    def page(handler):
        handler.send_response(status)
        for name, value in ({"Connection": "close"} | fields).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.close_connection = True
        try:
            handler.wfile.write(first)
            while True:
                handler.wfile.write(piece)
        except OSError:
            pass
    return page


def many_fields(handler):
    """An answer whose head never ends."""
    handler.close_connection = True
    try:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for i in range(1 << 30):
            handler.wfile.write(f"X-Field-{i}: {'x' * 1000}\r\n".encode())
    except OSError:
        pass


class Fetching(Site):
    def test_first_update_builds_and_the_next_one_changes_nothing(self):
        self.lists.pages["/ads.txt"] = "! Title: Ads\n" + hosts(200)
        self.ads()
        said = self.update()
        self.assertIn("ads: built, 200 entries", said)
        self.assertIn("no running proxy was told", said)
        self.assertTrue(self.stops("ad7.test"))
        before = (self.folder / "ads.bwf").read_bytes()
        self.assertEqual(self.update(), "")  # nothing is due
        self.assertEqual(self.lists.requests("/ads.txt"), 1)
        self.assertIn("unchanged", self.update("ads"))
        self.assertEqual(self.lists.requests("/ads.txt"), 2)
        self.assertIn("If-None-Match", self.lists.asked[-1][1])
        self.assertEqual((self.folder / "ads.bwf").read_bytes(), before)
        self.assertEqual(self.state()["result"], "unchanged")
        self.assertEqual((self.first()["updated"], self.first()["unchanged"]), (1, 1))

    def test_running_proxy_takes_a_new_list_over(self):
        self.lists.pages["/ads.txt"] = hosts(20)
        self.ads(guards={"shrink": "90%"})
        self.update("--missing")
        self.run_proxy()
        self.assertEqual(self.status_of("http://ad3.test/"), 403)
        self.assertNotEqual(self.status_of("http://new.test/"), 403)
        self.lists.pages["/ads.txt"] = hosts(10, "other") + "new.test\n"
        self.assertIn("generation 2 is served", self.update("ads"))
        self.assertEqual(self.status_of("http://new.test/"), 403)
        self.assertNotEqual(self.status_of("http://ad3.test/"), 403)
        self.assertEqual(self.state()["sequence"], 2)

    def test_list_of_the_same_bytes_without_validators_is_unchanged(self):
        def page(handler):
            body = hosts(5).encode()
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(body)))
            handler.end_headers()
            handler.wfile.write(body)
        self.lists.pages["/ads.txt"] = page
        self.ads()
        self.update()
        self.assertIn("unchanged", self.update("ads"))
        self.assertEqual(self.state()["sequence"], 1)

    def test_retry_after_is_obeyed(self):
        self.lists.pages["/ads.txt"] = hosts(20)
        self.ads()
        self.update()
        self.lists.pages["/ads.txt"] = (429, {"Retry-After": "7200"}, "slower")
        self.assertIn("the server answers 429", self.update("ads", exit_status=1))
        self.assertEqual(self.first()["due"] - self.first()["checked"], 7200)
        self.pass_time(7200 - 600)
        self.assertEqual(self.update("ads"), "")  # not asked
        asked = self.lists.requests("/ads.txt")
        self.assertEqual(asked, 2)
        self.assertTrue(self.stops("ad3.test"))
        self.lists.pages["/ads.txt"] = hosts(21)
        self.pass_time(600)
        self.assertIn("built, 21 entries", self.update("ads"))
        self.lists.pages["/ads.txt"] = (503, {"Retry-After": "999999999"}, "")
        self.update("ads", exit_status=1)
        self.assertLessEqual(self.first()["due"], time.time() + 7 * 86400 + 60)

    def test_failures_are_tried_again_later_and_later(self):
        self.lists.pages["/ads.txt"] = (500, {}, "")
        self.ads()
        delays = []
        for _ in range(6):
            self.update("ads", exit_status=1)
            delays.append(round((self.first()["due"] - self.first()["checked"]) / 60))
        self.assertEqual(delays, [30, 60, 120, 240, 360, 360])
        self.assertIn("no list of it could be fetched yet", self.state()["message"])
        self.assertEqual(self.update(exit_status=1).count("not built"), 1)  # not due, and still not there

    def test_expires_of_the_list_makes_it_wait_longer_and_never_shorter(self):
        for text, days in (("! Expires: 4 days (update frequency)", 4), ("! Expires: 1 hour", 1), ("! Expires: 900 days", 7),
                           ("! Expires: soon", 1)):
            self.lists.pages["/ads.txt"] = f"[Adblock Plus]\n{text}\n||{days}.test^\n||b.test^\n"
            self.ads()
            self.update("ads")
            self.assertEqual((self.first()["due"] - self.first()["checked"]) / 86400, days, text)

    def test_expires_holds_as_long_as_the_list_is_unchanged(self):
        self.lists.pages["/ads.txt"] = "[Adblock Plus]\n! Expires: 4 days\n||a.test^\n"
        self.ads()
        self.update()
        for _ in range(2):
            self.assertIn("unchanged", self.update("ads"))
            self.assertEqual((self.first()["due"] - self.first()["checked"]) / 86400, 4)
        self.lists.pages["/ads.txt"] = "[Adblock Plus]\n||a.test^\n"
        self.update("ads")
        self.assertIn("unchanged", self.update("ads"))
        self.assertEqual((self.first()["due"] - self.first()["checked"]) / 86400, 1)

    def test_interval_that_was_changed_counts_at_once(self):
        self.lists.pages["/ads.txt"] = hosts(3)
        self.ads(self.source("/ads.txt", every="30d"))
        self.update()
        self.pass_time(3600)
        self.assertEqual(self.update(), "")
        self.ads(self.source("/ads.txt", every="1h"))
        self.assertIn("unchanged", self.update())

    def test_redirects_lead_to_https_alone(self):
        self.lists.pages["/ads.txt"] = (302, {"Location": "/moved.txt"}, "moved")
        self.lists.pages["/moved.txt"] = hosts(3)
        self.ads()
        self.update()
        self.lists.pages["/ads.txt"] = (302, {"Location": "http://127.0.0.1:1/ads.txt"}, "moved")
        self.assertRegex(self.update("ads", exit_status=1), "[Pp]rotocol")
        self.lists.pages["/ads.txt"] = (302, {"Location": "/ads.txt"}, "")
        self.assertRegex(self.update("ads", exit_status=1), "redirects")
        self.lists.pages["/ads.txt"] = (302, {"Location": "file:///etc/passwd"}, "")
        self.assertRegex(self.update("ads", exit_status=1), "[Pp]rotocol")

    def test_certificate_that_nobody_vouches_for_is_refused(self):
        self.lists.pages["/ads.txt"] = hosts(3)
        self.configure([("ads", {"sources": [self.source("/ads.txt")]})], {"ca_file": None})
        self.assertRegex(self.update(exit_status=1), "certificate")

    def test_fixed_list_is_known_by_its_digest(self):
        body = hosts(4).encode()
        self.lists.pages["/ads.txt"] = body
        self.ads(self.source("/ads.txt", sha256="0" * 64))
        said = self.update(exit_status=1)
        self.assertIn("refused (sha256)", said)
        digest = re.search(r"SHA-256 is ([0-9a-f]{64})", said)[1]
        self.ads(self.source("/ads.txt", sha256=digest))
        self.update("ads")
        self.assertTrue(self.stops("ad3.test"))

    def test_list_that_is_fixed_later_is_fetched_again(self):
        self.lists.pages["/ads.txt"] = hosts(4)
        (self.folder / "own.txt").write_text(hosts(4, "own"))
        self.ads(self.source("/ads.txt"), {"url": "own.txt"})
        self.update()
        self.ads(self.source("/ads.txt", sha256="0" * 64), {"url": "own.txt", "sha256": "0" * 64})
        said = self.update("ads", exit_status=1)
        self.assertEqual(said.count("refused (sha256)"), 2, said)
        self.assertTrue(self.stops("ad3.test") and self.stops("own3.test"))

    def test_files_and_archives_are_lists_too(self):
        (self.folder / "own.txt").write_text(hosts(4, "own"))
        tar = io.BytesIO()
        with tarfile.open(fileobj=tar, mode="w:gz") as archive:
            for name, text in (("adult/domains", hosts(7, "adult")), ("adult/urls", "paths.test/x\n")):
                entry = tarfile.TarInfo(name)
                entry.size = len(text)
                archive.addfile(entry, io.BytesIO(text.encode()))
        self.lists.pages["/adult.tar.gz"] = tar.getvalue()
        self.ads({"url": "own.txt"}, self.source("/adult.tar.gz"))
        self.update()
        self.assertTrue(self.stops("own1.test") and self.stops("adult6.test"))
        self.assertEqual(self.update(), "ads: " + str(self.folder / "own.txt") + ": unchanged\n")
        (self.folder / "own.txt").write_text(hosts(5, "own"))
        self.update()
        self.assertTrue(self.stops("own4.test") and self.stops("adult6.test"))

    def test_every_list_has_its_own_format(self):
        self.lists.pages |= {"/hosts": "0.0.0.0 exact.test\n", "/rules": "||rule.test^\nexample##.ad\n" * 1 + "||b.test^\n" * 40}
        self.ads(self.source("/hosts", format="hosts"), self.source("/rules", format="adblock"))
        self.update()
        self.assertTrue(self.stops("exact.test") and self.stops("rule.test") and self.stops("www.rule.test"))
        self.assertFalse(self.stops("www.exact.test"))


class Guards(Site):
    def setUp(self):
        super().setUp()
        self.lists.pages["/ads.txt"] = hosts(1000)

    def refused(self, page, guard, **keys):
        """The good list is served, then `page` comes: refused, and what was good is as it was."""
        self.lists.pages["/ads.txt"] = hosts(1000)
        for file in self.folder.glob("ads*.bwf"):
            file.unlink()
        self.ads(**keys)
        self.update("ads")
        before = (self.folder / "ads.bwf").read_bytes()
        self.lists.pages["/ads.txt"] = page
        said = self.update("ads", exit_status=1)
        self.assertIn(f"refused ({guard})", said)
        self.assertEqual((self.folder / "ads.bwf").read_bytes(), before)
        self.assertEqual(self.first()["guard"], guard)
        self.assertEqual(self.first()["entries"], 1000)
        self.assertEqual(len(list((self.folder / "lists/ads.lists").iterdir())), 1)
        self.lists.pages["/ads.txt"] = hosts(1001)
        self.assertIn("built", self.update("ads"))
        return said

    def test_html_page(self):
        self.assertIn("HTML", self.refused(HTML, "no_list"))
        self.refused(gzip.compress(HTML.encode()), "no_list")

    def test_nothing_and_comments_alone(self):
        self.refused("", "least")
        self.refused("# nothing\n", "least")

    def test_half_a_list(self):
        self.assertIn("51.0 % fewer", self.refused(hosts(490), "shrink"))

    def test_ten_times_a_list(self):
        self.assertIn("900.0 % more", self.refused(hosts(10000), "grow"))

    def test_lines_that_are_none(self):
        self.refused(hosts(900) + "this is no host at all\n" * 90, "unusable")

    def test_truncated_and_damaged_compression(self):
        self.refused(gzip.compress(hosts(1000).encode())[:-9], "no_list")
        self.refused(b"\x28\xb5\x2f\xfd" + os.urandom(100), "no_list")

    def test_answers_that_are_compressed(self):
        """Whole ones are lists like any other; what was cut, damaged, or packed in another way than asked for fails."""
        whole = gzip.compress(hosts(1000).encode())
        cases = (("gzip", whole, None), ("X-GZip", whole, None), ("identity", hosts(1000), None), ("gzip", whole[:-9], "ends in the middle"),
                 ("gzip", whole[: len(whole) // 2], "ends in the middle"), ("gzip", hosts(1000), "is damaged"),
                 ("gzip", whole[:-8] + bytes(8), "is damaged"), ("br", hosts(1000), "not asked for"), ("gzip, gzip", whole, "not asked for"),
                 ("gzip", gzip.compress(whole), None))
        for i, (coding, body, wrong) in enumerate(cases):
            self.lists.pages[f"/{i}.txt"] = (200, {"Content-Encoding": coding}, body)
            self.configure([(f"f{i}", {"sources": [self.source(f"/{i}.txt")]})])
            said = self.update(exit_status=1 if wrong else 0)
            self.assertIn(wrong or "built, 1,000 entries", said, cases[i])
        self.assertEqual(self.lists.asked[-1][1]["Accept-Encoding"], "gzip")

    def test_too_large_as_it_comes_and_as_it_unpacks(self):
        guards = {"most_bytes": "64KiB", "grow": "100000%"}
        self.refused(hosts(9000), "most_bytes", guards=guards)
        self.refused(gzip.compress(b"a.test\n" * 5_000_000), "most_bytes", guards=guards)
        self.refused((200, {"Content-Encoding": "gzip"}, gzip.compress(b"a.test\n" * 5_000_000)), "most_bytes", guards=guards)

    def test_list_without_a_length_that_never_ends(self):
        def page(handler):
            handler.send_response(200)
            handler.send_header("Connection", "close")
            handler.end_headers()
            try:
                for i in range(1 << 30):
                    handler.wfile.write(f"n{i}.test\n".encode() * 500)
            except OSError:
                pass
            handler.close_connection = True
        self.refused(page, "most_bytes", guards={"most_bytes": "1MiB"})

    def test_compression_that_goes_on_for_ever_and_unpacks_to_nothing(self):
        empty_blocks = b"\x00\x00\x00\xff\xff" * 20_000  # of deflate: stored, not the last one, without an octet
        self.refused(endless(200, {"Content-Encoding": "gzip"}, empty_blocks, gzip.compress(b"")[:10]), "most_bytes", guards={"most_bytes": "64KiB"})

    def test_pages_without_end_are_not_read_to_the_end(self):
        self.ads()
        self.update()
        before = (self.folder / "ads.bwf").read_bytes()
        for status, fields, said in ((404, {}, "the server answers 404, with a page without end"), (500, {"Retry-After": "60"}, "the server answers 500"),
                                     (302, {"Location": "/moved.txt"}, "failed"), (404, {"Content-Length": str(1 << 40)}, "the server answers 404")):
            self.lists.pages["/ads.txt"] = endless(status, fields, b"<p>no</p>" * 10_000)
            self.assertIn(said, self.update("ads", "--force", "--why", "tried", exit_status=1))
            self.assertEqual((self.first()["result"], self.first()["entries"]), ("failed", 1000), status)
        self.lists.pages["/ads.txt"] = many_fields
        self.update("ads", "--force", "--why", "tried", exit_status=1)
        self.assertEqual((self.folder / "ads.bwf").read_bytes(), before)

    def test_old_filter_is_served_and_the_guard_is_counted(self):  # LST-002
        self.ads(guards={"most_bytes": "64KiB"})
        self.update()
        self.run_proxy()
        for number, page in enumerate((HTML, "", hosts(490), hosts(9000), hosts(1000) + "no host at all\n" * 66, hosts(1000) + "google.com\n"), 1):
            self.lists.pages["/ads.txt"] = page
            self.update("ads", exit_status=1)
            self.assertEqual(self.status_of("http://ad999.test/"), 403)
            self.assertNotEqual(self.status_of("http://google.com/"), 403)
            self.assertIn(f'bloomwall_source_fetch_total{{list="ads",source="0",result="refused"}} {number}', self.metrics())
        [source] = self.ask("GET", "/api/v1/lists/ads")[1]["sources"]
        self.assertEqual((source["result"], source["guard"]), ("refused", "must_pass"))

    def test_poison_in_every_spelling_and_format(self):
        page = {"must_pass": ["www.bank.co.uk", "http://192.0.2.7/"], "unusable": "100%"}
        forms = {"domains": "ad{}.test", "hosts": "0.0.0.0 ad{}.test", "wildcard": "*.ad{}.test", "adblock": "||ad{}.test^", "dnsmasq": "address=/ad{}.test/#",
                 "unbound": 'local-zone: "ad{}.test." always_nxdomain', "rpz": "ad{}.test CNAME .", "urls": "http://ad{}.test/x", "privoxy": ".ad{}.test"}
        for form, line, first in (("domains", "WWW.Bank.CO.UK", ""), ("domains", "bank.co.uk.", ""), ("domains", "co.uk", ""), ("hosts", "127.0.0.1 ad.test www.bank.co.uk # x", ""),
                                  ("hosts", ":: www.bank.co.uk", ""), ("wildcard", "*.bank.co.uk", ""), ("wildcard", "*.co.uk", ""), ("adblock", "||bank.co.uk^$important", ""),
                                  ("adblock", "http://www.bank.co.uk/", ""), ("dnsmasq", "server=/bank.co.uk/", ""), ("unbound", 'local-zone: "co.uk" refuse', ""),
                                  ("rpz", "*.bank.co.uk CNAME .", ""), ("urls", "http://www.b%61nk.co.uk:80/", ""), ("urls", "https://x@WWW.BANK.co.uk./", ""), ("urls", "http://3221225991/", ""),
                                  ("privoxy", ".bank.co.uk", "{+block}\n"), ("auto", "192.0.2.0/24", "")):
            with self.subTest(form=form, line=line):
                good = first + "".join(forms.get(form, "198.51.100.{}").format(i) + "\n" for i in range(200))
                keys = {"sources": [self.source(f"/{form}", format=form)], "guards": page}
                self.lists.pages[f"/{form}"] = good
                self.configure([("ads", keys)])
                self.update("ads", "--force", "--why", "tried")
                before = (self.folder / "ads.bwf").read_bytes()
                self.lists.pages[f"/{form}"] = good + line + "\n"
                self.assertIn("refused (must_pass)", self.update("ads", exit_status=1))
                self.assertEqual((self.folder / "ads.bwf").read_bytes(), before)

    def test_poisoned_lists(self):
        said = self.refused(hosts(1000) + "google.com\n", "must_pass")
        self.assertIn("line 1001 stops google.com", said)
        self.refused("".join(f"||ad{i}.test^\n" for i in range(1000)) + "||google.com^\n", "must_pass")
        self.refused("".join(f"0.0.0.0 ad{i}.test\n" for i in range(1000)) + "0.0.0.0 www.google.com\n", "must_pass")
        page = {"must_pass": ["https://www.bank.test/login"]}
        self.refused(hosts(1000) + "bank.test\n", "must_pass", guards=page)
        urls = "".join(f"http://ad{i}.test/x\n" for i in range(1000))
        self.refused(urls + "http://bank.test/login\n", "must_pass", guards=page)

    def test_host_that_must_be_stopped(self):
        said = self.refused(hosts(999, "other"), "must_block", guards={"must_block": ["ad1.test"]})
        self.assertIn("does not stop ad1.test", said)

    def test_white_list_may_hold_what_must_pass(self):
        self.lists.pages["/ads.txt"] = "google.com\ngithub.com\n"
        self.ads(action="allow")
        self.update()

    def test_connection_that_ends_too_soon(self):
        def page(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            handler.wfile.write(hosts(1000).encode())
            handler.close_connection = True
        self.ads()
        self.update("ads")
        self.lists.pages["/ads.txt"] = page
        self.assertIn("failed", self.update("ads", exit_status=1))
        self.assertEqual(self.state()["sequence"], 1)

    def test_error_of_all_filters_together(self):
        self.configure([("ads", {"sources": [self.source("/ads.txt")], "build": {"fpr": 0.1}})], {"most_error": 1e-9})
        self.assertIn("refused (most_error)", self.update("ads", exit_status=1))
        self.assertFalse((self.folder / "ads.bwf").exists())

    def test_an_exact_side_takes_the_error_away(self):
        keys = {"sources": [self.source("/ads.txt")], "build": {"fpr": 0.1, "exact_side": True}}
        self.configure([("ads", keys)], {"most_error": 1e-9})
        self.assertIn("refused", self.update("ads", exit_status=1), "made, but not used")
        # Of the bits alone some of these are false positives.
        must_pass = {"guards": {"must_pass": [f"fine{i}.example" for i in range(100)]}}
        self.configure([("ads", keys | must_pass | {"exact": "ads.bwx"})], {"most_error": 1e-9})
        self.update("ads")
        self.configure([("ads", keys | {"exact": "ads.bwx"}), ("more", {"sources": [self.source("/ads.txt")]})], {"most_error": 1e-5})
        self.update("more")

    def test_force_overrules_a_guard_and_is_written_down(self):
        self.ads()
        self.update()
        self.lists.pages["/ads.txt"] = hosts(10)
        self.update("ads", exit_status=1)
        self.assertRegex(self.update("ads", "--force", "--why", "tried"), "(?s)in spite of guards.shrink.*the audit does not have this use of --force: ")
        self.assertFalse(self.stops("ad500.test"))
        self.assertIn(f"uid {os.getuid()}", self.state()["forced_by"])
        self.lists.pages["/ads.txt"] = HTML
        self.update("ads", "--force", "--why", "tried", exit_status=1)
        self.assertTrue(self.stops("ad3.test"))


    def test_force_is_audited_by_the_running_proxy(self):
        self.ads()
        self.update()
        self.run_proxy()
        self.lists.pages["/ads.txt"] = hosts(10)
        self.update("ads", exit_status=1)
        self.assertNotIn("audit", self.update("ads", "--force", "--why", "it was cleaned up"))
        self.assertEqual(self.status_of("http://ad3.test/"), 403)
        self.assertEqual(self.ask("POST", "/api/v1/update", {"force": True, "why": "again"})[0], 202)
        self.assertEqual(self.ask("POST", "/api/v1/update", {"filters": ["ads"]})[0], 202)
        for body, status in (({"filters": ["nobody"]}, 404), ({"why": "x" * 501}, 400), ({"why": 1}, 400), ({"why": " "}, 400), ({}, 400)):
            self.assertEqual(self.ask("POST", "/api/v1/update/forced", body)[0], status, body)
        for body in ({"force": True}, {"force": True, "why": " \t"}):
            self.assertEqual(self.ask("POST", "/api/v1/update", body)[0], 400, body)
        for words in (["--force"], ["--force", "--why", " "]):
            self.assertEqual(self.command("update", "ads", *words, "--config", "bloomwall.yaml").returncode, 2, words)
        rows = [row for row in self.ask("GET", "/api/v1/audit")[1]["items"] if row["what"] == "update.forced"]
        who = "root" if os.getuid() == 0 else f"uid {os.getuid()}"
        self.assertEqual([(row["who"], row["via"], row["subject"], row["why"]) for row in rows],
                         [(who, "socket", "", "again"), (who, "socket", "ads", "it was cleaned up")])
        self.assertIn("the audit does not have this", self.command("update", "--config", "bloomwall.yaml", "nobody", "--force", "--why", "tried").stderr)


class Beside(Site):
    """A build is another process: the proxy beside it does not grow by what it takes, and goes on serving."""

    @unittest.skipIf(SANITIZED, "a sanitizer's memory is its own")
    def test_proxy_does_not_grow_by_a_build(self):
        entries, most = 400_000, 8 << 10  # KiB
        self.lists.pages["/ads.txt"] = hosts(1000)
        self.ads()
        self.update()
        self.run_proxy()
        self.assertEqual(self.status_of("http://ad3.test/"), 403)

        def own():
            return int(re.search(r"^RssAnon:\s+(\d+) kB", pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text(), re.M)[1])

        before, during = own(), []
        self.lists.pages["/ads.txt"] = hosts(entries)
        build = subprocess.Popen([BUILD / "bloomwall", "update", "ads", "--force", "--why", "tried", "--config", "bloomwall.yaml"], cwd=self.folder)
        while build.poll() is None:
            during.append(own())
            self.assertEqual(self.status_of("http://ad3.test/"), 403)
        self.assertEqual(build.returncode, 0)
        self.assertGreater(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, before + most, "else this would show nothing")
        self.assertEqual(self.status_of(f"http://ad{entries - 1}.test/"), 403, "the new one serves")
        self.assertLess(max([*during, own()]), before + most)


class Several(Site):
    def test_one_of_two_lists_fails(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": hosts(50, "b")}
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.update()
        self.lists.pages |= {"/a.txt": (500, {}, ""), "/b.txt": hosts(60, "b")}
        said = self.update("ads", exit_status=1)
        self.assertIn("/a.txt: failed: the server answers 500; the copy of", said)
        self.assertIn("ads: built, 110 entries (+10)", said)
        self.assertTrue(self.stops("a49.test") and self.stops("b59.test"))

    def test_one_of_two_lists_is_poisoned_and_the_other_is_taken(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": hosts(50, "b")}
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.update()
        self.lists.pages |= {"/a.txt": hosts(50, "a") + "google.com\n", "/b.txt": hosts(60, "b")}
        self.update("ads", exit_status=1)
        self.assertTrue(self.stops("b59.test"))
        self.assertFalse(self.stops("google.com"))

    def test_filter_of_another_hand_is_kept_until_every_list_is_there(self):
        (self.folder / "old.txt").write_text(hosts(10, "old"))
        self.command("build", "-o", "ads.bwf", "old.txt", program="bloomwall-filter")
        self.lists.pages["/a.txt"] = hosts(50, "a")
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.assertIn("is kept until", self.update(exit_status=1))
        self.assertTrue(self.stops("old1.test"))
        self.lists.pages["/b.txt"] = hosts(5, "b")
        self.update("ads")
        self.assertTrue(self.stops("a1.test") and self.stops("b1.test") and not self.stops("old1.test"))

    def test_lists_that_come_one_after_the_other_are_built_once_all_are_there(self):
        (self.folder / "old.txt").write_text(hosts(10, "old"))
        self.command("build", "-o", "ads.bwf", "old.txt", program="bloomwall-filter")
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": (503, {"Retry-After": "1"}, "")}
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.update(exit_status=1)
        self.lists.pages["/b.txt"] = hosts(5, "b")
        until(lambda: "ads: built, " in self.command("update", "--config", "bloomwall.yaml").stdout)
        self.assertEqual(self.lists.requests("/a.txt"), 1)  # it was not due, and its copy was kept
        self.assertTrue(self.stops("a1.test") and self.stops("b1.test"))

    def test_copy_that_was_removed_is_fetched_anew(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads()
        self.update()
        for copy in (self.folder / "lists/ads.lists").iterdir():
            copy.unlink()
        self.update("ads")
        self.assertEqual(self.state()["result"], "unchanged")
        self.assertTrue((self.folder / "lists/ads.lists" / self.first()["copy"]).is_file())
        self.assertIn("unchanged", self.update("ads"))

    def test_copy_that_was_removed_leaves_nothing_out_of_the_filter(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": hosts(50, "b")}
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.update()
        copies = self.folder / "lists/ads.lists"
        (copies / self.first()["copy"]).unlink()
        self.lists.pages["/a.txt"] = (500, {}, "")
        self.assertIn("its last good copy is gone", self.update(exit_status=1))  # asked for at once: nothing of it is due
        self.lists.pages["/b.txt"] = hosts(60, "b")
        self.assertIn("is kept until", self.update("ads", exit_status=1))
        self.assertTrue(self.stops("a49.test"))
        self.lists.pages["/a.txt"] = hosts(51, "a")
        self.update("ads")
        self.assertTrue(self.stops("a50.test") and self.stops("b59.test"))
        for copy in copies.iterdir():
            copy.rename(copy.with_suffix(".old"))
        self.assertEqual(self.update().count("fetched"), 2)
        self.assertTrue(self.stops("a50.test") and self.stops("b59.test"))

    def test_copy_that_was_damaged_is_fetched_anew(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": hosts(50, "b"), "/c.txt.gz": gzip.compress(hosts(50, "c").encode())}
        self.ads(self.source("/a.txt"), self.source("/b.txt"), self.source("/c.txt.gz"))
        self.update()
        for source, damage in ((0, lambda text: text[:-5]), (2, lambda text: text[:20] + b"????" + text[24:]), (0, lambda text: b""),
                               (0, lambda text: b"other.test\n")):
            state = self.state()["sources"]
            copy = self.folder / "lists/ads.lists" / state[source]["copy"]
            copy.write_bytes(damage(copy.read_bytes()))
            self.lists.pages["/b.txt"] = hosts(state[1]["entries"] + 1, "b")
            said = self.update("ads")
            self.assertIn(f"{state[source]['url']}: its last good copy is damaged", said)
            self.assertIn("built", said)
            self.assertTrue(self.stops("a49.test") and self.stops("c49.test") and self.stops(f"b{state[1]['entries']}.test"))
            self.assertFalse(self.stops("other.test"))
        (self.folder / "lists/ads.lists" / self.first()["copy"]).write_bytes(b"")
        self.lists.pages |= {"/a.txt": (500, {}, ""), "/b.txt": hosts(90, "b")}
        self.assertIn("is kept until", self.update("ads", exit_status=1))
        self.assertTrue(self.stops("a49.test"))

    def test_list_that_is_written_to_while_it_is_copied_is_not_taken(self):
        text = hosts(300_000)
        (self.folder / "own.txt").write_text(text)
        self.ads({"url": "own.txt"})
        self.update()
        over = threading.Event()

        def write():
            while not over.is_set():
                os.utime(self.folder / "own.txt")
        writer = threading.Thread(target=write)
        writer.start()
        try:
            # Once more where the writer had no turn while it was read.
            until(lambda: "it was changed while it was read" in self.command("update", "--config", "bloomwall.yaml").stdout)
        finally:
            over.set()
            writer.join()
        self.assertIn("unchanged", self.update())

    def test_what_must_not_be_stopped_by_mistake_is_looked_at_with_every_run(self):
        self.lists.pages["/ads.txt"] = hosts(50)
        (self.folder / "good.txt").write_text("http://a.test/\n")
        (self.folder / "state").mkdir()
        self.ads(build={"known_good": ["good.txt"], "exact_side": True})
        self.update()
        self.assertEqual(self.update(), "")
        for changed, text in (("good.txt", "http://b.test/\n"), ("state/known-good.txt", "http://c.test/\n"), ("state/known-good.txt", "http://d.test/\n")):
            (self.folder / changed).write_text(text)
            self.assertIn("ads: built", self.update(), changed)
            self.assertEqual(self.update(), "")
        (self.folder / "ads.bwx").unlink()
        self.assertIn("ads: built", self.update())
        self.assertTrue((self.folder / "ads.bwx").exists())

    def test_first_update_with_half_of_its_lists_builds_from_the_rest(self):
        self.lists.pages["/a.txt"] = hosts(50, "a")
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.update(exit_status=1)
        self.assertTrue(self.stops("a1.test"))

    def test_filters_do_not_harm_each_other(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": HTML}
        self.configure([("bad", {"sources": [self.source("/b.txt")]}), ("good", {"sources": [self.source("/a.txt")]})])
        self.update(exit_status=1)
        self.assertTrue(self.stops("a1.test", "good"))
        self.assertFalse((self.folder / "bad.bwf").exists())

    def test_source_that_is_taken_out_of_the_configuration_leaves_the_filter(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": hosts(50, "b")}
        self.ads(self.source("/a.txt"), self.source("/b.txt"))
        self.update()
        self.ads(self.source("/b.txt"))
        self.assertIn("built, 50 entries (-50)", self.update())
        self.assertFalse(self.stops("a1.test"))
        self.assertEqual(len(list((self.folder / "lists/ads.lists").iterdir())), 1)


class Secrets(Site):
    def test_through_a_parent_proxy_with_a_header_of_its_own(self):
        parent = ParentProxy("me:p4ss-word")
        self.addCleanup(parent.stop)
        (self.folder / "login").write_text("me:p4ss-word\n")
        (self.folder / "header").write_text("X-Key: s3cr3t-key\n")
        os.chmod(self.folder / "login", 0o600)
        os.chmod(self.folder / "header", 0o600)
        self.lists.pages["/ads.txt"] = hosts(20)
        source = self.source("/ads.txt", header_file="header")
        self.configure([("ads", {"sources": [source]})], upstream={"parent": f"127.0.0.1:{parent.port}", "credentials_file": "login"})
        said = self.update()
        self.assertEqual(len(parent.heads), 1)
        self.assertNotIn("s3cr3t", parent.heads[0])
        self.assertEqual(self.lists.asked[-1][1]["X-Key"], "s3cr3t-key")
        self.configure([("ads", {"sources": [source]})], {"proxy": f"http://127.0.0.1:{parent.port}", "credentials_file": "login"})
        said += self.update("ads")
        (self.folder / "login").write_text("me:wr0ng\n")
        said += self.update("ads", exit_status=1)
        self.configure([("ads", {"sources": [source]})], {"proxy": "direct"}, upstream={"parent": "127.0.0.1:1"})
        said += self.update("ads")
        self.lists.pages["/ads.txt"] = (302, {"Location": "https://localhost:1/elsewhere"}, "")
        said += self.update("ads", exit_status=1)  # a secret is not taken elsewhere
        os.chmod(self.folder / "header", 0o644)
        said += self.update("ads", exit_status=1)
        self.assertIn("others may read", said)
        everything = said + "".join(path.read_text(errors="replace") for path in (self.folder / "lists").rglob("*") if path.is_file())
        for secret in ("s3cr3t", "p4ss", "wr0ng"):
            self.assertNotIn(secret, everything)

    def test_environment_counts_for_nothing(self):
        self.lists.pages["/ads.txt"] = hosts(20)
        self.ads()
        os.environ["https_proxy"] = os.environ["all_proxy"] = "http://127.0.0.1:1"
        self.addCleanup(os.environ.pop, "https_proxy")
        self.addCleanup(os.environ.pop, "all_proxy")
        self.update()


class Life(Site):
    def catalogue(self, *lists):
        (self.folder / "catalogue.yaml").write_text(json.dumps({"lists": [
            {"name": name, "url": self.lists.url(path), "category": "ads", "licence": "MIT", "homepage": "https://a.test/", "entries": 9}
            for name, path in lists]}))

    def test_lists_of_the_catalogue_are_added(self):
        self.catalogue(("small", "/small.txt"), ("gone", "/gone.txt"))
        self.lists.pages["/small.txt"] = hosts(9)
        self.configure([], {"catalogue": "catalogue.yaml"})
        self.run_proxy()
        self.assertEqual(self.update("--catalogue"), "".join(f"{name}\tads\t9\tMIT\thttps://a.test/\n" for name in ("small", "gone")))
        self.assertIn("small: built, 9 entries", self.update("--add", "small"))
        self.assertEqual(self.status_of("http://ad3.test/"), 403)
        self.assertTrue((self.folder / "conf.d/small.yaml").exists())
        self.assertNotIn("exceptions", (self.folder / "conf.d/small.yaml").read_text())
        self.assertIn("already", self.update("--add", "small", exit_status=1))
        self.assertIn("not in the catalogue", self.update("--add", "tiny", exit_status=1))
        self.assertIn("gone: not added", self.update("--add", "gone", exit_status=1))
        self.assertEqual([path.name for path in (self.folder / "conf.d").iterdir()], ["small.yaml"])
        self.assertEqual(self.command("check", "--config", "bloomwall.yaml").returncode, 0)

    def test_lists_that_the_dashboard_asks_for_are_added_by_the_next_run(self):
        self.catalogue(("small", "/small.txt"), ("gone", "/gone.txt"))
        self.lists.pages["/small.txt"] = hosts(9)
        self.configure([], {"catalogue": "catalogue.yaml"})
        (self.folder / "conf.d").mkdir(exist_ok=True)
        (self.folder / "conf.d/editing.yaml").write_text("admin: {edits: true}\n")
        self.run_proxy()

        def edits(method, path, status, body=None, **fields):
            code, said = self.ask(method, "/api/v1/edits" + path, body, **fields)
            self.assertEqual(code, status, said)
            return said

        def states():
            return {each["name"]: (each["state"], each["editable"]) for each in edits("GET", "", 200)["lists"]}

        def undo(said, status):
            request = said["undo"]
            edits(request["method"], request["path"].removeprefix("/edits"), status, request.get("body"), **{"If-Match": request["if_match"]})

        self.assertEqual(states(), {"small": ("none", False), "gone": ("none", False)})
        group = edits("PUT", "/groups/guests", 200, {"clients": ["127.0.0.9"]})
        edits("PUT", "/lists/small", 202, {"exceptions": "refused"})
        edits("PUT", "/lists/gone", 202, {})
        edits("PUT", "/lists/other", 404, {})
        edits("PUT", "/lists/small", 400, {"exceptions": "some"})
        self.assertEqual(states(), {"small": ("wanted", False), "gone": ("wanted", False)})
        [wanted] = self.folder.rglob("wanted-small")
        os.mkfifo(wanted.with_name("not-added-small"))  # what it says is no text, and is not waited for
        self.assertEqual(states(), {"small": ("wanted", False), "gone": ("wanted", False)})
        self.update()
        self.assertEqual(states(), {"small": ("added", True), "gone": ("none", False)})
        self.assertIn("could not be built", next(each for each in edits("GET", "", 200)["lists"] if each["name"] == "gone")["why"])
        self.assertEqual(self.status_of("http://ad3.test/"), 403)
        self.assertIn("exceptions: refused", (self.folder / "conf.d/small.yaml").read_text())
        edits("PUT", "/lists/small", 409, {})
        written = (self.folder / "conf.d/small.yaml").read_text()
        (self.folder / "conf.d/small.yaml").write_text(written + "# by hand\n")
        edits("DELETE", "/lists/small", 409)
        (self.folder / "conf.d/small.yaml").write_text(written)
        undo(group, 200)  # how far lists have come is none of its concern
        removed = edits("DELETE", "/lists/small", 200)
        self.assertEqual(removed["item"], {"name": "small", "exceptions": "refused"})
        self.assertEqual(sorted(path.name for path in (self.folder / "conf.d").iterdir()), ["editing.yaml"])
        self.assertNotEqual(self.status_of("http://ad3.test/"), 403)
        undo(removed, 202)
        self.assertEqual(states()["small"], ("wanted", False))
        undo(removed, 412)  # it is asked for already

    def test_nobody_opens_what_was_added_to_refuse_exceptions(self):
        self.catalogue(("small", "/small.txt"))
        self.lists.pages["/small.txt"] = hosts(9)
        self.configure([], {"catalogue": "catalogue.yaml"})
        self.run_proxy()
        self.update("--add", "--refuse-exceptions", "small")
        self.assertEqual(self.command("allow", "ad3.test", "--why", "please", "--config", "bloomwall.yaml").returncode, 1)
        self.assertEqual(self.status_of("http://ad3.test/"), 403)
        self.assertIn("--add", self.update("--refuse-exceptions", "small", exit_status=2))

    def test_first_list_is_added_before_the_proxy_has_made_its_folder(self):
        self.catalogue(("small", "/small.txt"))
        self.lists.pages["/small.txt"] = hosts(9)
        self.configure([], {"catalogue": "catalogue.yaml"})
        self.assertFalse((self.folder / "state").exists())
        self.assertIn("small: built, 9 entries", self.update("--add", "small"))
        self.run_proxy()
        self.assertEqual(self.status_of("http://ad3.test/"), 403)

    def test_adding_that_is_interrupted_adds_nothing(self):
        begun, gate = threading.Event(), threading.Event()

        def page(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(b"a.test\n")
            handler.wfile.flush()
            begun.set()
            gate.wait(600)
            handler.close_connection = True
        self.addCleanup(gate.set)
        self.lists.pages["/slow.txt"] = page
        self.catalogue(("slow", "/slow.txt"))
        self.configure([], {"catalogue": "catalogue.yaml"})
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            begun.clear()
            process = subprocess.Popen([BUILD / "bloomwall", "update", "--add", "slow", "--config", self.folder / "bloomwall.yaml"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.assertTrue(begun.wait(300))
            self.assertEqual(list((self.folder / "conf.d").glob("*.yaml")), [], "a reload meanwhile knows nothing of it")
            self.assertEqual(self.command("check", "--config", "bloomwall.yaml").returncode, 0)
            process.send_signal(number)
            self.assertEqual(process.wait(300), -9 if number == signal.SIGKILL else 1)
            left = [path.name for path in (self.folder / "conf.d").iterdir() if number != signal.SIGKILL or path.suffix != ".bwf-tmp"]
            self.assertEqual(left, [])
        self.assertEqual(self.command("check", "--config", "bloomwall.yaml").returncode, 0)

    def test_shipped_catalogue_is_read(self):
        self.configure([], {"catalogue": str(pathlib.Path(__file__).resolve().parent.parent / "conf/catalogue.yaml")})
        self.assertGreater(self.update("--catalogue").count("\n"), 20)

    def test_missing_filters_alone(self):
        self.lists.pages |= {"/a.txt": hosts(50, "a"), "/b.txt": hosts(50, "b")}
        self.configure([("a", {"sources": [self.source("/a.txt")]}), ("b", {"sources": [self.source("/b.txt")]})])
        self.update("a")
        self.update("--missing")
        self.assertEqual((self.lists.requests("/a.txt"), self.lists.requests("/b.txt")), (1, 1))
        self.assertEqual(self.update("--missing"), "")

    def test_one_run_at_a_time(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads()
        (self.folder / "lists").mkdir()
        with open(self.folder / "lists/.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            waiting = subprocess.Popen([BUILD / "bloomwall", "update", "--config", self.folder / "bloomwall.yaml"])
            self.assertRaises(subprocess.TimeoutExpired, waiting.wait, 1)
            self.assertEqual(self.lists.asked, [])
        self.assertEqual(waiting.wait(60), 0)

    def test_unknown_names_and_places_that_cannot_be_written(self):
        self.configure([("own", {})])
        self.assertIn("there is no filter nobody", self.update("nobody", exit_status=2))
        self.assertIn("has no sources", self.update("own", exit_status=2))
        self.ads()
        (self.folder / "lists").write_text("no folder")
        self.assertIn("lists", self.update(exit_status=2))

    def test_state_that_is_damaged_is_fetched_anew(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads()
        self.update()
        for damage in ("{", '{"version":1,"filters":[{"filter":"ads","made_of":["../../x"]}]}', '{"version":2}', "[]", ""):
            (self.folder / "lists/lists.json").write_text(damage)
            self.assertIn("warning: ", self.update())
            self.assertEqual(self.first()["entries"], 9)

    def test_hostile_texts_do_not_spoil_the_state(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads(self.source("/ads.txt"), self.source("/b.txt"))
        self.lists.pages["/b.txt"] = b"\xff\xfe \x1b[2J \xf0\x9f " * 400
        self.update("ads", exit_status=1)
        self.lists.pages["/b.txt"] = (200, {"ETag": "\"" + "\u00ff" * 500 + "\""}, hosts(5, "b"))
        self.update("ads")
        self.assertEqual(self.update(), "")  # the state was read
        self.assertEqual(self.lists.requests("/ads.txt"), 2)

    def test_full_disk_keeps_what_was_good(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a disk that is full")
        self.lists.pages["/ads.txt"] = hosts(100)
        self.ads(guards={"grow": "100000%"})
        self.update()
        before, state = (self.folder / "ads.bwf").read_bytes(), self.first()
        self.lists.pages["/ads.txt"] = hosts(100_000)
        script = """set -u
            cp -a lists kept && mount -t tmpfs -o size=1m none lists && cp -a kept/. lists || exit 77
            "$0" update ads --config bloomwall.yaml; echo "first $?"
            cp lists/lists.json first.json
            mount -o remount,size=64m lists
            "$0" update ads --config bloomwall.yaml; echo "second $?"
            cp lists/lists.json second.json"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, BUILD / "bloomwall"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest("mount: " + done.stderr)
        self.assertRegex(done.stdout, "(?s)No space left on device; the copy of .* is kept.*first 1\n.*built, 100,000 entries.*second 0\n")
        first = json.loads((self.folder / "first.json").read_text())["filters"][0]["sources"][0]
        self.assertEqual((first["result"], first["entries"], first["copy"]), ("failed", 100, state["copy"]))
        self.assertNotEqual((self.folder / "ads.bwf").read_bytes(), before)

    def test_disk_without_a_block_keeps_what_is_known_of_lists(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a disk that is full")
        self.lists.pages["/ads.txt"] = hosts(100)
        self.ads()
        self.update()
        script = """set -u
            cp -a lists kept && mount -t tmpfs -o size=1m none lists && cp -a kept/. lists || exit 77
            dd if=/dev/zero of=lists/filler bs=4k 2>/dev/null
            "$0" update ads --config bloomwall.yaml; echo "first $?"
            cmp lists/lists.json kept/lists.json && echo same
            ls -A lists
            "$0" why http://ad7.test/ --config bloomwall.yaml > why.txt; echo "why $?"
            rm lists/filler
            "$0" update ads --config bloomwall.yaml; echo "second $?"
            cp lists/lists.json second.json"""
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, BUILD / "bloomwall"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest("mount: " + done.stderr)
        said = done.stdout + done.stderr
        self.assertRegex(said, "lists.json: .*No space left on device", said)
        self.assertRegex(done.stdout, "(?s)first [1-9].*same.*second 0", said)
        self.assertNotIn("bwf-tmp", done.stdout, "nothing is left half written")
        [source] = json.loads((self.folder / "second.json").read_text())["filters"][0]["sources"]
        self.assertEqual((source["result"], source["entries"]), ("unchanged", 100))
        self.assertTrue(self.stops("ad7.test"))

    def test_full_disk_is_named_where_the_list_is_a_file(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a disk that is full")
        own = self.folder / "own.txt"
        own.write_text(hosts(100))
        self.ads({"url": "own.txt"}, guards={"grow": "100000%"})
        self.update()
        own.write_text(hosts(100_000))
        script = 'mount -t tmpfs -o size=1m none lists || exit 77; "$0" update ads --config bloomwall.yaml; echo "status $?"'
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, BUILD / "bloomwall"], cwd=self.folder, capture_output=True, text=True)
        if done.returncode == 77:
            self.skipTest("mount: " + done.stderr)
        self.assertRegex(done.stdout, "own.txt: the copy cannot be written: No space left on device(?s:.*)status 1\n")
        self.assertTrue(self.stops("ad7.test"))

    def test_clock_that_was_ahead_makes_lists_due_and_stale(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads(stale_after="1h")
        self.update()
        state = json.loads((self.folder / "lists/lists.json").read_text())
        for name in ("checked", "succeeded", "changed", "due"):
            state["filters"][0]["sources"][0][name] += 400 * 86400
        (self.folder / "lists/lists.json").write_text(json.dumps(state))
        self.assertIn("ads: its lists were", self.command("check", "--config", "bloomwall.yaml").stderr)
        self.assertIn("unchanged", self.update())
        self.assertNotIn("ads: its lists were", self.command("check", "--config", "bloomwall.yaml").stderr)

    def test_run_that_is_killed_leaves_what_was_good(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads()
        self.update()
        before = (self.folder / "ads.bwf").read_bytes()

        def page(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            handler.wfile.write(hosts(9).encode())
            os.kill(process.pid, signal.SIGKILL)
            handler.close_connection = True
        self.lists.pages["/ads.txt"] = page
        process = subprocess.Popen([BUILD / "bloomwall", "update", "ads", "--config", self.folder / "bloomwall.yaml"])
        self.assertEqual(process.wait(60), -signal.SIGKILL)
        self.assertEqual((self.folder / "ads.bwf").read_bytes(), before)
        self.lists.pages["/ads.txt"] = hosts(10)
        self.update("ads")
        self.assertEqual(len(list((self.folder / "lists/ads.lists").iterdir())), 1)

    def killed_while_it_asks_for_another(self, text):
        """A run that has built `a` of `text` and dies at the list of `b`."""
        def page(handler):
            os.kill(process.pid, signal.SIGKILL)
            handler.close_connection = True
        self.lists.pages |= {"/a.txt": text, "/b.txt": page}
        process = subprocess.Popen([BUILD / "bloomwall", "update", "a", "b", "--config", self.folder / "bloomwall.yaml"])
        self.assertEqual(process.wait(60), -signal.SIGKILL)
        self.lists.pages["/b.txt"] = hosts(9, "b")

    def test_run_that_was_killed_before_its_reload_is_made_good_by_the_next(self):
        self.lists.pages |= {"/a.txt": hosts(9), "/b.txt": hosts(9, "b")}
        self.configure([(name, {"sources": [self.source(f"/{name}.txt")]}) for name in "ab"])
        self.update()
        self.run_proxy()
        self.killed_while_it_asks_for_another(hosts(9) + "new.test\n")
        self.assertTrue(self.stops("new.test", "a"))
        self.assertNotEqual(self.status_of("http://new.test/"), 403)
        self.assertIn("generation 2 is served", self.update("b"))
        self.assertEqual(self.status_of("http://new.test/"), 403)
        self.assertNotIn("generation", self.update("a", "b"))

    def test_runs_that_are_killed_while_they_build_leave_no_other_list_behind(self):
        rng, good = random.Random(test_seed()), hosts(30_000)
        self.lists.pages["/ads.txt"] = good
        self.ads()
        self.update()
        self.run_proxy()
        state = self.folder / "lists/lists.json"
        for i in range(6):
            self.lists.pages["/ads.txt"] = good + f"new{i}.test\n"
            process = subprocess.Popen([BUILD / "bloomwall", "update", "ads", "--config", self.folder / "bloomwall.yaml"])
            until(lambda: '"is_untold": true' in state.read_text() or process.poll() is not None)
            time.sleep(rng.uniform(0, 0.1))
            process.kill()
            process.wait(60)
            self.lists.pages["/ads.txt"] = good  # the server has taken it back, with the ETag of before
            self.update("ads")
            self.assertFalse(self.stops(f"new{i}.test"), i)
            self.assertNotEqual(self.status_of(f"http://new{i}.test/"), 403, i)
            self.assertEqual(self.status_of("http://ad3.test/"), 403)

    def test_why_names_the_line_of_the_list(self):
        self.lists.pages["/ads.txt"] = "# ads\n" + hosts(9)
        self.ads()
        self.update()
        done = self.command("why", "http://www.ad3.test/x", "--config", "bloomwall.yaml")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"{self.lists.url('/ads.txt')}:5: ad3.test", done.stdout)

    def test_networks_are_counted_once_and_why_names_their_line(self):
        self.lists.pages["/ads.txt"] = "192.0.2.0/25\n198.51.100.7\n2001:db8::/32\n"
        self.ads()
        self.assertIn("built, 3 entries,", self.update())
        self.assertEqual(self.state()["entries"], 3)
        for url, line, text in (("http://192.0.2.9/", 1, "192.0.2.0/25"), ("http://198.51.100.7/", 2, "198.51.100.7"),
                                ("http://[2001:db8::5]/x", 3, "2001:db8::/32")):
            done = self.command("why", url, "--json", "--config", "bloomwall.yaml")
            [found] = json.loads(done.stdout)["filters"]
            self.assertEqual((done.returncode, found["source"]), (0, "list"), url)
            self.assertEqual(found["lines"], [{"list": self.lists.url("/ads.txt"), "line": line, "text": text}])

    def test_api_and_metrics_know_the_lists(self):
        self.lists.pages |= {"/ads.txt": hosts(9), "/b.txt": (500, {}, "")}
        self.ads(self.source("/ads.txt"), self.source("/b.txt"))
        self.update(exit_status=1)
        self.run_proxy()
        status, lists = self.ask("GET", "/api/v1/lists")
        self.assertEqual((status, [item["filter"] for item in lists["items"]]), (200, ["ads"]))
        status, ads = self.ask("GET", "/api/v1/lists/ads")
        self.assertEqual((status, ads), (200, lists["items"][0]))
        self.assertEqual([source["result"] for source in ads["sources"]], ["updated", "failed"])
        self.assertEqual((ads["stale"], ads["entries"], ads["sources"][1]["message"]), (True, 9, "the server answers 500"))
        self.assertEqual(self.ask("GET", "/api/v1/lists/other")[0], 404)
        described = json.loads((pathlib.Path(__file__).resolve().parent.parent / "proxy/api/openapi.json").read_text())
        try:
            import jsonschema
            schema = {"$ref": "#/components/schemas/Lists", "components": described["components"]}
            jsonschema.Draft202012Validator(schema).validate(ads)
        except ImportError:
            print("no python3-jsonschema: the schema was not tried")
        metrics = self.metrics()
        for line in ('source_fetch_total{list="ads",source="0",result="updated"} 1', 'source_fetch_total{list="ads",source="1",result="failed"} 1',
                     'source_entries{list="ads",source="0"} 9', 'source_last_success_timestamp_seconds{list="ads",source="1"} 0',
                     'lists_stale{list="ads"} 1'):
            self.assertIn("bloomwall_" + line, metrics)
        self.assertRegex(metrics, r'bloomwall_update_seconds\{list="ads"\} \d')
        self.lists.pages["/b.txt"] = hosts(5, "b")
        for body, answer in (({"filters": ["nobody"]}, 404), ({"filters": "ads"}, 400), ({"other": 1}, 400), ([], 400)):
            self.assertEqual(self.ask("POST", "/api/v1/update", body)[0], answer, body)
        self.assertEqual(self.update(), "")  # back-off
        self.assertEqual(self.ask("POST", "/api/v1/update", {"filters": ["ads"]}), (202, {"filters": ["ads"], "force": False}))
        self.assertIn("built, 14 entries", self.update())
        self.assertEqual(self.status_of("http://b3.test/"), 403)
        self.assertIn('lists_stale{list="ads"} 0', self.metrics())
        self.assertEqual(self.ask("POST", "/api/v1/update")[0], 202)
        self.assertIn("/b.txt: unchanged", self.update())

    def test_others_are_answered_while_a_wish_waits_for_the_folder(self):
        self.lists.pages["/ads.txt"] = hosts(3)
        self.ads()
        self.update()
        self.run_proxy()
        folder = os.open(self.folder / "lists", os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        wish = socket.socket(socket.AF_UNIX)
        wish.settimeout(20)
        wish.connect(str(self.folder / "control.sock"))
        wish.sendall(b"POST /api/v1/update HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
        self.assertEqual(self.ask("GET", "/api/v1/status")[0], 200)
        os.close(folder)
        self.assertIn(b"HTTP/1.1 202 ", wish.recv(4096))
        wish.close()

    def test_check_warns_of_lists_that_are_not_fetched(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads(stale_after="1h")
        self.update()
        self.assertNotIn("all fetched", self.command("check", "--config", "bloomwall.yaml").stderr)
        state = json.loads((self.folder / "lists/lists.json").read_text())
        state["filters"][0]["sources"][0]["succeeded"] -= 3700
        (self.folder / "lists/lists.json").write_text(json.dumps(state))
        self.assertRegex(self.command("check", "--config", "bloomwall.yaml").stderr, "ads: its lists were all fetched last at 20")

    def test_loop_does_what_is_due_until_it_is_told_to_end(self):
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads()
        process = subprocess.Popen([BUILD / "bloomwall", "update", "--loop", "--config", self.folder / "bloomwall.yaml"])
        self.addCleanup(process.kill)
        until(lambda: (self.folder / "lists/lists.json").exists())
        (self.folder / "lists/wish.json").write_text("{}")  # as the running proxy leaves it
        until(lambda: self.lists.requests("/ads.txt") == 2)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(20), 0)

    def test_work_is_the_folders_owners(self):
        if os.getuid() != 0:
            self.skipTest("only root can give its work away")
        self.lists.pages["/ads.txt"] = hosts(9)
        self.ads()
        for name in ("", "lists", "state"):
            (self.folder / name).mkdir(exist_ok=True)
            os.chown(self.folder / name, 12345, 12346)
        os.chmod(self.shared, 0o755)
        os.chmod(self.shared / "oca.crt", 0o644)
        self.update()
        made = (self.folder / "ads.bwf").stat()
        self.assertEqual((made.st_uid, made.st_gid), (12345, 12346))


if __name__ == "__main__":
    main()
