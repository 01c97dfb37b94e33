#!/usr/bin/env python3
"""Until when a verdict holds: GET /explain of the running proxy and `bloomwall explain` say the same, of random clients, URLs and times,
with schedules, switches and exceptions that end.

Usage: valid_until_test.py BUILD_DIR. BLOOMWALL_SEED repeats a run.
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

from api_site import Proxy
from interception_site import BUILD
from seed import test_seed

MORE = """time_zone: Europe/Berlin
schedules:
- {name: lessons, times: [mon-fri 08:00-12:30, mon-thu 13:30-15:00]}
- {name: night, times: ["21:00-06:30"]}
tls_inspection: {mode: "off"}
"""
GROUPS = ("{name: pupils, clients: [127.0.0.2], filters: {list: {lessons: block, otherwise: off}}}, "
          "{name: guests, clients: [127.0.0.3], otherwise: {night: deny, otherwise: allow}}")
CLIENTS = ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
HOSTS = ["listed.example.test", "a.listed.example.test", "free.example.test", "short.example.test", "long.example.test"]
ROUNDS, URLS = 25, 4


def instant(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class ValidUntil(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bloomwall-test-")
        self.addCleanup(folder.cleanup)
        self.proxy = Proxy(pathlib.Path(folder.name), more=MORE, groups=GROUPS)
        self.addCleanup(self.proxy.stop)
        self.token = self.proxy.command("token", "add", "asks", "--role", "reviewer", "--for", "1d").strip()

    def by_command(self, client, at, urls):
        said = subprocess.run([BUILD / "bloomwall", "explain", "--config", self.proxy.folder / "bloomwall.yaml", "--json", "--client", client,
                               "--at", at, *urls], capture_output=True, text=True, check=False)
        self.assertIn(said.returncode, (0, 1), said.stderr)
        for line in said.stdout.splitlines():
            one = json.loads(line)
            one["group"] = one["group"]["name"]
            yield one

    def by_api(self, client, at, url):
        status, _, text = self.proxy.ask("GET", "/explain?" + urllib.parse.urlencode({"url": url, "client": client, "at": at}), token=self.token)
        self.assertEqual(status, 200, text)
        return json.loads(text)

    def test_both_say_the_same(self):
        self.proxy.command("deny", "short.example.test", "--for", "2h", "--why", "x")
        self.proxy.command("allow", "long.example.test", "--for", "30d", "--client", "127.0.0.2", "--why", "x")
        self.proxy.command("allow", "a.listed.example.test", "--for", "1d", "--group", "pupils", "--why", "x")
        self.proxy.command("switch", "guests", "otherwise=deny", "--for", "50m", "--why", "exam")
        seed = test_seed()
        pick = random.Random(seed)
        ends = changes = 0
        for number in range(ROUNDS):
            client, ahead = pick.choice(CLIENTS), pick.choice([pick.randrange(1, 10_000), pick.randrange(1, 864_000)])
            at = instant(time.time() + ahead)
            urls = [f"{pick.choice(['http', 'https'])}://{pick.choice(HOSTS)}/{pick.randrange(3)}" for _ in range(URLS)]
            for url, told in zip(urls, self.by_command(client, at, urls)):
                said = self.by_api(client, at, url)
                case = f"seed {seed}, round {number}: {url} of {client} at {at}"
                for key in ("verdict", "reason", "filter", "exception", "group", "dialled_as", "valid_until"):
                    self.assertEqual(said[key], told[key], f"{case}: {key}")
                if said["valid_until"] is None:
                    continue
                ends += 1
                then = self.by_api(client, said["valid_until"], url)
                before = self.by_api(client, instant(seconds_of(said["valid_until"]) - 1), url)
                changes += [then[key] for key in ("verdict", "reason", "tunnel")] != [before[key] for key in ("verdict", "reason", "tunnel")]
        self.assertGreater(ends, 5, f"seed {seed}")
        self.assertEqual(changes, ends, f"seed {seed}: at its end the verdict is another")


def seconds_of(text):
    return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ"))) - time.timezone


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    unittest.main()
