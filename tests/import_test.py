#!/usr/bin/env python3
"""`bloomwall import`: the configurations that the manuals of Squid and ufdbGuard show become filters, groups and schedules which
decide as the originals do: imported, built by `bloomwall update`, accepted by `bloomwall check`, asked by `bloomwall explain`.

Usage: import_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from interception_site import BUILD, main
from originals import SQUID, UFDBGUARD, put_lists

LESSON, EVENING = "2026-11-23T09:10", "2026-11-23T20:00"


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_program(self, *words, status=0):
        done = subprocess.run([BUILD / "bloomwall", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout


class Import(Folder):
    def taken_over(self, *texts, status=0):
        """Imports these files, builds the filters in the folder instead of /var/lib, and returns the report."""
        names = []
        for number, text in enumerate(texts):
            names.append(self.folder / f"original-{number}.conf")
            names[-1].write_text(text.format(folder=self.folder))
        report = self.run_program("import", *names, "--out", self.folder / "new", "--json", status=status)
        self.configuration = self.folder / "new/bloomwall.yaml"
        text = self.configuration.read_text().replace("/var/lib/bloomwall", str(self.folder / "filters"))
        text += f"\nstate_dir: null\nadmin: {{address: null, control_socket: null}}\nupdate: {{folder: {self.folder}/copies, most_error: 1e-2}}\ntime_zone: UTC\n"
        (self.folder / "filters").mkdir(exist_ok=True)
        self.configuration.write_text(text)
        self.run_program("update", "--config", self.configuration)
        self.run_program("check", "--config", self.configuration)
        return [json.loads(line) for line in report.splitlines()]

    def decides(self, url, client, at=LESSON):
        words = ["explain", url, "--config", self.configuration, "--client", client, "--at", at, "--json"]
        done = subprocess.run([BUILD / "bloomwall", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return "allowed" if done.returncode == 0 else "blocked"

    def check_table(self, rows):
        for url, client, at, wanted in rows:
            with self.subTest(url=url, client=client, at=at):
                self.assertEqual(self.decides(url, client, at), wanted)

    def test_squid(self):
        (self.folder / "more-social").write_text("# more of them\n.chat.test\nonly.test\n")
        report = self.taken_over(SQUID)
        self.assertEqual({line["outcome"] for line in report} - {"taken", "not needed", "nearly"}, set())
        self.assertIn('clients: ["10.0.0.0/8", "127.0.0.0/8", "::1/128", "fc00::/7"]', self.configuration.read_text())
        self.check_table([
            ("http://www.social.test/x", "10.2.0.1", LESSON, "blocked"),
            ("http://www.social.test/x", "10.2.0.1", EVENING, "allowed"),
            ("http://www.social.test/x", "10.1.0.1", LESSON, "allowed"),
            ("http://learn.social.test/x", "10.2.0.1", LESSON, "allowed"),
            ("http://a.chat.test/", "10.2.0.1", LESSON, "blocked"),
            ("http://only.test/", "10.2.0.1", LESSON, "blocked"),
            ("http://www.only.test/", "10.2.0.1", LESSON, "allowed"),
            ("http://plain.test/", "10.2.0.1", LESSON, "allowed"),
        ])

    def test_ufdbguard(self):
        put_lists(self.folder / "db")
        self.taken_over(UFDBGUARD)
        self.check_table([
            ("http://www.adult.test/", "10.1.1.1", LESSON, "blocked"),
            ("http://good.adult.test/", "10.1.1.1", LESSON, "allowed"),
            ("http://news.test/", "10.1.1.1", LESSON, "allowed"),
            ("http://news.test/", "10.1.7.7", LESSON, "blocked"),
            ("http://news.test/", "10.1.7.7", EVENING, "allowed"),
            ("http://mixed.test/adult/x", "10.1.7.7", EVENING, "blocked"),
            ("http://mixed.test/other", "10.1.7.7", EVENING, "allowed"),
            ("http://plain.test/", "10.9.9.9", EVENING, "blocked"),
            ("http://good.adult.test/", "10.9.9.9", EVENING, "allowed"),
        ])

    def test_both_together(self):
        put_lists(self.folder / "db")
        (self.folder / "more-social").write_text(".chat.test\n")
        self.taken_over(SQUID, UFDBGUARD)
        self.check_table([
            ("http://www.social.test/", "10.2.0.1", LESSON, "blocked"),
            ("http://news.test/", "10.1.7.7", LESSON, "blocked"),
            ("http://news.test/", "10.1.7.7", EVENING, "allowed"),
        ])

    def test_what_squid_bears_is_served(self):
        """Empty lists, names that no server has, top-level domains and values that we refuse: it starts all the same."""
        (self.folder / "empty").write_text("# nothing yet\n")
        (self.folder / "odd").write_text(".odd.test\n-edge.test\nhttp://odd.test/x\n*.star.test\nintranet\n")
        report = self.taken_over("""
