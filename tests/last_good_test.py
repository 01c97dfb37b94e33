#!/usr/bin/env python3
"""What a start and a reload remember: the last good files of a filter serve where the configured ones cannot be served, a file is known by its
header, refusals name their reason.

Usage: last_good_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats the choice of moments.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.request

from agreement_test import UnixConnection
from interception_site import BUILD, WAIT, main, run, until, whole_lines
from seed import test_seed

KILLS = 12


def flip(file, at):
    """One bit, in place; `at` from the end where it is negative."""
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.chmod(0o644)
    file.write_bytes(data)


class Site(unittest.TestCase):
    """A folder with a base, a delta and an exact side, made anew by make(); all of it is signed."""
    entries = ()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.file, self.log = self.folder / "bloomwall.yaml", self.folder / "daemon.log"
        self.base, self.delta, self.exact = (self.folder / f"ads.{end}" for end in ("bwf", "delta", "bwx"))
        (self.folder / "state").mkdir()
        self.process = None
        self.addCleanup(self.kill)
        self.tool("keygen", self.folder / "a.key")
        self.tool("keygen", self.folder / "b.key")
        self.configure()
        self.make("base1.test", "delta1.test")

    def tool(self, *words):
        return run(BUILD / "bloomwall-filter", *words)

    def make(self, listed, added, key="a.key", folder=None):
        """The three files, put in their place one after the other as a careless publisher would."""
        to = folder or self.folder
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            made = pathlib.Path(place)
            series = self.folder / "series.bwf"  # the last one that was made: the next is of its series, and newer
            if series.exists():
                shutil.copy(series, made / "ads.bwf")
            (made / "list.txt").write_text(listed + "\n")
            (made / "added.txt").write_text(added + "\n")
            self.tool("build", "-q", "--exact-side", *self.entries, "-o", made / "ads.bwf", made / "list.txt")
            self.tool("sign", made / "ads.bwf", "--key", self.folder / key)
            self.tool("update", made / "ads.bwf", "--delta", made / "ads.delta", "--add", made / "added.txt", "--key", self.folder / key)
            shutil.copy(made / "ads.bwf", series)
            for name in ("ads.bwx", "ads.bwf", "ads.delta"):
                os.replace(made / name, to / name)

    def configure(self, state="state", files="file: ads.bwf, delta: ads.delta, exact: ads.bwx, public_key: a.key.pub"):
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: 2
filters: [{{name: ads, {files}}}]
access: {{connect_ports: [], deny_ports: [], deny_destinations: []}}
admin: {{address: "127.0.0.1:0", control_socket: control.sock}}
state_dir: {state}
timeouts: {{announce: 0, drain: 1s}}
log: {{file: daemon.log, access: {{file: off}}}}
""")

    def start(self, **environment):
        """Exit status where it ends instead of serving; else nothing."""
        self.log.unlink(missing_ok=True)
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file], cwd=self.folder, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **environment})
        until(lambda: self.process.poll() is not None or (self.log.exists() and "is served:" in self.log.read_text()))
        if self.process.poll() is not None:
            return self.process.returncode
        said = self.log.read_text()
        self.port, self.admin = (int(re.search(rf"{what} 127\.0\.0\.1:(\d+)", said)[1]) for what in ("listening on", "admin on"))
        return None

    def kill(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait(WAIT)
            self.process = None

    def restart(self, **environment):
        self.kill()
        return self.start(**environment)

    def command(self, *words):
        done = subprocess.run([BUILD / "bloomwall", *words, "--config", self.file], cwd=self.folder, capture_output=True, text=True, timeout=WAIT,
                              check=False)
        return done.returncode, done.stdout + done.stderr

    def metrics(self):
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=WAIT).read().decode()
        return {name: float(value) for name, value in re.findall(r"^bloomwall_(\S+) (\S+)$", text, re.M)}

    def reasons(self):
        return {name for name, value in self.metrics().items() if name.startswith("reloads_refused_total") and value}

    def api(self, path):
        with contextlib.closing(UnixConnection(self.folder / "control.sock")) as door:
            door.request("GET", path)
            return json.loads(door.getresponse().read())

    def blocks(self, host):
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT) as to:
            to.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
            return b" 403 " in to.recv(4096).split(b"\r\n")[0]

    def served(self):
        return [host for host in ("base1.test", "delta1.test", "base2.test", "delta2.test") if self.blocks(host)]


