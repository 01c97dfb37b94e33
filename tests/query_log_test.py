#!/usr/bin/env python3
"""The query log through the real program: what is recorded and of whom, days that pass, search, live streams and figures.

Usage: query_log_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

from clock_site import Origin, Proxy, SteppedProxy
from interception_site import BUILD, SANITIZED, WAIT, until, whole_lines

DAY = "2026-11-23"


class QueryLog(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bloomwall-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.origin = Origin()
        self.ads, self.other = (f"{name}.test:{self.origin.port}" for name in ("ads", "other"))
        (self.folder / "ads.txt").write_text("ads.test\n")
        subprocess.run([BUILD / "bloomwall-filter", "build", "-o", self.folder / "ads.bwf", self.folder / "ads.txt"],
                       check=True, capture_output=True)

    def configure(self, query_log, groups="[]"):
        (self.folder / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: 2
filters: [{{name: ads, file: ads.bwf}}]
groups: {groups}
access: {{connect_ports: [], deny_destinations: [], deny_ports: [1], opaque_tunnels: allow}}
dns: {{hosts: {{ads.test: 127.0.0.1, other.test: 127.0.0.1, bank.test: 127.0.0.1}}}}
timeouts: {{announce: 0, drain: 1s}}
admin: {{address: null, control_socket: control.sock}}
state_dir: state
query_log: {query_log}
log: {{file: daemon.log, access: {{file: access.log}}}}
""")

    def start(self, query_log="{}", groups="[]", clock=f"{DAY} 12:00:00"):
        self.configure(query_log, groups)
        proxy = Proxy(self.folder, None) if SANITIZED else SteppedProxy(self.folder, clock)
        proxy.__enter__()
        self.addCleanup(proxy.__exit__)
        return proxy

    def open(self, path):
        """The answer to a GET over the unix socket, its head read."""
        connection = http.client.HTTPConnection("localhost", timeout=WAIT)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(WAIT)
        connection.sock.connect(str(self.folder / "control.sock"))
        connection.request("GET", "/api/v1" + path)
        self.addCleanup(connection.close)
        return connection.getresponse()

    def ask(self, path):
        answer = self.open(path)
        self.assertEqual(answer.status, 200, path)
        return json.loads(answer.read())

    def rows(self, query="", least=0):
        """What GET /requests gives, once there are so many."""
        found = []

        def look():
            found[:] = self.ask(f"/requests?{query}")["items"]
            return len(found) >= least

        until(look)
        return found

    def access_lines(self, wanted):
        """The access log, once it has so many lines."""
        log = self.folder / "access.log"
        lines = until(lambda: len(found := whole_lines(log)) >= wanted and found)
        self.assertEqual(len(lines), wanted)
        return [json.loads(line) for line in lines]

    def names(self):
        return sorted(path.name for path in (self.folder / "state" / "log").glob("*.db"))

    def command(self, *words):
        return subprocess.run([BUILD / "bloomwall", *words, "--config", self.folder / "bloomwall.yaml"], capture_output=True, text=True)

    def test_records_what_was_blocked_and_no_more(self):
        proxy = self.start()
        self.assertEqual((proxy.get(self.other), proxy.get(self.ads), proxy.get("other.test:1")), (200, 403, 403))
        row, = self.rows(least=1)
        lines = self.access_lines(3)
        line, = (line for line in lines if line["decision"] == "blocked")
        self.assertEqual((row["id"], row["url"], row["client"]), (line["id"], line["url"], "127.0.0.1"))
        self.assertEqual((row["decision"], row["filter"], row["expression"], row["status"]), ("blocked", "ads", "S ads.test", 403))
        self.assertEqual((row["bytes_sent"], row["bytes_received"]), (line["bytes_sent"], line["bytes_received"]))

    def test_records_all_and_counts_as_the_access_log_does(self):
        proxy = self.start("{record: all}")
        for i in range(20):
            proxy.get(self.ads if i % 4 == 0 else self.other)
        proxy.get("other.test:1")
        proxy.tunnel(self.other).close()
        rows = self.rows(least=22)
        lines = self.access_lines(22)
        told = lambda each, url: (each["decision"], each[url], each["status"])
        self.assertEqual(sorted(told(row, "url") for row in rows), sorted(told(line, "url") for line in lines))
        counters = self.ask("/counters")
        self.assertEqual((counters["requests"], counters["blocked"], counters["errors"]), (22, 5, 0))
        self.assertEqual(sum(step["requests"] for step in self.ask("/history")["items"]), 22)
        self.assertEqual(sum(step["blocked"] for step in self.ask("/history?span=24h")["items"]), 5)
        tops = self.ask("/tops")
        self.assertEqual([tops[kind] for kind in ("hosts", "filters", "groups", "clients")],
                         [[{"name": name, "blocked": 5, "error": 0}] if name else [] for name in ("ads.test", "ads", None, "127.0.0.1")])
        status = self.ask("/status")["query_log"]
        self.assertEqual((status["record"], status["written"], status["dropped"]), ("all", 22, 0))
        self.assertGreater(status["bytes"], 4096)
        with sqlite3.connect(self.folder / "state" / "log" / self.names()[0]) as database:
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_records_nothing_where_it_is_off(self):
        proxy = self.start("{record: off}")
        proxy.get(self.ads)
        until(lambda: self.ask("/counters")["blocked"] == 1)
        self.assertEqual(self.ask("/status")["query_log"]["written"], 0)
        self.assertEqual(self.names(), [])
        self.assertEqual(self.ask("/requests")["items"], [])

    def test_a_reload_begins_and_ends_it(self):
        proxy = self.start("{record: off}")
        proxy.get(self.ads)
        self.configure("{record: all, folder: elsewhere, clients: none, exclude: [bank.test]}")
        self.assertEqual(self.command("reload").returncode, 0)
        proxy.get(f"bank.test:{self.origin.port}")
        proxy.get(self.other)
        row, = self.rows(least=1)
        self.assertEqual((row["host"], row["client"]), ("other.test", None))
        self.assertEqual([self.open(f"/requests?{who}").status for who in ("client=127.0.0.1", "user=anna", "host=other")], [400, 400, 200])
        self.assertTrue(list((self.folder / "elsewhere").glob("*.db")))
        self.configure("{record: off, folder: elsewhere}")
        self.assertEqual(self.command("reload").returncode, 0)
        proxy.get(self.ads)
        until(lambda: self.ask("/counters")["blocked"] == 2)
        self.assertEqual(self.ask("/status")["query_log"]["written"], 1)

    def test_groups_are_recorded_as_they_say(self):
        groups = "[{name: staff, clients: [127.0.0.2], log: counted}, {name: pupils, clients: [127.0.0.3], log: blocked}]"
        proxy = self.start("{record: all, clients: network, queries: strip}", groups)
        for client in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            proxy.get(self.ads, client)
            proxy.get(self.other, client)
        with proxy.connect("127.0.0.4") as connection:
            connection.sendall(f"GET http://{self.other}/?q=secret HTTP/1.1\r\nHost: {self.other}\r\n\r\n".encode())
            self.assertIn(b" 200 ", connection.recv(65536))
        rows = self.rows(least=4)
        self.assertEqual(sorted((row["group"], row["host"]) for row in rows),
                         [("default", "ads.test"), ("default", "other.test"), ("default", "other.test"), ("pupils", "ads.test")])
        self.assertEqual({row["client"] for row in rows}, {"127.0.0.0"})
        self.assertNotIn("secret", json.dumps(rows))
        for client in ("127.0.0.4", "127.0.0.0"):
            self.assertEqual(len(self.rows(f"client={client}")), 4, f"as {client} stands in rows")
            self.assertEqual(len(self.command("log", "--client", client).stdout.splitlines()), 4)
        self.assertEqual(self.rows("client=127.0.9.4"), [])
        self.assertEqual(self.open("/requests?user=anna").status, 400, "none are stored")
        told = self.command("log", "--user", "anna")
        self.assertEqual((told.returncode, "query_log.clients is network" in told.stderr), (1, True), told)
        tops = self.ask("/tops")
        self.assertEqual(tops["clients"], [{"name": "127.0.0.0", "blocked": 2, "error": 0}], "of staff nothing but counts")
        self.assertEqual(sorted(row["name"] for row in tops["groups"]), ["default", "pupils", "staff"])

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_days_pass(self):
        proxy = self.start("{clients: keyed, keep: 2d}")
        seen = []
        for day in range(23, 28):
            proxy.step_to(f"2026-11-{day} 12:00:00")
            until(lambda: proxy.get(self.ads) == 403 and f"2026-11-{day}.db" in self.names())
            seen.append(self.rows(f"since=2026-11-{day}T00:00:00Z", least=1)[0]["client"])
        self.assertEqual(self.names(), ["2026-11-25.db", "2026-11-26.db", "2026-11-27.db"])
        self.assertEqual(len(set(seen)), 5, "a pseudonym of two days")
        self.assertEqual([self.open(f"/requests?client={who}").status for who in ("127.0.0.1", seen[-1])], [400, 200])
        self.assertEqual({row["client"] for row in self.rows(f"client={seen[-1]}", least=1)}, {seen[-1]})
        for pseudonym in seen:
            self.assertRegex(pseudonym, "^[0-9a-f]{16}$")
        for kept in (self.folder / "state" / "log").iterdir():
            self.assertNotIn(b"127.0.0.1", kept.read_bytes())
        newest = [row["at"][:10] for row in self.rows()]
        self.assertEqual(newest, sorted(newest, reverse=True))

    def test_searches(self):
        proxy = self.start("{record: all}")
        for i in range(5):
            proxy.get(self.ads if i == 2 else self.other, f"127.0.0.{i + 1}")
        rows = self.rows(least=5)
        blocked, = (row for row in rows if row["decision"] == "blocked")
        for query in ("host=DS.T", "filter=ads", "decision=blocked", "client=127.0.0.3", f"id={blocked['id']}"):
            self.assertEqual(self.rows(query), [blocked], query)
        for query in ("host=nowhere", "filter=nowhere", "client=127.0.0", "since=2100-01-01T00:00:00Z", "path=/nowhere", "user=anna"):
            self.assertEqual(self.ask("/requests?" + query)["items"], [], query)
        for query in ("decision=Blocked", "since=yesterday", "cursor=1", "cursor=2026-02-30.1"):
            self.assertEqual(self.open("/requests?" + query).status, 400, query)
        page = self.ask("/requests?path=/")
        self.assertEqual((len(page["items"]), page["complete"], page["next"], page["unreadable"]), (5, True, None, []))
        self.assertEqual(self.ask(f"/requests?cursor={rows[2]['at'][:10]}.3")["items"], rows[3:])

    def says(self, pattern):
        """The daemon's log does; its thread writes a line a little later than the event is seen elsewhere."""
        until(lambda: re.search(pattern, (self.folder / "daemon.log").read_text()))

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_a_damaged_file_is_set_aside(self):
        (self.folder / "state" / "log").mkdir(parents=True)
        damaged = self.folder / "state" / "log" / f"{DAY}.db"
        proxy = self.start()
        damaged.write_bytes(b"no database at all" * 1000)
        proxy.get(self.ads)
        self.rows("host=ads", least=1)
        self.assertEqual(self.ask("/requests")["unreadable"], [f"{DAY}.damaged"])
        self.says("a new one begins")

    def test_files_that_somebody_disturbs_lose_what_they_held_and_no_more(self):
        proxy = self.start()
        proxy.get(self.ads, "127.0.1.9")
        self.rows(least=1)
        [file] = (self.folder / "state" / "log").glob("*.db")  # of today under a sanitizer, where no clock is set
        disturbances = (lambda: file.with_suffix(".db-wal").unlink(), file.unlink, lambda: file.write_bytes(b""),
                        lambda: file.write_bytes(b"no database at all" * 1000), lambda: shutil.rmtree(file.parent))
        for number, disturb in enumerate(disturbances):
            for client in (f"127.0.1.{number}", f"127.0.2.{number}"):
                proxy.get(self.ads, client)
                self.rows(f"client={client}", least=1)
                if client.startswith("127.0.1."):
                    disturb()

    def ask_often(self, proxy, times, octets=1900):
        """So many blocked requests for long addresses, on one connection. Each is answered within WAIT, however full the log is:
        one that waited for room in it would wait for ever."""
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=WAIT)
        for i in range(times):
            connection.request("GET", f"http://{self.ads}/{i}/{'x' * octets}")
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 403)
        connection.close()

    def kept(self):
        """Octets of all files."""
        return sum(file.stat().st_size for file in (self.folder / "state" / "log").iterdir())

    def counted(self, least):
        """The log's own figures, once it is done with so many rows."""
        def look():
            log = self.ask("/status")["query_log"]
            return sum(log[name] for name in ("written", "dropped")) >= least and log
        return until(look)

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_all_days_stay_below_their_size(self):  # QLG-002
        proxy, most, asked = self.start("{keep_size: 4MiB}"), 4 << 20, 0
        for day in range(23, 27):
            proxy.step_to(f"2026-11-{day} 12:00:00")
            self.ask_often(proxy, 500)
            asked += 500
            self.assertEqual(self.counted(asked)["written"], asked)
            self.assertLessEqual(self.kept(), most)
        self.assertEqual(self.names()[-1], "2026-11-26.db")
        self.assertLess(len(self.names()), 4, "whole days go")
        self.ask_often(proxy, 3000)
        figures = self.counted(asked + 3000)
        self.assertGreater(figures["dropped"], 0)
        self.assertEqual(self.names(), ["2026-11-26.db"])
        self.assertLessEqual(self.kept(), most)
        proxy.step_to("2026-11-27 12:00:00")
        proxy.get(self.ads, "127.0.0.7")
        self.rows("client=127.0.0.7", least=1)
        self.assertEqual(self.names()[-1], "2026-11-27.db")

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_a_clock_that_was_ahead_leaves_room_for_today(self):
        proxy = self.start("{keep_size: 4MiB}", clock="2027-06-01 12:00:00")
        self.ask_often(proxy, 3000)
        self.assertGreater(self.counted(3000)["dropped"], 0)
        proxy.step_to(f"{DAY} 12:00:00")
        proxy.get(self.ads, "127.0.0.7")
        self.rows("client=127.0.0.7", least=1)
        self.assertEqual(self.names(), [f"{DAY}.db"])

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_a_clock_that_steps_back_loses_nothing(self):
        proxy = self.start()
        for number, clock in enumerate((f"{DAY} 12:00:00", f"{DAY} 11:00:00", "2026-11-22 23:59:58", f"{DAY} 11:30:00"), 1):
            proxy.step_to(clock)
            proxy.get(self.ads, f"127.0.0.{number}")
            self.rows(f"client=127.0.0.{number}", least=1)
        self.assertEqual({row["client"] for row in self.rows()}, {f"127.0.0.{number}" for number in range(1, 5)})
        self.assertEqual(self.names(), ["2026-11-22.db", f"{DAY}.db"])

    def test_a_full_disk_costs_rows_and_no_requests(self):
        if os.getuid() != 0:
            self.skipTest("only root can make a disk that is full")
        place = self.folder / "state" / "log"
        place.mkdir(parents=True)
        self.configure("{}")
        proxy = Proxy(self.folder, None)
        proxy.within = ("unshare", "-m", "sh", "-c", f'mount -t tmpfs -o size=512k none "{place}" && exec "$@"', "sh")
        proxy.__enter__()
        self.addCleanup(proxy.__exit__)
        self.ask_often(proxy, 1000)
        figures = self.counted(1000)
        self.assertGreater(figures["dropped"], 0)
        self.says("requests are not recorded")
        subprocess.run(["nsenter", "-t", str(proxy.process.pid), "-m", "mount", "-o", "remount,size=64m", place], check=True)
        proxy.get(self.ads, "127.0.0.7")
        self.rows("client=127.0.0.7", least=1)
        self.says("recorded again; [1-9][0-9]* were not")
        self.assertEqual(self.ask("/requests")["unreadable"], [])

    def events(self, stream, wanted, most=1000):
        """Events until there are so many requests."""
        found, kind = [], None
        for _ in range(most):
            line = stream.readline().decode().rstrip("\n")
            if line.startswith("event: "):
                kind = line.removeprefix("event: ")
            elif line.startswith("data: "):
                found.append((kind, json.loads(line.removeprefix("data: "))))
                if sum(kind == "request" for kind, _ in found) >= wanted:
                    return found
        raise AssertionError(f"only {found}")

    def test_streams_requests_as_they_end(self):
        proxy = self.start("{record: off}")
        all_of_them, blocked = self.open("/stream"), self.open("/stream?decision=blocked")
        self.assertEqual(all_of_them.getheader("Content-Type"), "text/event-stream")
        for url, host in ((self.other, "other.test"), (self.ads, "ads.test")):  # one after the other: workers tell of theirs at any time
            proxy.get(url)
            self.assertEqual([event["host"] for _, event in self.events(all_of_them, 1)], [host])
        self.assertEqual([event["host"] for _, event in self.events(blocked, 1)], ["ads.test"])
        self.assertEqual(self.names(), [])

    def test_streams_no_more_than_people_can_read(self):
        proxy = self.start("{record: off}")
        stream = self.open("/stream")
        threads = [threading.Thread(target=lambda: [proxy.get(self.other) for _ in range(60)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        shown = skipped = 0
        while shown + skipped < 240:
            for kind, event in self.events(stream, 1):
                shown += kind == "request"
                skipped += event["requests"] if kind == "skipped" else 0
            if not any(thread.is_alive() for thread in threads):
                proxy.get(self.other)  # what was skipped last is told with the next one
        self.assertLess(shown, 240)
        self.assertGreater(skipped, 0)

    def test_has_eight_streams_and_takes_another_when_one_has_gone(self):
        self.start()
        streams = [self.open("/stream") for _ in range(8)]
        self.assertEqual(self.open("/stream").status, 503)
        streams[0].close()
        until(lambda: self.open("/stream").status == 200)

    @unittest.skipIf(SANITIZED, "a sanitizer comes before every other library")
    def test_a_file_that_cannot_be_read_is_named_by_the_command_on_whichever_page(self):
        (self.folder / "state" / "log").mkdir(parents=True)
        (self.folder / "state" / "log" / "2026-11-22.db").write_bytes(b"no database at all" * 1000)
        proxy = self.start()
        self.ask_often(proxy, 450, octets=1)
        until(lambda: self.ask("/status")["query_log"]["written"] == 450)
        done = self.command("log")
        self.assertEqual((done.returncode, len(done.stdout.splitlines())), (0, 450), done.stderr)
        self.assertEqual(done.stderr, "bloomwall: 2026-11-22.db cannot be read\n")

    def test_a_command_says_where_a_search_does_not_get_on(self):
        """As where rows are so many that none is found in the time of a question: the answer is to go on where it began."""
        self.configure("{}")
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
            listener.bind(str(self.folder / "slow.sock"))
            listener.listen()

            def answer():
                body = b'{"items":[],"unreadable":[],"next":"5"}'
                for _ in range(2):
                    with contextlib.closing(listener.accept()[0]) as client:
                        while b"\r\n\r\n" not in client.recv(65536):
                            pass
                        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                                       % (len(body), body))
            thread = threading.Thread(target=answer)
            thread.start()
            done = subprocess.run([BUILD / "bloomwall", "log", "--config", self.folder / "bloomwall.yaml", "--socket", self.folder / "slow.sock"],
                                  capture_output=True, text=True, timeout=WAIT)
            thread.join(WAIT)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("the search does not get on", done.stderr)

    def test_is_searched_by_a_command(self):
        proxy = self.start("{record: all}")
        proxy.get(self.ads)
        proxy.get(self.other)
        self.rows(least=2)
        shown = self.command("log", "--host", "ads")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, rf"^\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d \(\S+\)\tblocked\t127\.0\.0\.1\t-\tGET\thttp://ads\.test:\d+/\t403\tads S ads\.test\t\S+\n$")
        rows = [json.loads(line) for line in self.command("log", "--json").stdout.splitlines()]
        self.assertEqual([row["host"] for row in rows], ["other.test", "ads.test"])
        self.assertEqual(self.command("log", "--id", rows[1]["id"]).stdout, shown.stdout)
        self.assertEqual(self.command("log", "--limit", "1", "--since", "30d").stdout.count("\n"), 1)
        self.assertEqual(self.command("log", "--decision", "nonsense").returncode, 1)


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    unittest.main()