acl net src 10.0.0.0/8
acl white dstdomain "{folder}/empty"
acl ~ dstdomain "{folder}/odd" .zip
acl late time SMTWHFA 20:00-23:59
acl late time 00:00-05:59
acl games dstdomain .games.test
http_access allow white
http_access deny ~
http_access deny games late
http_access allow net
http_access deny all
cache_mgr webmaster
read_timeout 365 days
""")
        self.assertEqual([line["line"] for line in report if line["outcome"].startswith("not")], [13, 14])
        self.check_table([
            ("http://www.odd.test/", "10.0.0.1", LESSON, "blocked"),
            ("http://intranet/", "10.0.0.1", LESSON, "blocked"),
            ("http://invoice.zip/", "10.0.0.1", LESSON, "blocked"),
            ("http://games.test/", "10.0.0.1", "2026-11-23T23:59:30", "blocked"),
            ("http://games.test/", "10.0.0.1", LESSON, "allowed"),
        ])

    def test_a_lost_refusal_is_said(self):
        report = self.taken_over("acl net src 10.0.0.0/8\nacl films urlpath_regex -i \\.mp4$\nhttp_access deny films\n"
                                 "http_access allow net\nhttp_access deny all\n", status=1)
        self.assertEqual([line["line"] for line in report if line["outcome"] == "not (deny lost)"], [3])


class Page(Folder):
    """docs/migration.md: what its examples become is what its tables say."""

    def rows(self, heading):
        """(example, what it becomes, how it is taken) of the table whose first column has this heading."""
        text = (pathlib.Path(__file__).resolve().parent.parent / "docs/migration.md").read_text()
        table = text[text.index(f"\n| {heading}"):]
        rows = re.findall(r"^\| `([^`]*)` \| ([^|]*?) \|(?: ([^|]*?) \|)?$", table[:table.index("\n\n")], re.M)
        self.assertGreater(len(rows), 5)
        return rows

    def says(self, written, what):
        """Each key that it names is written: the last word of it, and the section."""
        for key in re.findall(r"`([a-z_]+(?:\[\])?(?:\.[a-z_]+)*)`", what):
            for word in (key.split(".")[-1], key.split(".")[0].removesuffix("[]")):
                self.assertTrue(re.search(rf"(^|[ {{]){word.removesuffix('[]')}:", written, re.M), f"{key}\n{written}")

    def test_squid(self):
        rows = self.rows("squid.conf, for example")
        original = self.folder / "squid.conf"
        original.write_text("".join(f"{example}\n" for example, _, _ in rows))
        report = [json.loads(line) for line in self.run_program("import", original, "--out", self.folder / "new", "--json").splitlines()]
        self.assertEqual([(line["text"], line["outcome"]) for line in report], [(example, taken) for example, _, taken in rows])
        written = (self.folder / "new/bloomwall.yaml").read_text()
        for _, what, _ in rows:
            self.says(written, what)

    def test_squidguard(self):
        rows = self.rows("squidGuard.conf, for example")
        for name in ("games/domains", "sites/urls"):
            (self.folder / "db" / name).parent.mkdir(parents=True)
            (self.folder / "db" / name).write_text("games.test\n" if "domains" in name else "sites.test/bad\n")
        original = self.folder / "squidGuard.conf"
        original.write_text("".join(f"{example}\n" for example, _, _ in rows).replace("/var/lib/ufdbguard/blacklists", f"{self.folder}/db"))
        report = self.run_program("import", original, "--out", self.folder / "new", "--json")
        self.assertEqual({json.loads(line)["outcome"] for line in report.splitlines()}, {"taken"}, report)
        written = (self.folder / "new/bloomwall.yaml").read_text()
        for _, what, _ in rows:
            self.says(written, what)


if __name__ == "__main__":
    main()