# What has become of the files: what breaks them, the reason of the refusal, and the exit status of `check`.
BROKEN = {
    "a base that the delta does not fit": (lambda site: site.keep_only("ads.delta"), {"unfit"}, 1),
    "a base that is missing": (lambda site: site.base.unlink(), {"disk"}, 2),
    "a delta that is missing": (lambda site: site.delta.unlink(), {"disk"}, 2),
    "an exact side that is missing": (lambda site: site.exact.unlink(), {"disk"}, 2),
    "a base with a bit flipped": (lambda site: flip(site.base, -1), {"damaged"}, 1),
    "a header with a bit flipped": (lambda site: flip(site.base, 200), {"damaged"}, 1),
    "a base that is cut": (lambda site: os.truncate(site.base, 5000), {"damaged"}, 1),
    "a base that is empty": (lambda site: os.truncate(site.base, 0), {"damaged"}, 1),
    "an exact side with a bit flipped": (lambda site: flip(site.exact, 5000), {"damaged"}, 1),
    "a delta with a letter changed": (lambda site: site.delta.write_text(site.delta.read_text().replace("delta1.test", "deltb1.test")), {"signature"}, 1),
    "an exact side of another build": (lambda site: site.keep_only("ads.bwf", "ads.delta"), {"unfit"}, 1),
    "files that another key has signed": (lambda site: site.make("base2.test", "delta2.test", key="b.key"), {"signature"}, 1),
    "a folder instead of a base": (lambda site: (site.base.unlink(), site.base.mkdir()), {"disk"}, 2),
}


