#!/usr/bin/env python3
"""A proxy of its own filter and 1,000 requests of eight clients at once: answers of an origin octet for octet, blocked pages and tunnels,
a reload in the middle, and counters that add up.

Usage: thousand_requests_test.py BUILD_DIR
SPDX-License-Identifier: Apache-2.0
"""
import http.client
import http.server
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from ports import free_ports

BUILD = pathlib.Path(sys.argv[1]).resolve()
BOUND = 120  # seconds for anything to come true
CLIENTS, REQUESTS = 8, 125  # of each client
ENVIRONMENT = {**os.environ, "no_proxy": "", "NO_PROXY": ""}


def body_of(number):
    return (b"%d " % number) * (number * 37 % 9000)


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = body_of(int(self.path.rpartition("/")[2]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


class Client(threading.Thread):
    """Of its requests every third is for what is listed, every tenth goes through a tunnel; the others get an answer of the origin."""

    def __init__(self, proxy, origin, number):
        super().__init__(daemon=True)
        self.proxy, self.origin, self.number = proxy, origin, number
        self.wrong, self.blocked, self.passed, self.tunnels = [], 0, 0, 0

    def run(self):
        try:
            kept = http.client.HTTPConnection("127.0.0.1", self.proxy, timeout=BOUND)
            for at in range(REQUESTS):
                number = self.number * REQUESTS + at
                if at % 10 == 9:
                    self.through_a_tunnel(number)
                elif at % 3 == 0:
                    self.blocked += self.ask(kept, f"http://n{number % 100}.listed.example.test/{number}", 403, None)
                else:
                    self.passed += self.ask(kept, f"http://127.0.0.1:{self.origin}/{number}", 200, body_of(number))
            kept.close()
        except (OSError, http.client.HTTPException) as error:
            self.wrong.append(repr(error))

    def ask(self, connection, target, status, body):
        connection.request("GET", target)
        answer = connection.getresponse()
        got = answer.read()
        if answer.status != status or (body is not None and got != body):
            self.wrong.append(f"{target}: {answer.status}, {len(got)} octets")
        return 1

    def through_a_tunnel(self, number):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy, timeout=BOUND)
        connection.set_tunnel("127.0.0.1", self.origin)
        self.tunnels += self.ask(connection, f"/{number}", 200, body_of(number))
        connection.close()


class ThousandRequests(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.port, self.admin = free_ports(2)
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def build(self, hosts):
        listed = self.place / "listed.txt"
        listed.write_text("".join(f"n{number}.listed.example.test\n" for number in range(hosts)))
        subprocess.run([BUILD / "bloomwall-filter", "build", "-q", "-o", self.place / "listed.bwf", listed], check=True, timeout=BOUND)

    def start(self):
        tunnels = self.server.server_address[1]
        (self.place / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:{self.port}"}}]
filters: [{{name: listed, file: listed.bwf}}]
access: {{deny_destinations: [], connect_ports: [{tunnels}]}}
admin: {{address: "127.0.0.1:{self.admin}", control_socket: control.sock}}
state_dir: state
timeouts: {{announce: 0}}
log: {{file: daemon.log, access: {{file: access.log}}}}
""")
        process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.place / "bloomwall.yaml"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.until("it is ready", lambda: process.poll() is not None or self.page("/readyz"))
        self.assertIsNone(process.poll(), self.said())
        return process

    def said(self):
        log = self.place / "daemon.log"
        return log.read_text() if log.exists() else ""

    def until(self, what, condition):
        end = time.monotonic() + BOUND
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.05)
        self.fail(f"not within {BOUND} s: {what}\n{self.said()}")

    def page(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=BOUND)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.read().decode() if answer.status == 200 else ""
        except OSError:
            return ""
        finally:
            connection.close()

    def entries(self):
        found = re.search(r"^bloomwall_filter_entries\{.*\} (\d+)$", self.page("/metrics"), re.M)
        return int(found[1]) if found else None

    def test_they_are_answered_and_counted(self):
        self.build(100)
        process = self.start()
        self.assertEqual(self.entries(), 100)
        clients = [Client(self.port, self.server.server_address[1], number) for number in range(CLIENTS)]
        for client in clients:
            client.start()
        self.build(200)
        process.send_signal(signal.SIGHUP)
        self.until("the new filter is served", lambda: self.entries() == 200)
        for client in clients:
            client.join(BOUND)
            self.assertFalse(client.is_alive())
            self.assertEqual(client.wrong, [])
        total = sum(client.blocked + client.passed + client.tunnels for client in clients)
        self.assertEqual(total, CLIENTS * REQUESTS)
        process.terminate()
        self.assertEqual(process.wait(BOUND), 0, self.said())
        lines = (self.place / "access.log").read_text().splitlines()
        self.assertEqual(len([line for line in lines if '"status":403' in line]), sum(client.blocked for client in clients))
        self.assertEqual(len([line for line in lines if '"method":"CONNECT"' in line]), sum(client.tunnels for client in clients))
        self.assertEqual(len([line for line in lines if '"method":"GET"' in line]), total)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
