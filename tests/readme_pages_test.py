#!/usr/bin/env python3
"""The recipes of docs/guide for a family, a class, a company and a developer at the times that they speak of: the configuration of each is
read out of its page, accepted by `check`, and served; requests and the commands that stand below it show what the page promises. That they can
be pasted as they stand is what recipes_test.py is about.

Usage: readme_pages_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import base64
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import tempfile
import unittest

from clock_site import Origin, SteppedProxy
from interception_site import BUILD, run, until

GUIDE = pathlib.Path(__file__).resolve().parent.parent / "docs/guide"
HOSTS = ["malware.example", "adult.example", "games.example", "social.example", "webmail.example", "partners.example", "mail.example",
         "plain.example", "telemetry.example", "registry.example", "crates.example", "video.example", "exam.example", "updates.example",
         "bedtime-stories.example", "www.google.com"]
OPEN = "access: {deny_destinations: [], connect_ports: [], opaque_tunnels: allow"
# What is in the lists of the catalogue that the pages add.
LISTED = {"hagezi-threats": "malware.example", "hagezi-nsfw": "adult.example", "ut1-games": "games.example", "ut1-social": "social.example",
          "ut1-webmail": "webmail.example", "hagezi-pro": "telemetry.example"}


class Page(unittest.TestCase):
    page = None
    replaced = [('":3128"', '"127.0.0.1:0"'), ("access:\n  clients:", OPEN + ",\n  clients:"), (re.compile(r"(allow_destinations: .*?\]) .*"), r"\1}"),
                (re.compile(r"(clients: \[127.*\])(?=\n  allow)"), r"\1,")]

    def setUp(self):
        if self.page is None:
            self.skipTest("what pages have in common")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.text = text = (GUIDE / self.page).read_text()
        configurations = re.findall(r"<<'END'\n(.*?)^END$", text, re.S | re.M)
        self.assertEqual(len(configurations), 1)
        self.commands = [shlex.split(line) for line in re.findall(r"^    (bloomwall .*)", text, re.M)]
        self.origin, self.safe = self.origins()
        self.write(configurations[0])

    @staticmethod
    def origins():
        """Two on one port: where names lead, and where the enforcing name of a search engine does."""
        for _ in range(20):
            first = Origin()
            try:
                return first, Origin("127.0.0.9", first.port, "safe")
            except OSError:
                first.listener.close()
        raise AssertionError("no port is free on both addresses")

    def write(self, text):
        """With the folder, the port and the networks of the test in the place of the page's; what it does not say stays so."""
        filters = ""
        for refuses, names in re.findall(r"^bloomwall update --add (--refuse-exceptions )?(.*)$", self.text, re.M):
            for name in names.split():
                self.build(name, LISTED[name])
                filters += f"- {{name: {name}, file: {name}.bwf{', exceptions: refused' if refuses else ''}}}\n"
        for old, new in [("/etc/bloomwall/", ""), *self.replaced]:
            changed = re.sub(old, new, text) if isinstance(old, re.Pattern) else text.replace(old, new)
            self.assertTrue(changed != text or old == "/etc/bloomwall/", f"docs/guide/{self.page} has changed: {old}")
            text = changed
        text = re.sub(r"\b192\.168\.(\d+\.\d+)", r"127.0.\1", text)
        text = re.sub(r"\b10\.(\d+\.\d+\.\d+)", r"127.\1", text)
        hosts = ", ".join(f"{host}: 127.0.0.1" for host in HOSTS)
        (self.folder / "state").mkdir()
        (self.folder / "bloomwall.yaml").write_text(text + f"""
filters:
{filters}dns: {{hosts: {{{hosts}, forcesafesearch.google.com: 127.0.0.9}}}}
admin: {{address: null, control_socket: control.sock}}
state_dir: state
log: {{file: daemon.log, access: {{file: access.log}}}}
""")

    def build(self, name, *hosts):
        (self.folder / f"{name}.txt").write_text("".join(f"{host}\n" for host in hosts))
        subprocess.run([BUILD / "bloomwall-filter", "build", "-o", self.folder / f"{name}.bwf", self.folder / f"{name}.txt"],
                       check=True, capture_output=True)

    def serve(self, clock):
        proxy = SteppedProxy(self.folder, clock)
        checked = subprocess.run([BUILD / "bloomwall", "check", "--config", self.folder / "bloomwall.yaml"], capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertNotIn("warning", checked.stderr)
        self.proxy = proxy
        return proxy

    def status(self, host, client, fields=""):
        return self.proxy.get(f"{host}:{self.origin.port}", client, fields)

    def reason(self, host, client, fields=""):
        return re.search(r'"reason":"(\w+)"', self.proxy.answer_to(f"{host}:{self.origin.port}", client, "Accept: application/json\r\n" + fields))[1]

    def run_command(self, *begin, want=0):
        """The one of the page's commands that begins with these words."""
        found = [command for command in self.commands if command[1:1 + len(begin)] == list(begin)]
        self.assertEqual(len(found), 1, f"{begin} in {self.commands}")
        return self.run_program(*found[0][1:], want=want)

    def ask(self, method, path, token, body):
        """The status of an answer on the control socket."""
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.folder / "control.sock"))
            client.sendall(f"{method} /api/v1{path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
                           f"Content-Length: {len(body)}\r\n\r\n{body}".encode())
            return int(client.recv(65536).split()[1])

    def run_program(self, *words, want=0):
        done = subprocess.run([BUILD / "bloomwall", *words, "--config", self.folder / "bloomwall.yaml"], capture_output=True, text=True,
                              env=self.proxy.environment())
        self.assertEqual(done.returncode, want, done.stdout + done.stderr)
        return done.stdout


