#!/usr/bin/env python3
"""What was confirmed is in force: exceptions, switches and tokens that several people make and remove at the same time, beside reloads
that succeed and fail, and over kills. Each has a host, a group and a client of its own, and asks for it after each answer.

Usage: races_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats a run, as far as threads do; BLOOMWALL_SECONDS makes it longer.
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
import threading
import time
import unittest

from agreement_test import HASH, PASSWORD, UnixConnection
from interception_site import BUILD, WAIT, Origin, main, run, until
from seed import test_seed

SECONDS = int(os.environ.get("BLOOMWALL_SECONDS", "8"))
PEOPLE = 4


class Races(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.origin = Origin()
        self.addCleanup(self.origin.close)
        (self.folder / "list.txt").write_text("".join(f"listed{i}.test\n" for i in range(PEOPLE)))
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "list.bwf", self.folder / "list.txt")
        names = [f"{kind}{i}.test" for kind in ("listed", "free") for i in range(PEOPLE)]
        groups = "".join(f"- {{name: g{i}, clients: [127.0.0.{10 + i}]}}\n" for i in range(PEOPLE))
        self.write_users()
        self.settings = f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: 2
filters: [{{name: list, file: list.bwf}}]
groups:
{groups}authentication: {{require: [127.0.0.128/25], users_file: users, attempts: 1000}}
access: {{connect_ports: [], deny_ports: [], deny_destinations: []}}
dns: {{hosts: {{{", ".join(f"{name}: 127.0.0.1" for name in names)}}}}}
state_dir: state
admin: {{address: null, control_socket: control.sock}}
log: {{file: daemon.log, access: {{file: "off"}}}}
timeouts: {{announce: 0, drain: 1s}}
"""
        self.file = self.folder / "bloomwall.yaml"
        self.file.write_text(self.settings)
        self.start()
        self.addCleanup(lambda: self.process.poll() is None and self.end(signal.SIGINT))
        self.seed = test_seed()

    def write_users(self, *more):
        """Of the same users always, besides others."""
        file = self.folder / "users"
        file.with_suffix(".new").write_text("".join(f"{name}:{HASH}\n" for name in (*more, *(f"user{i}" for i in range(PEOPLE)))))
        file.with_suffix(".new").rename(file)

    def start(self):
        log = self.folder / "daemon.log"
        log.unlink(missing_ok=True)
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file])
        until(lambda: log.exists() and "listening on" in log.read_text())
        self.port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())[1])

    def end(self, number):
        self.process.send_signal(number)
        return self.process.wait(WAIT)

    def api(self, method, path, body=None):
        door = UnixConnection(self.folder / "control.sock")
        try:
            door.request(method, "/api/v1" + path, body=None if body is None else json.dumps(body))
            answer = door.getresponse()
            return answer.status, json.loads(answer.read().splitlines()[-1])
        finally:
            door.close()

    def status(self, host, client="127.0.0.1", token="", user="", password=PASSWORD):
        login = f"Proxy-Authorization: Bearer {token}\r\n" if token else ""
        if user:
            login = "Proxy-Authorization: Basic " + base64.b64encode(f"{user}:{password}".encode()).decode() + "\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT, source_address=(client, 0)) as to:
            to.sendall(f"GET http://{host}:{self.origin.port}/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{login}\r\n".encode())
            head = b""
            while b"\r\n" not in head and (piece := to.recv(65536)):
                head += piece
            while to.recv(65536):
                pass
        return int(head.split()[1])

    def later(self, seconds=3600):
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))

    def exceptions(self, me, dice):
        """On its own host, which is listed or not."""
        host, made = self.pick(dice, [f"listed{me}.test", f"free{me}.test"]), None
        without = 403 if host.startswith("listed") else 200
        for _ in range(dice.randrange(1, 4)):
            action = self.pick(dice, ["allow", "deny"])
            status, answer = self.api("POST", "/exceptions", {"action": action, "entry": host, "why": "x", "until": self.later()})
            self.assertEqual(status, 201, answer)
            self.kept.append(answer["item"]["id"])
            made = answer["item"]["id"], 403 if action == "deny" else 200
            self.assertEqual(self.status(host), made[1], f"{action} {host}, the newest")
            if dice.random() < 0.7:
                self.assertEqual(self.api("DELETE", f"/exceptions/{made[0]}")[0], 200)
                self.kept.remove(made[0])
                made = None
        for item in self.api("GET", "/exceptions")[1]["items"]:
            if item["entry"] == host:
                self.assertEqual(self.api("DELETE", f"/exceptions/{item['id']}")[0], 200)
                self.kept.remove(item["id"])
        self.assertEqual(self.status(host), without, f"{host}, by the list again")

    def switches(self, me, dice):
        """On its own group."""
        client, group = f"127.0.0.{10 + me}", f"g{me}"
        rows = [("otherwise", "deny", f"free{me}.test", 200, 403), ("filters.list", "off", f"listed{me}.test", 403, 200)]
        for key, value, host, without, during in dice.sample(rows, 2):
            body = {"value": value, "until": self.later(), "why": "x"}
            self.assertEqual(self.api("PUT", f"/groups/{group}/switches/{key}", body)[0], 200)
            self.assertEqual(self.status(host, client), during, f"{group} {key}")
            self.assertEqual(self.status(host), without, "others")
            self.assertEqual(self.api("DELETE", f"/groups/{group}/switches/{key}")[0], 200)
            self.assertEqual(self.status(host, client), without, f"{group} without {key}")

    def tokens(self, me, dice):
        client, name = f"127.0.0.{200 + me}", f"t{me}"
        status, answer = self.api("POST", "/tokens", {"name": name, "until": self.later()})
        self.assertEqual(status, 201, answer)
        token = answer["token"]
        self.assertEqual(self.status(f"free{me}.test", client, token), 200)
        self.assertEqual(self.status(f"free{me}.test", client), 407)
        self.assertEqual(self.api("DELETE", f"/tokens/{name}")[0], 200)
        self.assertEqual(self.status(f"free{me}.test", client, token), 407, "removed")

    def logins(self, me, dice):
        """Of a user whom no reload takes away."""
        client, host = f"127.0.0.{200 + me}", f"free{me}.test"
        for _ in range(5):
            self.assertEqual(self.status(host, client, user=f"user{me}"), 200)
        self.assertEqual(self.status(host, client, user=f"user{me}", password=f"wrong {dice.random()}"), 407)

    @staticmethod
    def pick(dice, items):
        return items[dice.randrange(len(items))]

    def person(self, me):
        dice = random.Random(f"{self.seed} {me}")
        try:
            while time.monotonic() < self.until and not self.problems:
                self.pick(dice, [self.exceptions, self.switches, self.tokens, self.logins])(me, dice)
                self.done += 1
        except Exception as problem:  # the case fails in the thread that waits
            self.problems.append(f"person {me}: {problem!r}")

    def reloader(self):
        dice = random.Random(f"{self.seed} reloads")
        try:
            while time.monotonic() < self.until and not self.problems:
                is_good = dice.random() < 0.7
                text = self.settings + (f"# {dice.random()}\nblock_page: {{contact: a{dice.randrange(9)}@b.test}}\n" if is_good else "nothing: 1\n")
                self.write_users(*(f"other{i}" for i in range(dice.randrange(4))))
                self.file.with_suffix(".new").write_text(text)
                self.file.with_suffix(".new").rename(self.file)
                said = self.api("POST", "/reload")[1]
                self.assertEqual(said.get("exit_status") == 0, is_good, said)
        except Exception as problem:
            self.problems.append(f"reloads: {problem!r}")

    def test_what_is_confirmed_is_in_force_whatever_else_happens(self):
        self.problems, self.done, self.until, self.kept = [], 0, time.monotonic() + SECONDS, []
        threads = [threading.Thread(target=self.person, args=(me,)) for me in range(PEOPLE)] + [threading.Thread(target=self.reloader)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS + 2 * WAIT)
        self.assertEqual(self.problems, [], f"seed {self.seed}")
        self.assertGreater(self.done, PEOPLE)
        self.assertNotRegex((self.folder / "daemon.log").read_text(), r" error\s+(?!\s|reload)")

    def test_a_kill_loses_nothing_that_was_confirmed(self):
        dice = random.Random(self.seed)
        confirmed, next_id = {}, 1  # by host: what was said of it last, and the one that may have been
        for round_ in range(5):
            asked, stop = {}, threading.Event()

            def ask(me, asked=asked, stop=stop, dice=random.Random(dice.random())):
                while not stop.is_set():
                    host, action = f"h{dice.randrange(20)}-{me}.test", self.pick(dice, ["allow", "deny"])
                    asked[host] = action
                    try:
                        status, _ = self.api("POST", "/exceptions", {"action": action, "entry": host, "why": "x", "until": None})
                    except (OSError, http.client.HTTPException, IndexError):
                        return
                    if status == 201:
                        confirmed.setdefault(host, set()).add(action)
                        del asked[host]
            threads = [threading.Thread(target=ask, args=(me,)) for me in range(PEOPLE)]
            for thread in threads:
                thread.start()
            time_of_kill = time.monotonic() + dice.random()
            while time.monotonic() < time_of_kill:
                self.status("free0.test")
            self.end(signal.SIGKILL)
            stop.set()
            for thread in threads:
                thread.join(WAIT)
            if round_ % 2 == 1:  # the exports are all that is left
                for end in ("", "-wal", "-shm"):
                    (self.folder / "state" / f"state.db{end}").unlink(missing_ok=True)
            self.start()
            kept = {}
            for item in self.api("GET", "/exceptions")[1]["items"]:
                kept.setdefault(item["entry"], set()).add(item["action"])
            for host, actions in confirmed.items():
                self.assertLessEqual(actions, kept.get(host, set()), f"seed {self.seed}, round {round_}: {host}")
            for host, actions in kept.items():
                self.assertLessEqual(actions, confirmed.get(host, set()) | {asked.get(host)}, f"seed {self.seed}: {host}")
            confirmed = kept


if __name__ == "__main__":
    main()
