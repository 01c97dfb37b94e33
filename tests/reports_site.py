"""A proxy that blocks some hosts for two groups, with its own pages: what the tests of reports and of these pages use.

SPDX-License-Identifier: Apache-2.0
"""
import html
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.parse
import warnings

from interception_site import BUILD, WAIT, Origin, clock_ahead, run, until

SELF = "http://bloomwall.internal"


class Answer:
    def __init__(self, text):
        head, _, self.body = text.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1]) if lines[0] else 0
        self.fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.text = self.body.decode(errors="replace")

    def form(self):
        """Where the form is sent to, and its ticket; nothing where there is none."""
        action = re.search(r'<form method="post" action="([^"]+)">', self.text)
        ticket = re.search(r'<input type="hidden" name="ticket" value="([^"]+)">', self.text)
        return (html.unescape(action[1]), ticket[1]) if action and ticket else None


class Proxy:
    def __init__(self, folder, port, more="", state="state", clock=None, name="bloomwall", access="", pupils=""):
        self.folder, self.file, self.sent = folder, folder / f"{name}.yaml", folder / f"{name}.log"
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: 2
filters: [{{name: ads, file: ads.bwf}}, {{name: malware, file: malware.bwf, exceptions: refused}}]
groups:
- {{name: pupils, clients: [127.0.0.2]{pupils}}}
- {{name: staff, clients: [127.0.0.3]}}
state_dir: {state}
access: {{connect_ports: [], deny_destinations: []}}
dns: {{hosts: {{shop.test: 127.0.0.1, other.test: 127.0.0.1, paths.test: 127.0.0.1, denied.test: 127.0.0.1, evil.test: 127.0.0.1}}}}
timeouts: {{announce: 0, drain: 1s}}
admin: {{address: "127.0.0.1:0", control_socket: {name}.sock}}
log: {{file: {name}.log, access: {{file: off{access}}}}}
{more}""")
        self.origin = port
        self.start(clock)

    def start(self, clock=None):
        self.sent.unlink(missing_ok=True)
        environment = dict(os.environ)
        if clock is not None:
            environment |= clock_ahead(clock)
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file], env=environment)
        said = until(lambda: self.sent.exists() and "listening on" in self.sent.read_text() and self.sent.read_text())
        self.port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", said)[1])
        self.admin = int(re.search(r"admin on 127\.0\.0\.1:(\d+)", said)[1])

    def end(self, number=signal.SIGINT):
        self.process.send_signal(number)
        return self.process.wait(WAIT)

    def ask(self, method, url, body=b"", client="127.0.0.1", fields="Accept: text/html\r\n", port=None):
        """A request to the proxy, on a connection of its own."""
        host = urllib.parse.urlsplit(url).netloc or ("localhost" if port else "bloomwall.internal")
        length = f"Content-Length: {len(body)}\r\n" if body or method == "POST" else ""
        if method == "POST" and "/api/" not in url and "Content-Type" not in fields:  # as browsers send forms
            length += "Content-Type: application/x-www-form-urlencoded\r\n"
        with socket.create_connection(("127.0.0.1", port or self.port), timeout=WAIT, source_address=(client, 0)) as to:
            to.sendall(f"{method} {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{fields}{length}\r\n".encode() + body)
            text = b""
            while piece := to.recv(65536):
                text += piece
        return Answer(text)

    def get(self, path="/", host="shop.test", **how):
        return self.ask("GET", f"http://{host}:{self.origin}{path}", **how)

    def report(self, path="/", comment="it is a shop", client="127.0.0.1", ticket=None, host="shop.test", **how):
        """Opens the page and sends its form, as a browser does."""
        page = self.get(path, host=host, client=client)
        assert page.status == 403, page.status
        action, given = page.form()
        body = urllib.parse.urlencode({"ticket": ticket or given, "comment": comment, "name": "Änna"}).encode()
        return self.ask("POST", action, body, client=client, **how)

    def command(self, *words, status=0, warnings=False):
        done = subprocess.run([BUILD / "bloomwall", *words, "--config", self.file], capture_output=True)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done.stdout.decode() + (done.stderr.decode() if status or warnings else "")

    def reports(self, *words):
        return json.loads(self.command("reports", "--json", *words))["items"]

    def audit(self):
        return [json.loads(line) for line in self.command("audit", "--json").splitlines()]

    def api(self, method, path, token, body=None):
        text = json.dumps(body).encode() if body is not None else b""
        answer = self.ask(method, f"/api/v1{path}", text, fields=f"Authorization: Bearer {token}\r\n", port=self.admin)
        return answer.status, json.loads(answer.text)

    def metric(self, name):
        text = self.ask("GET", "/metrics", port=self.admin).text
        return next(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"bloomwall_{name} "))


class Site(unittest.TestCase):
    """An origin for all cases; a folder with both filters for each."""
    @classmethod
    def setUpClass(cls):
        cls.origin = Origin()
        cls.addClassCleanup(cls.origin.close)

    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)  # sockets end with their case
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.build("ads", "shop.test", "other.test", "paths.test/blocked/")
        self.build("malware", "evil.test")

    def build(self, name, *entries):
        (self.folder / f"{name}.txt").write_text("\n".join(entries) + "\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / f"{name}.bwf", self.folder / f"{name}.txt")

    def proxy(self, more="", port=None, **how):
        proxy = Proxy(self.folder, port or self.origin.port, more=more, **how)
        self.addCleanup(lambda: proxy.process.poll() is None and proxy.end())
        return proxy
