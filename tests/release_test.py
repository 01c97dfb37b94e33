#!/usr/bin/env python3
"""`bloomwall-filter release`: what a publisher makes of a folder, what its guards refuse, and what a publication that is killed leaves.

Usage: release_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats the choice of moments and octets.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

from interception_site import BUILD, SANITIZED, clock_ahead, main
from seed import test_seed

KILLS = 16


class Site(unittest.TestCase):
    """A folder with two keys, and the filter of 1,000 hosts in release 1 of the rings canary and all."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.origin = self.folder / "origin"
        self.place = self.origin / "malware"
        for name in ("a", "b"):
            self.tool("keygen", self.folder / f"{name}.key")
        self.base = self.build("base", range(1000))

    def call(self, *words):
        return subprocess.run([BUILD / "bloomwall-filter", *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=120)

    def tool(self, *words, status=0):
        done = self.call(*words)
        self.assertEqual(done.returncode, status, f"{words}\n{done.stdout}{done.stderr}")
        return done

    def list(self, name, lines):
        file = self.folder / name
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    def build(self, name, numbers, *more):
        listed = self.list(f"{name}.txt", [f"host{number}.example" for number in numbers])
        self.tool("build", "-q", *more, "-o", self.folder / f"{name}.bwf", listed)
        return self.folder / f"{name}.bwf"

    def release(self, command, *words, status=0, key="a"):
        keys = () if command in ("status", "check", "prune") else [word for each in key for word in ("--key", self.folder / f"{each}.key")]
        public = ("--public-key", self.folder / f"{key}.key.pub") if command in ("check", "prune") else ()
        return self.tool("release", command, self.origin, "--filter", "malware", *keys, *public, *words, status=status)

    def publish(self, *words, **more):
        return self.release("publish", *words, **more)

    def started(self):
        self.publish("--base", self.base, "--ring", "all")
        self.publish("--base", self.base)
        return self

    def rings(self):
        shown = json.loads(self.release("status", "--json").stdout)["rings"]
        return {ring["ring"]: ring for ring in shown}

    def numbers(self):
        return {name: ring["release"] for name, ring in self.rings().items()}

    def query(self, ring, *hosts):
        """What the files of a ring say."""
        state = self.rings()[ring]
        delta = ("--delta", self.place / state["delta"]) if state["delta"] else ()
        lines = self.call("query", self.place / state["base"], *delta, *hosts).stdout.splitlines()
        return [line.split("\t")[0] for line in lines]

    def whole(self):
        return {file.relative_to(self.origin): file.read_bytes() for file in self.origin.rglob("*") if file.is_file()}


class Publishing(Site):
    def test_a_filter_becomes_a_release_of_a_ring(self):
        self.assertIn("ring canary has release 1 (sequence 1)", self.publish("--base", self.base).stdout)
        self.assertEqual(self.numbers(), {"canary": 1})
        manifest = (self.place / "releases/0000000001").read_text()
        header = hashlib.sha256(self.base.read_bytes()[:4096]).hexdigest()
        self.assertRegex(manifest, r"\Abloomwall-release 1 filter=malware series=[0-9a-f]{32} release=1 created=\d+\n"
                         rf"base file=files/{header[:32]}\.bwf content=[0-9a-f]{{32}} size={self.base.stat().st_size} header={header}\n"
                         r"signature ed25519 [0-9a-f]{32} [0-9a-f]{128}\n\Z")
        self.assertEqual((self.place / f"files/{header[:32]}.bwf").read_bytes(), self.base.read_bytes())
        self.assertRegex((self.place / "rings/canary").read_text(), r"\Abloomwall-ring 1 filter=malware ring=canary release=1 sequence=1 ")
        self.assertEqual(self.release("check").stdout, "ring canary: release 1: ok\n")

    def test_lists_are_added_and_removed_on_top_of_what_the_ring_has(self):
        self.started()
        self.publish("--add", self.list("add.txt", ["new.example", "two.example"]), "--remove", self.list("remove.txt", ["host7.example"]))
        self.assertEqual(self.numbers(), {"all": 1, "canary": 3})
        self.assertEqual(self.query("canary", "new.example", "host7.example", "host8.example"), ["listed", "clear", "listed"])
        self.assertEqual(self.query("all", "new.example", "host7.example"), ["clear", "listed"])
        self.publish("--add", self.list("add.txt", ["three.example"]))
        self.assertEqual(self.query("canary", "new.example", "three.example", "host7.example"), ["listed", "listed", "clear"])
        self.assertEqual(self.rings()["canary"]["changes"], 4)
        self.release("check")

    def test_nothing_new_makes_no_release(self):
        self.started()
        added = self.list("add.txt", ["new.example"])
        self.publish("--add", added)
        before = self.whole()
        self.assertIn("nothing was published", self.publish("--add", added).stderr)
        self.assertEqual(self.whole(), before)

    def test_a_new_filter_ends_the_delta_and_says_so_or_carries_its_additions(self):
        self.started()
        self.publish("--add", self.list("add.txt", ["new.example"]))
        other = self.build("other", range(1, 1001))
        self.assertRegex(self.publish("--base", other).stderr, r"the delta of release 3 \(1 changes\) ends with its filter; --carry")
        self.assertEqual(self.query("canary", "new.example", "host1000.example"), ["clear", "listed"])
        self.publish("--add", self.folder / "add.txt")
        self.publish("--base", self.base, "--carry")
        self.assertEqual(self.query("canary", "new.example", "host1000.example", "host0.example"), ["listed", "clear", "listed"])
        self.release("check")

    def test_an_exact_side_belongs_to_its_filter(self):
        exact = self.build("exact", range(1000), "--exact-side")
        self.publish("--base", exact, "--exact-side", self.folder / "exact.bwx")
        self.release("check")
        refused = self.publish("--base", self.base, "--exact-side", self.folder / "exact.bwx", status=1)
        self.assertIn("exact.bwx", refused.stderr)

    def test_going_back_is_a_new_number(self):
        self.started()
        self.publish("--add", self.list("add.txt", ["new.example"]), "--ring", "all")
        before = {path for path in self.whole() if "files" in path.parts or "deltas" in path.parts}
        self.release("reissue", "--release", 1)
        self.assertEqual(self.numbers(), {"all": 4, "canary": 4})
        self.assertEqual(self.query("all", "new.example"), ["clear"])
        self.assertEqual({path for path in self.whole() if "files" in path.parts or "deltas" in path.parts}, before)
        self.release("reissue", "--release", 3, "--ring", "early")
        self.assertEqual(self.numbers(), {"all": 4, "canary": 4, "early": 5})
        self.assertIn("releases/0000000009", self.release("reissue", "--release", 9, status=2).stderr)

    def test_a_ring_is_renewed_with_a_later_end(self):
        self.publish("--base", self.base, "--valid-for", "1h")
        first = self.rings()["canary"]
        self.release("renew", "--valid-for", "30d")
        later = self.rings()["canary"]
        self.assertEqual((later["release"], later["sequence"]), (1, 2))
        self.assertGreaterEqual(later["valid_until"] - first["valid_until"], 29 * 86400)
        self.assertIn("no such ring", self.release("renew", "--ring", "early", status=2).stderr)

    def test_two_texts_of_a_ring_have_different_etags(self):
        """nginx makes them of the second of the last change and the length."""
        self.started()
        tags = set()
        for _ in range(4):
            self.release("renew", "--ring", "all")
            status = (self.place / "rings/all").stat()
            tags.add((int(status.st_mtime), status.st_size))
        self.assertEqual(len(tags), 4)

    @unittest.skipIf(SANITIZED, "the clock cannot be set: a sanitizer must be loaded first")
    def test_a_ring_that_has_ended_is_told(self):
        self.publish("--base", self.base, "--valid-for", "1m")
        later = subprocess.run([BUILD / "bloomwall-filter", "release", "check", self.origin, "--filter", "malware", "--public-key",
                                self.folder / "a.key.pub"], capture_output=True, text=True, env=clock_ahead(120))
        self.assertEqual(later.returncode, 1, later.stderr)
        self.assertRegex(later.stdout, "ring canary: release 1: has ended at .*: renew it")


class Guards(Site):
    def refused(self, guard, *words):
        before = self.whole()
        refused = self.publish(*words, status=1)
        self.assertIn(f"bloomwall-filter: {guard}: ", refused.stderr)
        # Only a filter may have been copied, which nothing names yet.
        self.assertEqual({path: data for path, data in self.whole().items() if path in before or "files" not in path.parts}, before)
        return refused.stderr

    def test_what_shrinks_or_grows_too_much(self):
        self.started()
        self.refused("max_shrink", "--base", self.build("small", range(890)))
        self.publish("--base", self.build("smaller", range(910)))
        self.refused("max_growth", "--base", self.build("large", range(4100)))
        self.publish("--base", self.folder / "large.bwf", "--max-growth", "400%")
        self.refused("max_shrink", "--remove", self.list("remove.txt", [f"host{i}.example" for i in range(100, 4000)]))

    def test_the_first_release_is_compared_with_nothing(self):
        self.publish("--base", self.build("small", range(3)))

    def test_what_must_pass_and_what_must_be_stopped_name_their_lines(self):
        self.started()
        passing = self.list("pass.txt", ["# ours", "", "www.example.org", "http://good.example/a"])
        said = self.refused("must_pass", "--add", self.list("add.txt", ["good.example"]), "--must-pass", passing)
        self.assertIn(f"{passing}:4: it stops http://good.example/a, which must pass: ", said)
        self.assertIn("good.example", said)
        stopped = self.list("block.txt", ["host1.example", "missing.example"])
        said = self.refused("must_block", "--add", self.list("add.txt", ["new.example"]), "--must-block", stopped)
        self.assertIn(f"{stopped}:2: it does not stop missing.example", said)
        self.publish("--add", self.list("add.txt", ["missing.example"]), "--must-block", stopped, "--must-pass", passing)

    def test_an_error_rate_that_is_too_high(self):
        rough = self.build("rough", range(1000), "--fpr", "1e-3")
        error = json.loads(self.tool("info", rough, "--json").stdout)["predicted"]["unlisted_host"]["mean"]
        self.assertGreater(error, 0)
        self.publish("--base", rough, "--most-error", f"{error * 1.01:.6g}", "--ring", "all")
        self.refused("most_error", "--base", rough, "--most-error", f"{error * 0.99:.6g}")

    def test_raw_keys_are_asked_byte_for_byte(self):
        keys = self.list("keys.txt", [f"user{i}@example" for i in range(100)])
        self.tool("build", "-q", "--raw", "-o", self.folder / "raw.bwf", keys)
        self.started()
        self.refused("must_pass", "--base", self.folder / "raw.bwf", "--must-pass", self.list("pass.txt", ["user5@example"]), "--max-shrink", "99%")
        self.publish("--base", self.folder / "raw.bwf", "--must-pass", self.list("pass.txt", ["user500@example"]), "--max-shrink", "99%")

    def test_urgent_goes_to_every_ring_and_says_why(self):
        self.started()
        self.publish("--add", self.list("add.txt", ["canary.example"]))
        begun = time.monotonic()
        self.publish("--add", self.list("urgent.txt", ["phishing.example"]), "--urgent", "--why", "incident\n+4711.example")
        self.assertLess(time.monotonic() - begun, 10)
        self.assertEqual(self.numbers(), {"all": 4, "canary": 5})
        self.assertEqual(self.query("all", "phishing.example", "canary.example", "4711.example"), ["listed", "clear", "clear"])
        self.assertEqual(self.query("canary", "phishing.example", "canary.example"), ["listed", "listed"])
        delta = (self.place / self.rings()["all"]["delta"]).read_text()
        self.assertIn("\n# release 4: incident +4711.example\n", delta)
        self.release("check")

    def test_urgent_is_small_and_asks_what_must_pass(self):
        self.started()
        many = self.list("many.txt", [f"new{i}.example" for i in range(1001)])
        self.refused("urgent", "--add", many, "--urgent", "--why", "x")
        self.publish("--add", self.list("fits.txt", [f"new{i}.example" for i in range(1000)]), "--urgent", "--why", "x")
        passing = self.list("pass.txt", ["good.example"])
        self.refused("must_pass", "--add", self.list("add.txt", ["good.example"]), "--urgent", "--why", "x", "--must-pass", passing)
        for words in (["--add", many, "--urgent"], ["--base", self.base, "--urgent", "--why", "x"], ["--remove", many, "--urgent", "--why", "x"],
                      ["--add", many, "--why", "x"], [], ["--base", self.base, "--add", many], ["--add", many, "--carry"]):
            self.publish(*words, status=2)


class Signing(Site):
    def test_nobody_elses_text_is_signed_unseen(self):
        self.started()
        before = self.whole()
        added = self.list("add.txt", ["new.example"])
        self.assertIn("bears no signature of the key", self.publish("--add", added, key="b", status=1).stderr)
        for command in (["reissue", "--release", 1], ["renew"]):
            self.release(*command, key="b", status=1)
        self.release("check", key="b", status=1)
        self.assertEqual(self.whole(), before)

    def test_keys_are_exchanged_by_signing_with_both(self):
        self.started()
        self.release("reissue", "--release", 1, key="ab")
        self.publish("--add", self.list("add.txt", ["new.example"]), key="b")
        self.release("reissue", "--release", 4, key="b")
        self.release("check", key="b")
        self.release("check", key="a", status=1)

    def test_any_octet_that_is_changed_is_found(self):
        self.started()
        self.publish("--add", self.list("add.txt", ["new.example"]))
        chance = random.Random(test_seed())
        names = ["rings/all", "rings/canary", "releases/0000000001", "releases/0000000003"]
        names += [self.rings()["canary"][part] for part in ("base", "delta")]
        for name in names:
            file = self.place / name
            whole = file.read_bytes()
            for _ in range(8):
                at = chance.randrange(len(whole) if "files" in name or "deltas" in name else whole.index(b"signature"))
                file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1:])
                self.release("check", status=1)
            file.write_bytes(whole[:-1])
            self.release("check", status=1)
            file.write_bytes(whole)
            self.release("check")

    def test_texts_of_another_filter_or_number_are_refused(self):
        self.started()
        self.tool("release", "publish", self.origin, "--filter", "ads", "--key", self.folder / "a.key", "--base", self.base, "--ring", "all")
        shutil.copy(self.origin / "ads/rings/all", self.place / "rings/all")
        self.assertIn("is the ring all of the filter ads", self.release("check", status=1).stderr)
        shutil.copy(self.place / "rings/canary", self.place / "rings/all")
        self.assertIn("is the ring canary of the filter malware", self.release("check", status=1).stderr)
        self.release("renew", status=1)
        os.remove(self.place / "rings/all")
        shutil.copy(self.place / "releases/0000000001", self.place / "releases/0000000002")
        self.release("check", status=1)

    def test_a_key_or_a_file_that_is_not_there_is_an_error(self):
        self.publish("--base", self.folder / "none.bwf", status=2)
        self.tool("release", "publish", self.origin, "--filter", "malware", "--key", self.folder / "none.key", "--base", self.base, status=2)
        self.tool("release", "publish", self.origin, "--filter", "../x", "--key", self.folder / "a.key", "--base", self.base, status=2)
        self.tool("release", "status", self.folder / "none", "--filter", "malware", status=2)
        damaged = self.folder / "damaged.bwf"
        data = bytearray(self.base.read_bytes())
        data[-1] ^= 1
        damaged.write_bytes(data)
        self.publish("--base", damaged, status=1)


