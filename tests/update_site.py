"""What the tests of `bloomwall update` have in common: a server of lists over HTTPS, a configuration, the programs.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import http.client
import http.server
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest

from interception_site import BUILD, Authority, until


class Lists:
    """Serves what `pages` holds for a path: a body, or (status, fields, body), or a function of the handler. With an ETag of
    the body where it is 200, and 304 where the client has that."""

    def __init__(self, authority):
        certificate, key = authority.issue("lists", ["localhost"])
        self.pages, self.asked = {}, []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                outer.asked.append((self.path, dict(self.headers.items())))
                page = outer.pages.get(self.path, (404, {}, b"none"))
                if callable(page):
                    return page(self)
                status, fields, body = page if isinstance(page, tuple) else (200, {}, page)
                body = body.encode() if isinstance(body, str) else body
                tag = f'"{hash(body) & 0xffffffff:x}"'
                if status == 200 and self.headers.get("If-None-Match") == tag:
                    status, body = 304, b""
                self.send_response(status)
                for name, value in ({"ETag": tag} | fields if status in (200, 304) else fields).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path):
        return f"https://localhost:{self.port}{path}"

    def requests(self, path):
        return sum(asked == path for asked, _ in self.asked)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class ParentProxy:
    """Takes CONNECT from whoever has the login, and remembers what it was sent."""

    def __init__(self, login):
        self.heads, self.login = [], base64.b64encode(login.encode()).decode()
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                if not (piece := client.recv(1)):
                    return
                head += piece
            self.heads.append(head.decode())
            if f"Proxy-Authorization: Basic {self.login}\r\n" not in head.decode():
                client.sendall(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
                return
            host, port = re.match(rb"CONNECT ([^:]+):(\d+) ", head).groups()
            with socket.create_connection((host.decode(), int(port))) as origin:
                client.sendall(b"HTTP/1.1 200 Yes\r\n\r\n")
                back = threading.Thread(target=self.pump, args=(origin, client), daemon=True)
                back.start()
                self.pump(client, origin)
                back.join()

    @staticmethod
    def pump(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Site(unittest.TestCase):
    """A folder with a configuration, a server of lists, and the programs."""

    @classmethod
    def setUpClass(cls):
        cls.shared = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-update-"))
        cls.authority = Authority(cls.shared)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.shared)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-update-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.lists = Lists(self.authority)
        self.addCleanup(self.lists.stop)
        self.daemon = None
        self.configure([])

    def source(self, path, **more):
        return {"url": self.lists.url(path), **more}

    def configure(self, filters, update=None, **more):
        """`filters`: names and their keys. Written as JSON, which is YAML."""
        settings = {
            "include": ["conf.d/*.yaml"], "listeners": [{"address": "127.0.0.1:0"}], "workers": 1, "state_dir": "state",
            "filters": [{"name": name, "file": f"{name}.bwf"} | keys for name, keys in filters],
            "access": {"connect_ports": [], "deny_destinations": []},
            "timeouts": {"announce": 0, "drain": "1s"},
            "admin": {"address": "127.0.0.1:0", "control_socket": "control.sock"},
            "log": {"file": "proxy.log", "access": {"file": "off"}},
            "update": {"folder": "lists", "ca_file": str(self.shared / "oca.crt")} | (update or {})} | more
        text = re.sub(r'"(\d+(?:s|m|h|d|%|KiB|MiB|GiB))"', r"\1", json.dumps(settings))  # not quoted: no texts
        (self.folder / "bloomwall.yaml").write_text(text)

    def ads(self, *sources, **keys):
        self.configure([("ads", {"sources": list(sources) or [self.source("/ads.txt")]} | keys)])

    def command(self, *words, program="bloomwall", wait=120):
        return subprocess.run([BUILD / program, *map(str, words)], capture_output=True, text=True, timeout=wait, cwd=self.folder,
                              check=False)

    def update(self, *words, exit_status=0):
        done = self.command("update", "--config", "bloomwall.yaml", *words)
        self.assertEqual(done.returncode, exit_status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def state(self, name="ads"):
        done = json.loads((self.folder / "lists/lists.json").read_text())
        return next(entry for entry in done["filters"] if entry["filter"] == name)

    def first(self, name="ads"):
        return self.state(name)["sources"][0]

    def pass_time(self, seconds):
        """As if the first list had been fetched so much earlier."""
        file = self.folder / "lists/lists.json"
        state = json.loads(file.read_text())
        for name in ("checked", "succeeded", "changed", "due"):
            state["filters"][0]["sources"][0][name] -= seconds
        file.write_text(json.dumps(state))

    def stops(self, host, name="ads"):
        """Of a host, or of a host with a path."""
        url = f"http://{host}" + ("" if "/" in host else "/")
        done = self.command("query", f"{name}.bwf", url, program="bloomwall-filter")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.returncode == 1 or done.stdout.startswith("listed")

    def run_proxy(self):
        self.daemon = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.folder / "bloomwall.yaml"])
        self.addCleanup(self.end_proxy)
        log = self.folder / "proxy.log"
        said = until(lambda: log.exists() and "listening on" in log.read_text() and log.read_text(), 120)
        self.port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", said)[1])
        self.admin = int(re.search(r"admin on 127\.0\.0\.1:(\d+)", said)[1])

    def end_proxy(self):
        if self.daemon:
            self.daemon.send_signal(signal.SIGINT)
            self.daemon.wait(120)
            self.daemon = None

    def status_of(self, url):
        """What the running proxy answers."""
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        client.request("GET", url)
        answer = client.getresponse()
        answer.read()
        client.close()
        return answer.status

    def metrics(self):
        client = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=120)
        client.request("GET", "/metrics")
        text = client.getresponse().read().decode()
        client.close()
        return text

    def ask(self, method, path, body=None, **fields):
        """The API, over the control socket."""
        client = http.client.HTTPConnection("localhost", timeout=120)
        client.sock = socket.socket(socket.AF_UNIX)
        client.sock.connect(str(self.folder / "control.sock"))
        client.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json", **fields})
        answer = client.getresponse()
        text = answer.read()
        client.close()
        return answer.status, json.loads(text) if text else None


def hosts(count, prefix="ad"):
    return "".join(f"{prefix}{i}.test\n" for i in range(count))