class Starts(Site):
    def keep_only(self, *names):
        """New files, of which these are the old ones."""
        old = {name: (self.folder / name).read_bytes() for name in names}
        self.make("base2.test", "delta2.test")
        for name, data in old.items():
            (self.folder / name).write_bytes(data)

    def expect_fallback(self, reasons):
        self.assertEqual(self.served(), ["base1.test", "delta1.test"])
        metrics = self.metrics()
        self.assertEqual(metrics['filter_fallback{filter="ads"}'], 1)
        self.assertGreater(metrics['filter_last_good_timestamp_seconds{filter="ads"}'], 0)
        self.assertEqual(self.reasons(), {f'reloads_refused_total{{reason="{reason}"}}' for reason in reasons})
        self.assertEqual(self.api("/api/v1/status")["fallbacks"], "ads")
        self.assertTrue(self.api("/api/v1/filters/ads")["fallback"]["why"])
        told = until(lambda: [line for line in whole_lines(self.log) if "last good files" in line])
        self.assertIn("error", told[0].lower())

    def expect_mended(self, *served):
        self.assertEqual(self.served(), [*served])
        self.assertEqual(self.metrics()['filter_fallback{filter="ads"}'], 0)
        self.assertEqual(self.api("/api/v1/status")["fallbacks"], "")
        self.assertIsNone(self.api("/api/v1/filters/ads")["fallback"])

    def test_last_good_files_serve_where_the_configured_ones_cannot(self):
        for what, (break_it, reasons, status) in BROKEN.items():
            with self.subTest(what):
                self.kill()
                for file in (self.base, self.delta, self.exact):
                    shutil.rmtree(file) if file.is_dir() else file.unlink(missing_ok=True)
                shutil.rmtree(self.folder / "state")
                (self.folder / "state").mkdir()
                self.make("base1.test", "delta1.test")
                self.assertIsNone(self.start())
                self.expect_mended("base1.test", "delta1.test")
                break_it(self)
                for _ in range(2):  # the second start must not take what serves for what is good
                    self.assertIsNone(self.restart(), self.log.read_text())
                    self.expect_fallback(reasons)
                checked, said = self.command("check")
                self.assertEqual(checked, status, said)
                self.assertIn("last good files", said)
                self.assertEqual(self.command("reload")[0], 1)
                self.assertEqual(self.served(), ["base1.test", "delta1.test"])
                found = json.loads(self.command("doctor", "--json")[1])["findings"]
                self.assertTrue([each for each in found if each["grade"] == "wrong" and "last good files are served" in each["what"]], found)
                if self.base.is_dir():
                    self.base.rmdir()
                self.make("base2.test", "delta2.test")
                answer = self.command("reload")
                self.assertEqual(answer[0], 0, answer[1])
                self.expect_mended("base2.test", "delta2.test")

    def test_what_is_older_than_what_was_served(self):
        older = self.delta.read_bytes()
        self.assertIsNone(self.start())
        (self.folder / "added.txt").write_text("more.test\n")
        self.tool("update", self.base, "--delta", self.delta, "--add", self.folder / "added.txt", "--key", self.folder / "a.key")
        self.assertEqual(self.command("reload")[0], 0)
        self.delta.write_bytes(older)
        self.assertIsNone(self.restart())
        self.assertTrue(self.blocks("more.test"), "the newer delta serves")
        self.expect_fallback({"older"})

    def test_the_service_manager_is_told(self):
        self.assertIsNone(self.start())
        self.delta.unlink()
        self.kill()
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(self.folder / "notify"))
            manager.settimeout(WAIT)
            self.assertIsNone(self.start(NOTIFY_SOCKET=str(self.folder / "notify")))
            heard = ""
            while "READY=1" not in heard:
                heard = manager.recv(65536).decode()
        self.assertIn("served from last good files, since their own are refused: ads", heard)

    def test_what_ends_a_start_all_the_same(self):
        flawed = {
            "nothing is kept": lambda: shutil.rmtree(self.folder / "state/last_good"),
            "what is kept is damaged, too": lambda: flip(next((self.folder / "state/last_good/filter.ads").glob("*.bwf")), -1),
            "what is kept has lost its delta": lambda: next((self.folder / "state/last_good/filter.ads").glob("*.delta")).unlink(),
            "the record is no JSON": lambda: (self.folder / "state/last_good/filter.ads/served").write_text("{"),
            "the key is another one now": lambda: shutil.copy(self.folder / "b.key.pub", self.folder / "a.key.pub"),
        }
        key = (self.folder / "a.key.pub").read_bytes()
        for what, spoil in flawed.items():
            with self.subTest(what):
                self.make("base1.test", "delta1.test")
                self.assertIsNone(self.restart())
                self.kill()
                flip(self.base, -1)
                spoil()
                self.assertEqual(self.start(), 1)
                (self.folder / "a.key.pub").write_bytes(key)
        with self.subTest("other files are configured now"):
            self.make("base1.test", "delta1.test")
            self.assertIsNone(self.restart())
            self.kill()
            (self.folder / "other.bwf").write_bytes(b"none")
            self.configure(files="file: other.bwf")
            self.assertEqual(self.start(), 1)
        with self.subTest("there is no state folder"):
            self.configure(state="null")
            self.assertIsNone(self.restart())
            self.assertEqual(self.metrics()['filter_last_good_timestamp_seconds{filter="ads"}'], 0)
            self.kill()
            self.delta.unlink()
            self.assertEqual(self.start(), 2)

    def test_nothing_of_others_is_removed(self):
        other = self.folder / "other"
        (other / "deep").mkdir(parents=True)
        for name in ("photo", "deep/a", "a.bwf"):
            (other / name).write_text("mine")
        kept = self.folder / "state/last_good"
        for what, link in {"a link in place of the folder": kept, "a link in place of a filter's folder": kept / "filter.ads",
                           "a link of a filter that is not configured": kept / "filter.gone", "a name that is no filter's": kept / "mine"}.items():
            with self.subTest(what):
                self.kill()
                shutil.rmtree(kept, ignore_errors=True)
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(other, target_is_directory=True)
                self.assertIsNone(self.start())
                self.assertEqual(self.served(), ["base1.test", "delta1.test"])
                self.assertEqual(sorted(path.name for path in other.rglob("*")), ["a", "a.bwf", "deep", "photo"])
                refused = link in (kept, kept / "filter.ads")
                self.assertEqual("is a link" in self.log.read_text(), refused, self.log.read_text())
                link.unlink()

    def test_deltas_that_differ_in_nothing_but_their_text(self):
        def set_delta(added):
            self.tool("update", self.base, "--delta", self.folder / "new.delta", "--add", self.folder / added)
            self.delta.write_bytes((self.folder / "new.delta").read_bytes())  # the same inode
            os.utime(self.delta, (1, 1))
            (self.folder / "new.delta").unlink()
        self.configure(files="file: ads.bwf, delta: ads.delta")
        (self.folder / "one").write_text("delta1.test\n")
        (self.folder / "two").write_text("delta2.test\n")
        set_delta("one")
        self.assertIsNone(self.start())
        set_delta("two")
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual(self.served(), ["base1.test", "delta2.test"])
        self.delta.unlink()
        self.assertIsNone(self.restart())
        self.assertEqual(self.served(), ["base1.test", "delta2.test"])

    def test_what_is_kept_is_mended(self):
        self.assertIsNone(self.start())
        flip(next((self.folder / "state/last_good/filter.ads").glob("*.bwf")), -1)
        self.assertIsNone(self.restart())
        self.kill()
        flip(self.base, -1)
        self.assertIsNone(self.start())
        self.expect_fallback({"damaged"})

    def test_an_upgrade_is_refused(self):
        self.assertIsNone(self.start())
        flip(self.base, 200)
        status, said = self.command("upgrade")
        self.assertNotEqual(status, 0, said)
        self.expect_mended("base1.test", "delta1.test")

    def test_nothing_is_written_where_nothing_has_changed(self):
        def files():
            return {path: (path.stat().st_ino, path.stat().st_mtime_ns, path.stat().st_ctime_ns)
                    for path in (self.folder / "state/last_good").rglob("*")}
        self.assertIsNone(self.start())
        before = files()
        self.assertEqual({path.suffix for path in before if path.is_file()}, {".bwf", ".bwx", ".delta", ""})
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual(files(), before)
        self.make("base2.test", "delta2.test")
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual({path.suffix for path in files() if path.is_file()}, {".bwf", ".bwx", ".delta", ""})
        self.assertEqual(len(files()), len(before), "what is not needed any more is gone")
        self.configure(files="file: ads.bwf")
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual({path.suffix for path in files() if path.is_file()}, {".bwf", ""})

    def test_killed_at_any_moment_it_has_the_former_files_or_the_new_ones(self):
        dice = random.Random(test_seed())
        pairs = [["base1.test", "delta1.test"], ["base2.test", "delta2.test"]]
        self.assertIsNone(self.start())
        for turn in range(KILLS):
            self.make(*pairs[(turn + 1) % 2])
            self.process.send_signal(signal.SIGHUP)
            threading.Event().wait(dice.uniform(0, 0.15))
            self.kill()
            flip(self.base, 200)
            self.assertIsNone(self.start(), f"turn {turn}: {self.log.read_text()}")
            self.assertIn(self.served(), pairs, f"turn {turn}")
            flip(self.base, 200)