class Family(Page):
    page = "family.md"
    PARENT, CHILD, GUEST = "127.0.1.17", "127.0.1.33", "127.0.1.99"

    def test_the_page(self):
        with self.serve("2026-11-23 14:00:00"):  # a Monday, 15:00 in Berlin
            self.assertEqual([self.status("games.example", who) for who in (self.PARENT, self.CHILD, self.GUEST)], [200, 403, 403])
            self.assertEqual([self.status("adult.example", who) for who in (self.PARENT, self.CHILD, self.GUEST)], [200, 403, 403])
            self.assertEqual([self.status("malware.example", who) for who in (self.PARENT, self.CHILD)], [403, 403])
            search = f"www.google.com:{self.origin.port}"
            self.assertTrue(self.proxy.answer_to(search, self.CHILD).endswith("\r\n\r\nsafe"))
            self.assertTrue(self.proxy.answer_to(search, self.PARENT).endswith("\r\n\r\nok"))

            self.run_command("switch", "children", "pause")
            self.assertEqual([self.status(host, self.CHILD) for host in ("games.example", "adult.example", "malware.example")], [200, 403, 403])
            self.run_program("switch", "children", "pause", "--end")
            self.assertEqual(self.status("games.example", self.CHILD), 403)

            self.proxy.step_to("2026-11-23 18:59:57")  # bedtime is at 19:00 UTC
            until(lambda: self.status("games.example", self.CHILD) == 200)
            with self.proxy.tunnel(f"plain.example:{self.origin.port}", self.CHILD) as tunnel:
                tunnel.sendall(b"\x01hello")
                self.assertEqual(tunnel.recv(100), b"\x01hello")
                self.assertEqual(tunnel.recv(100), b"", "bedtime ends it")
            until(lambda: self.status("plain.example", self.CHILD) == 403)  # each worker is told by itself
            self.assertEqual(self.reason("plain.example", self.CHILD), "default_deny")
            self.assertEqual(self.status("plain.example", self.PARENT), 200)
            self.run_command("switch", "children", "otherwise=allow")
            self.assertEqual(self.status("plain.example", self.CHILD), 200)
            self.run_program("switch", "children", "otherwise", "--end")
            self.assertEqual(self.status("plain.example", self.CHILD), 403)
            self.run_command("allow", "bedtime-stories.example")
            self.assertEqual([self.status("bedtime-stories.example", who) for who in (self.CHILD, self.PARENT)], [200, 200])

            self.proxy.step_to("2026-12-21 14:00:00")  # the holidays have begun
            until(lambda: self.status("games.example", self.CHILD) == 200)


class SchoolClass(Page):
    page = "class.md"
    TEACHER, PUPIL = "127.2.7.1", "127.2.7.40"

    def test_the_page(self):
        (self.folder / "exams.txt").write_text("exam.example\n")
        with self.serve("2026-11-23 08:00:00"):  # a Monday, 9:00 in Berlin
            self.assertEqual([self.status("social.example", who) for who in (self.TEACHER, self.PUPIL)], [200, 403])
            self.assertEqual([self.status("plain.example", who) for who in (self.TEACHER, self.PUPIL)], [200, 200])
            self.assertTrue(self.proxy.answer_to(f"www.google.com:{self.origin.port}", self.PUPIL).endswith("safe"))

            self.run_command("switch", "room-7", "otherwise=deny")
            self.assertEqual(self.reason("plain.example", self.PUPIL), "default_deny")
            self.assertEqual([self.status("exam.example", self.PUPIL), self.status("plain.example", self.TEACHER)], [200, 200])
            self.run_command("allow", "video.example")
            self.assertEqual([self.status("video.example", self.PUPIL), self.status("plain.example", self.PUPIL)], [200, 403])
            self.proxy.step_to("2026-11-23 08:46:00")
            until(lambda: self.status("plain.example", self.PUPIL) == 200)
            self.run_program("switch", "room-7", "otherwise=deny", "--for", "45m", "--why", "again")
            self.assertEqual(self.status("video.example", self.PUPIL), 403, "that was for 45 minutes")
            self.run_command("switch", "room-7", "otherwise")
            self.assertEqual(self.status("plain.example", self.PUPIL), 200)

            token = self.run_command("token", "add").split()[0]
            exam = '{"value":"deny","until":"2026-11-23T09:45:00Z","why":"exam"}'
            self.assertEqual(self.ask("PUT", "/groups/teachers/switches/otherwise", token, exam), 403)
            self.assertEqual(self.ask("PUT", "/groups/room-7/switches/otherwise", token, exam), 200)
            self.assertEqual([self.status("plain.example", who) for who in (self.TEACHER, self.PUPIL)], [200, 403])

            self.proxy.step_to("2026-11-23 11:45:00")  # 12:45 in Berlin: a break
            until(lambda: self.status("social.example", self.PUPIL) == 200)