class Pruning(Site):
    def test_what_a_ring_names_stays(self):
        self.started()
        for number in range(12):
            self.publish("--base", self.build(f"base{number}", range(number + 1, number + 1000)))
            self.publish("--add", self.list("add.txt", [f"new{number}.example"]))
        removed = self.release("prune", "--keep", 3).stdout
        self.assertIn("removed releases/0000000002\n", removed)
        self.assertEqual(sorted(path.name for path in (self.place / "releases").iterdir()),
                         ["0000000001", "0000000024", "0000000025", "0000000026"])
        self.assertEqual(len(list((self.place / "files").iterdir())), 3)
        self.release("check")
        self.assertEqual(self.release("prune", "--keep", 3).stdout, "")
        self.publish("--add", self.list("add.txt", ["more.example"]))
        self.assertEqual(self.numbers()["canary"], 27, "a number is never used again")

    def test_nothing_goes_where_a_text_cannot_be_read(self):
        self.started()
        self.publish("--add", self.list("add.txt", ["new.example"]))
        (self.place / "releases/0000000002").write_text("no release\n")
        before = self.whole()
        self.release("prune", "--keep", 10, status=1)
        self.assertEqual(self.whole(), before)


class Kills(Site):
    def test_a_publication_that_is_killed_leaves_the_former_state_or_the_new_one(self):
        """DST-06 of the publisher: at any moment every ring can be served, and the next publication goes through."""
        self.started()
        chance = random.Random(test_seed())
        bases = [self.build(f"kill{number}", range(number, number + 1000)) for number in range(4)]
        seen = {"finished": 0, "killed": 0}
        begun = time.monotonic()
        self.publish("--base", bases[0])
        lasts = time.monotonic() - begun
        for number in range(KILLS):
            words = ["--base", bases[chance.randrange(4)]] if chance.random() < 0.5 else ["--add", self.list("add.txt", [f"kill{number}.example"])]
            before = self.numbers()
            process = subprocess.Popen([BUILD / "bloomwall-filter", "release", "publish", self.origin, "--filter", "malware", "--key",
                                        self.folder / "a.key", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(chance.random() * 1.2 * lasts)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            seen["finished" if process.wait() == 0 else "killed"] += 1
            self.release("check")
            after = self.numbers()
            self.assertEqual(after["all"], before["all"])
            self.assertGreaterEqual(after["canary"], before["canary"])
        self.assertGreater(seen["killed"], 0, seen)
        self.publish("--base", bases[1], "--max-shrink", "50%")
        self.release("prune", "--keep", 1)
        self.release("check")
        self.assertEqual([path for path in self.whole() if re.search(r"/\.next|bwf-tmp", str(path))], [])

    def test_two_publishers_at_once_do_not_mix(self):
        self.started()
        added = [self.list(f"add{number}.txt", [f"both{number}.example"]) for number in range(4)]
        running = [subprocess.Popen([BUILD / "bloomwall-filter", "release", "publish", self.origin, "--filter", "malware", "--key",
                                     self.folder / "a.key", "--add", each], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for each in added]
        done = [(process.communicate()[1], process.returncode) for process in running]
        taken = [number for number, (_, status) in enumerate(done) if status == 0]
        self.assertTrue(taken, done)
        for said, status in done:
            if status != 0:
                self.assertIn("is being changed by another process", said)
        self.assertEqual(self.query("canary", *[f"both{number}.example" for number in taken]), ["listed"] * len(taken))
        self.release("check")


if __name__ == "__main__":
    main()