class Reloads(Site):
    entries = ("--entries", "5M", "--kinds", "S=1")  # some 20 MB

    def read_by_reload(self):
        """Octets, by system calls: each verification and each copy reads."""
        def count():
            return int(re.search(r"^rchar: (\d+)", pathlib.Path(f"/proc/{self.process.pid}/io").read_text(), re.M)[1])
        before = count()
        status, said = self.command("reload")
        self.assertEqual(status, 0, said)
        return count() - before

    def test_a_file_is_known_by_its_header(self):
        self.assertIsNone(self.start())
        size = self.base.stat().st_size
        self.assertGreater(size, 10_000_000)
        other = self.folder / "other.bwf"

        def copied():
            shutil.copy(self.base, other)
            os.replace(other, self.base)

        same = {
            "a hard link": lambda: os.link(self.base, other),
            "another link removed": other.unlink,
            "a copy renamed over it": copied,
            "moved away and back": lambda: (self.base.rename(other), other.rename(self.base)),
            "another mode": lambda: self.base.chmod(0o640),
            "a symbolic link to it": lambda: (self.base.rename(other), self.base.symlink_to(other)),
        }
        for what, change in same.items():
            with self.subTest(what):
                change()
                self.assertLess(self.read_by_reload(), size / 10)
                self.assertEqual(self.served(), ["base1.test", "delta1.test"])
        flip(other, -1)  # in place: its header says what it was
        status, said = self.command("reload")
        self.assertEqual(status, 1, said)
        self.assertEqual(self.reasons(), {'reloads_refused_total{reason="damaged"}'})
        self.make("base2.test", "delta2.test")
        self.assertGreater(self.read_by_reload(), size)
        self.assertEqual(self.served(), ["base2.test", "delta2.test"])

    def test_refusals_name_their_reason(self):
        self.assertIsNone(self.start())
        self.assertEqual(self.reasons(), set())
        good = {file: file.read_bytes() for file in (self.base, self.delta, self.exact, self.file)}
        spoiled = {
            "configuration": lambda: self.file.write_text(self.file.read_text() + "nosuchkey: 1\n"),
            "disk": self.delta.unlink,
            "damaged": lambda: flip(self.base, -1),
            "signature": lambda: self.delta.write_bytes(self.delta.read_bytes().replace(b"delta1.test", b"deltb1.test")),
            "unfit": lambda: self.exact.write_bytes((self.folder / "more/ads.bwx").read_bytes()),
        }
        (self.folder / "more").mkdir()
        self.make("base2.test", "delta2.test", folder=self.folder / "more")
        for count, (reason, spoil) in enumerate(spoiled.items(), 1):
            spoil()
            self.assertNotEqual(self.command("reload")[0], 0, reason)
            self.assertIn(f'reloads_refused_total{{reason="{reason}"}}', self.reasons())
            self.assertEqual(len(self.reasons()), count, reason)
            self.assertEqual(self.api("/api/v1/reloads")["items"][0]["reasons"], [reason])
            for file, data in good.items():
                file.write_bytes(data)
            self.assertEqual(self.command("reload")[0], 0, reason)


if __name__ == "__main__":
    main()
