#!/usr/bin/env python3
"""A schedule changes under the running program: its clock is set a few seconds before, and nothing else is done to it.

Usage: schedule_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where faketime is missing.
SPDX-License-Identifier: Apache-2.0
"""
import glob
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from interception_site import BUILD, WAIT, until

FAKETIME = sorted(glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1"))


class Origin:
    """Answers a GET, and sends back what else it is told."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    @staticmethod
    def serve(connection):
        while text := connection.recv(65536):
            is_request = text.startswith(b"GET")
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok" if is_request else text)
        connection.close()


class Proxy:
    def __init__(self, folder, clock):
        self.folder, self.clock = folder, clock

    def __enter__(self):
        log = self.folder / "daemon.log"
        log.unlink(missing_ok=True)
        environment = {**os.environ, "LD_PRELOAD": FAKETIME[-1], "FAKETIME": f"@{self.clock}", "TZ": "UTC",
                       "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.folder / "bloomwall.yaml"], env=environment)
        self.port = int(until(lambda: log.exists() and re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text()))[1])
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        self.status = self.process.wait(WAIT)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)

    def status_of(self, request):
        with self.connect() as client:
            client.sendall(request.encode())
            return int(client.recv(65536).split()[1])

    def get(self, authority):
        return self.status_of(f"GET http://{authority}/ HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n")

    def tunnel(self, authority):
        client = self.connect()
        client.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        assert client.recv(65536).startswith(b"HTTP/1.1 200")
        return client


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
            self.assertEqual(proxy.get(self.games), 403)
        lines = [json.loads(line) for line in (self.folder / "access.log").read_text().splitlines()]
        ended = next(line for line in lines if line["method"] == "CONNECT" and line.get("filter"))
        self.assertEqual((ended["group"], ended["filter"], ended["decision"]), ("pupils", "games", "blocked"))
        self.assertLess(ended["duration_ms"], 8000)


if __name__ == "__main__":
    if not FAKETIME:
        print("skipped: there is no faketime")
        sys.exit(77)
    unittest.main(verbosity=2)