class Company(Page):
    page = "company.md"
    OFFICE, KIOSK = "127.1.0.5", "127.9.0.7"

    def test_the_page(self):
        (self.folder / "partners.txt").write_text("partners.example\n")
        hashed = run("openssl", "passwd", "-5", "secret").stdout.strip()
        (self.folder / "users").write_text("".join(f"{user}:{hashed}:{groups}\n"
                                                   for user, groups in [("anna", "office"), ("carl", "sales")]))
        (self.folder / "users").chmod(0o600)
        anna, carl = (f"Proxy-Authorization: Basic {base64.b64encode(f'{user}:secret'.encode()).decode()}\r\n" for user in ("anna", "carl"))
        with self.serve("2026-11-23 08:00:00"):
            self.assertEqual([self.status("plain.example", self.OFFICE, who) for who in ("", anna, carl)], [407, 200, 200])
            self.assertEqual(self.status("updates.example", self.OFFICE), 200)
            self.assertEqual([self.status("webmail.example", self.OFFICE, who) for who in (anna, carl)], [403, 200])
            self.assertEqual([self.status(host, self.KIOSK) for host in ("partners.example", "plain.example", "malware.example")], [200, 403, 403])
            self.assertEqual(self.reason("plain.example", self.KIOSK), "default_deny")

            self.build("ut1-webmail", "webmail.example", "mail.example")
            self.run_program("reload")
            self.assertEqual(self.status("mail.example", self.OFFICE, anna), 403)
            self.run_command("allow", "mail.example")
            self.assertEqual(self.status("mail.example", self.OFFICE, anna), 200)
            self.assertIn("ticket 4711", self.run_command("audit"))
            self.run_program("allow", "malware.example", "--why", "please", want=1)
            self.assertEqual(self.status("malware.example", self.OFFICE, anna), 403)


class Developer(Page):
    page = "developer.md"
    replaced = [("127.0.0.1:3128", "127.0.0.1:0"), ("127.0.0.1:3129", "127.0.0.2:0"), ("groups:\n", OPEN + "}\ngroups:\n")]

    def in_a_build(self, host):
        """The status that curl gets in a shell that was told as the page says."""
        [told] = re.findall(r"^    (eval .*)", self.text, re.M)
        port = until(lambda: re.search(r"listening on 127\.0\.0\.2:(\d+)", (self.folder / "daemon.log").read_text()))[1]
        self.assertIn("127.0.0.1:3129", told)
        script = told.replace("127.0.0.1:3129", f"127.0.0.2:{port}") + '; curl -s -o /dev/null -w "%{http_code}" "$0"'
        done = subprocess.run(["bash", "-ec", script, f"http://{host}:{self.origin.port}/"], capture_output=True, text=True, check=True,
                              env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"})
        return int(done.stdout)

    def test_the_page(self):
        (self.folder / "registries.txt").write_text("registry.example\n")
        hosts = ("plain.example", "registry.example", "telemetry.example", "malware.example")
        with self.serve("2026-11-23 08:00:00"):
            self.assertEqual([self.status(host, "127.0.0.1") for host in hosts], [200, 200, 403, 403])
            self.assertEqual([self.in_a_build(host) for host in hosts], [403, 200, 403, 403])

            def blocked():
                return self.run_command("log", "--group", "builds")

            until(lambda: all(host in blocked() for host in ("plain.example", "telemetry.example", "malware.example")))
            self.assertNotIn("registry.example", blocked())
            self.commands = [[word.replace("127.0.0.1:3129", "127.0.0.2:0") for word in words] for words in self.commands]
            self.assertIn("telemetry", self.run_command("explain", want=1))
            self.assertEqual(self.in_a_build("crates.example"), 403)
            self.run_command("allow", "crates.example")
            self.assertEqual(self.in_a_build("crates.example"), 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
