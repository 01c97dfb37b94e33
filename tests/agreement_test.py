#!/usr/bin/env python3
"""What the API explains and what the proxy does are the same, whatever people change: random exceptions, switches, tokens and reloads,
and after each of them questions of random clients and users, asked of both (seeded; the seed is printed).

Usage: agreement_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats a run; BLOOMWALL_ROUNDS makes it longer.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import http.client
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
import time
import unittest
import urllib.parse

from interception_site import BUILD, WAIT, Origin, main, run, until
from seed import test_seed

ROUNDS = int(os.environ.get("BLOOMWALL_ROUNDS", "100"))
HASH = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"
PASSWORD = "open sesame"
CLIENTS = [f"127.0.0.{i}" for i in range(2, 7)]  # the last two must log in
USERS = ["anna", "bob", "robot"]  # the last one has a token
HOSTS = ["games.test", "a.games.test", "b.a.games.test", "ads.test", "both.test", "evil.test", "seen.test", "white.test", "free.test",
         "none.test"]
PATHS = ["/", "/dir/x", "/dir/", "/q?a=1", "/a;b"]
FILTERS = {"games": "games.test\nboth.test\nnone.test/dir/", "watch": "seen.test", "white": "white.test", "ads": "ads.test\nboth.test",
           "malware": "evil.test\nboth.test"}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=WAIT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(WAIT)
        self.sock.connect(str(self.path))


class Agreement(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.origin = Origin()
        self.addCleanup(self.origin.close)
        for name, entries in FILTERS.items():
            (self.folder / f"{name}.txt").write_text(entries + "\n")
            run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / f"{name}.bwf", self.folder / f"{name}.txt")
        (self.folder / "free.txt").write_text("free.test\na.games.test @games\n")
        (self.folder / "users").write_text(f"anna:{HASH}:class\nbob:{HASH}\n")
        hosts = ", ".join(f"{host}: 127.0.0.1" for host in HOSTS)
        (self.folder / "bloomwall.yaml").write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: 2
filters: [{{name: games, file: games.bwf}}, {{name: watch, file: watch.bwf, action: monitor}}, {{name: white, file: white.bwf, action: allow}},
  {{name: ads, file: ads.bwf}}, {{name: malware, file: malware.bwf, exceptions: refused}}]
allow_lists: [free.txt]
groups:
- {{name: class, user_groups: [class], filters: {{ads: "off"}}}}
- {{name: bobs, users: [bob], otherwise: deny}}
- {{name: pupils, clients: [127.0.0.2, 127.0.0.3], filters: {{games: monitor}}}}
- {{name: staff, clients: [127.0.0.4]}}
authentication: {{require: [127.0.0.5, 127.0.0.6], users_file: users}}
access: {{connect_ports: [], deny_ports: [], deny_destinations: []}}
dns: {{hosts: {{{hosts}}}}}
state_dir: state
admin: {{address: null, control_socket: control.sock}}
log: {{file: daemon.log, access: {{file: access.log, format: json}}}}
timeouts: {{announce: 0, drain: 1s}}
""")
        self.start()
        status, made = self.api("POST", "/tokens", {"name": "robot", "groups": ["class"], "until": None})
        self.assertEqual(status, 201, made)
        self.token = made["token"]
        self.addCleanup(lambda: self.process.poll() is None and self.end(signal.SIGINT))

    def start(self):
        log = self.folder / "daemon.log"
        log.unlink(missing_ok=True)
        (self.folder / "access.log").unlink(missing_ok=True)
        self.seen = 0
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.folder / "bloomwall.yaml"])
        until(lambda: log.exists() and "listening on" in log.read_text())
        self.port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())[1])
        self.door = UnixConnection(self.folder / "control.sock")

    def end(self, number):
        self.door.close()
        self.process.send_signal(number)
        return self.process.wait(WAIT)

    def api(self, method, path, body=None):
        self.door.close()
        self.door.request(method, "/api/v1" + path, body=None if body is None else json.dumps(body))
        answer = self.door.getresponse()
        return answer.status, json.loads(answer.read().splitlines()[-1])

    def ask(self, url, client, user):
        """The proxy's own line about it."""
        parts = urllib.parse.urlsplit(url)
        target = f"CONNECT {parts.netloc}" if parts.scheme == "https" else f"GET {url}"
        login = base64.b64encode(f"{user}:{self.token if user == 'robot' else PASSWORD}".encode()).decode()
        fields = f"Proxy-Authorization: Basic {login}\r\n" if user else ""
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT, source_address=(client, 0)) as to:
            to.sendall(f"{target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n{fields}\r\n".encode())
            if parts.scheme != "https":
                while to.recv(65536):
                    pass
            else:
                to.recv(65536)
        file = self.folder / "access.log"

        def line():
            with open(file) as lines:
                lines.seek(self.seen)
                text = lines.readline()
            return text.endswith("\n") and text
        text = until(line)
        self.seen += len(text.encode())
        return json.loads(text)

    def some(self, items):
        return items[self.random.randrange(len(items))]

    def make_exception(self):
        entry = self.some(HOSTS + ["test", "*.test", "games.test", "http://none.test/dir/", "http://games.test/dir/x", "http://games.test/q?a=1"])
        body = {"action": self.some(["allow", "deny"]), "entry": entry, "why": "x"}
        scope = self.random.randrange(5)
        if scope == 1:
            body["group"] = self.some(["class", "bobs", "pupils", "staff", "default"])
        if scope == 2:
            body["client"] = self.some(CLIENTS + ["127.0.0.2/31", "127.0.0.4/30"])
        if scope == 3:
            body["user"] = self.some(USERS)
        if body["action"] == "allow" and self.random.randrange(3) == 0:
            body["filters"] = self.random.sample(["games", "watch", "ads", "malware"], self.random.randrange(1, 3))
        return self.api("POST", "/exceptions", body)[0]

    def change(self):
        """Something that people do; what it was."""
        roll = self.random.randrange(20)
        if roll < 11:
            return f"exception {self.make_exception()}"
        if roll < 14:
            items = self.api("GET", "/exceptions")[1]["items"]
            if not items:
                return "nothing"
            return f"removal {self.api('DELETE', '/exceptions/' + str(self.some(items)['id']))[0]}"
        group = self.some(["class", "bobs", "pupils", "staff", "default"])
        key, values = self.some([("pause", [None]), ("otherwise", ["allow", "deny"]), ("filters.games", ["block", "off", "monitor", "allow"]),
                                 ("filters.malware", ["block", "off"]), ("filters.watch", ["block", "monitor"]), ("filters.white", ["off"])])
        if roll < 17:
            body = {"until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600)), "why": "x"}
            value = self.some(values)
            return f"switch {self.api('PUT', f'/groups/{group}/switches/{key}', body if value is None else {**body, 'value': value})[0]}"
        if roll < 18:
            return f"end of switch {self.api('DELETE', f'/groups/{group}/switches/{key}')[0]}"
        if roll < 19:
            return f"reload {self.api('POST', '/reload')[0]}"
        self.assertEqual(self.end(self.some([signal.SIGKILL, signal.SIGINT])) in (0, -9), True)
        self.start()
        return "restart"

    def test_what_is_explained_is_done(self):
        seed = test_seed()
        self.random = random.Random(seed)
        verdicts, done = set(), []
        for _ in range(ROUNDS):
            done.append(self.change())
            for _ in range(5):
                client, host = self.some(CLIENTS), self.some(HOSTS)
                user = self.some(USERS) if client in CLIENTS[-2:] else ""
                scheme = self.some(["http", "http", "https"])
                url = f"{scheme}://{host}:{self.origin.port}" + (self.some(PATHS) if scheme == "http" else "/")
                query = {"url": url, "client": client, **({"user": user} if user else {})}
                status, said = self.api("GET", "/explain?" + urllib.parse.urlencode(query))
                self.assertEqual(status, 200, said)
                line = self.ask(url, client, user)
                verdict = said["tunnel"] if scheme == "https" else said
                made = said.get("exception")
                explained = (verdict["verdict"], verdict["reason"], verdict["filter"], said["group"])
                was = (line["decision"], line["decision_reason"], line.get("filter"), line.get("group"))
                self.assertEqual(explained, was, f"seed {seed}: {query} after {done}; {said}; {line}")
                verdicts.add(was)
        self.assertGreater(len(verdicts), 15, verdicts)


if __name__ == "__main__":
    main()
