#!/usr/bin/env python3
"""Schedules change under the running program: its clock is set to times near their changes, and nothing else is done to it.

Usage: schedule_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from clock_site import Origin, Proxy, SteppedProxy, utc
from interception_site import BUILD, WAIT, until, whole_lines

# Schedules by the hosts that they block.
WEEK = {
    "weekend": "{name: weekend, times: ['sat,sun']}",
    "friday": "{name: friday, times: ['fri 22:00-06:00']}",
    "skipped": "{name: skipped, times: ['02:00-03:00']}",
    "after": "{name: after, times: ['03:00-04:00']}",
    "twice": "{name: twice, times: ['02:15-02:45']}",
    "lessons": "{name: lessons, times: ['mon-fri 08:00-12:00'], except: [holidays]}",
    "office": "{name: office, times: ['mon-fri 08:00-12:00']}",
}
# When (UTC; in Berlin it is an hour later, in summer two), and what is blocked before and from then on.
WALK = [
    ("midnight", "2026-11-27 23:00:00", {"friday"}, {"friday", "weekend"}),
    ("the end of what began on the day before", "2026-11-28 05:00:00", {"friday", "weekend"}, {"weekend"}),
    ("the hour that is skipped", "2026-03-29 01:00:00", {"weekend"}, {"weekend", "after"}),
    ("the hour that comes twice, first", "2026-10-25 00:15:00", {"weekend", "skipped"}, {"weekend", "skipped", "twice"}),
    ("its end", "2026-10-25 00:45:00", {"weekend", "skipped", "twice"}, {"weekend", "skipped"}),
    ("the same hour again", "2026-10-25 01:15:00", {"weekend", "skipped"}, {"weekend", "skipped", "twice"}),
    ("its end again", "2026-10-25 01:45:00", {"weekend", "skipped", "twice"}, {"weekend", "skipped"}),
    ("the hour after", "2026-10-25 02:00:00", {"weekend", "skipped"}, {"weekend", "after"}),
    ("the last day of school", "2026-12-18 07:00:00", set(), {"lessons", "office"}),
    ("a holiday", "2026-12-21 07:00:00", set(), {"office"}),
    ("the last holiday", "2027-01-08 07:00:00", set(), {"office"}),
    ("school again", "2027-01-11 07:00:00", set(), {"lessons", "office"}),
    ("the end of lessons", "2027-01-11 11:00:00", {"lessons", "office"}, set()),
    ("a step backward, by which lessons begin anew", "2026-12-18 11:00:00", {"lessons", "office"}, set()),
]


class Schedules(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.origin = Origin()
        self.games, self.other = (f"{name}.test:{self.origin.port}" for name in ("games", "other"))
        (self.folder / "games.txt").write_text("games.test\n")
        subprocess.run([BUILD / "bloomwall-filter", "build", "-o", self.folder / "games.bwf", self.folder / "games.txt"],
                       check=True, capture_output=True)
        (self.folder / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
time_zone: UTC
schedules: [{{name: lessons, times: [mon-fri 08:00-12:00]}}]
filters: [{{name: games, file: games.bwf}}]
groups: [{{name: pupils, clients: [127.0.0.1], filters: {{games: {{lessons: block, otherwise: "off"}}}}}}]
access: {{connect_ports: [], deny_destinations: [], opaque_tunnels: allow}}
dns: {{hosts: {{games.test: 127.0.0.1, other.test: 127.0.0.1}}}}
admin: {{address: null, control_socket: null}}
state_dir: null
log: {{file: daemon.log, access: {{file: access.log}}}}
""")

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_its_end_lets_requests_pass(self):
        with Proxy(self.folder, "2026-11-23 11:59:57") as proxy:
            self.assertEqual(proxy.get(self.games), 403)
            self.assertEqual(proxy.get(self.other), 200)
            until(lambda: proxy.get(self.games) == 200)
        self.assertEqual(proxy.status, 0)
        said = (self.folder / "daemon.log").read_text()
        self.assertIn("schedules: pupils: games off", said)
        self.assertNotIn("reload", said)

    def test_its_begin_ends_tunnels_to_what_is_blocked_now(self):
        with Proxy(self.folder, "2026-11-23 07:59:57") as proxy:
            games, other = proxy.tunnel(self.games), proxy.tunnel(self.other)
            for client in (games, other):
                client.sendall(b"\x01hello")
                self.assertEqual(client.recv(100), b"\x01hello")
            self.assertEqual(games.recv(100), b"")
            other.sendall(b"\x01still here")
            self.assertEqual(other.recv(100), b"\x01still here")
            until(lambda: proxy.get(self.games) == 403)  # by each worker, which need not be the one that had the tunnel
        ended = until(lambda: next((line for line in map(json.loads, whole_lines(self.folder / "access.log"))
                                    if line["method"] == "CONNECT" and line.get("filter")), None))
        self.assertEqual((ended["group"], ended["filter"], ended["decision"]), ("pupils", "games", "blocked"))
        self.assertLess(ended["duration_ms"], 8000)



    def test_a_walk_through_the_year(self):
        for host in WEEK:
            (self.folder / f"{host}.txt").write_text(f"{host}.test\n")
            subprocess.run([BUILD / "bloomwall-filter", "build", "-o", self.folder / f"{host}.bwf", self.folder / f"{host}.txt"],
                           check=True, capture_output=True)
        actions = ", ".join(f'{host}: {{{host}: block, otherwise: "off"}}' for host in WEEK)
        (self.folder / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
time_zone: Europe/Berlin
calendars: [{{name: holidays, dates: [2026-12-21..2027-01-08]}}]
schedules: [{", ".join(WEEK.values())}]
filters: [{", ".join(f"{{name: {host}, file: {host}.bwf}}" for host in WEEK)}]
groups: [{{name: all, clients: [127.0.0.1], filters: {{{actions}}}}}]
access: {{connect_ports: [], deny_destinations: []}}
dns: {{hosts: {{{", ".join(f"{host}.test: 127.0.0.1" for host in WEEK)}}}}}
admin: {{address: null, control_socket: null}}
state_dir: null
log: {{file: daemon.log, access: {{file: "off"}}}}
""")

        def blocked():
            return {host for host in WEEK if proxy.get(f"{host}.test:{self.origin.port}") == 403}

        with SteppedProxy(self.folder, "2026-11-27 12:00:00") as proxy:
            for what, moment, before, after in WALK:
                with self.subTest(what):
                    proxy.step_to(moment, ahead=60)
                    until(lambda: blocked() == before)
                    proxy.step_to(moment, ahead=1)
                    while (seen := blocked()) == before and proxy.now() < utc(moment) + WAIT:
                        pass
                    self.assertLessEqual(seen, before | after, "nothing else begins")
                    until(lambda: blocked() == after)
                    self.assertGreaterEqual(proxy.now(), utc(moment))
                    self.assertLess(proxy.now(), utc(moment) + WAIT, "it changes at once")
        self.assertEqual(proxy.status, 0)
        self.assertNotRegex((self.folder / "daemon.log").read_text(), "reload| error |warning (?!start: limits|the clock is )")


if __name__ == "__main__":
    unittest.main(verbosity=2)
