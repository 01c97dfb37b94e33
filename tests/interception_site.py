"""What the tests of TLS interception have in common: an authority for origins, an origin, the proxy, a client.

The tests that import it are called with BUILD_DIR as their first argument.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import unittest
import urllib.request

BUILD = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
# For programs whose clock a test sets (tests/support/set_clock.cc). It must be loaded before every other library, and so must a
# sanitizer.
CLOCK = BUILD and BUILD / "tests/support/libbloomwall_set_clock.so"
SANITIZED = BUILD and "BLOOMWALL_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text()
WAIT = 20  # seconds, for anything
HALF = 1 << 16  # octets of each half of /gated
NAMES = ["ok.test", "marked.test", "www.marked.test", "blocked.test", "never.test", "allowed.test", "other.test"]
P256 = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")  # a kind of key, as openssl wants it
DAYS_AGO = ("faketime", "-f", "-3d")  # before openssl: what it signs for a day has expired. OpenSSL 3.5 signs nothing that ends before now
UPGRADE = ("Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n")
LIST = "marked.test/bad/\nallowed.test/bad/\nblocked.test\nnever.test/bad/\n"


class Server:
    """A thread for each connection, on any port of this machine."""

    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.server.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.server.accept()
                threading.Thread(target=self.begin, args=(client,), daemon=True).start()

    def begin(self, client):
        with contextlib.suppress(OSError, AssertionError), client:
            self.serve(client)

    def close(self):
        self.server.close()


def clock_ahead(seconds=None, file=None):
    """The environment of a program whose clock is so many seconds ahead, or as many as the file says."""
    says = {"BLOOMWALL_CLOCK_FILE": str(file)} if file else {"BLOOMWALL_CLOCK_AHEAD": str(seconds)}
    return {"LD_PRELOAD": str(CLOCK), **says}


def set_clock(file, seconds):
    """The file always holds a whole number."""
    written = file.with_suffix(".new")
    written.write_text(f"{seconds:+.3f}\n")
    written.replace(file)


def run(*command, **kwargs):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **kwargs)


def whole_lines(path):
    """The lines of a log that another process writes: what it is at the middle of is not there yet, nor is a file that it has not made."""
    text = path.read_bytes() if path.exists() else b""
    return text[:text.rfind(b"\n") + 1].decode().splitlines()


def until(condition, wait=WAIT):
    end = time.monotonic() + wait
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError("did not happen in time")
        time.sleep(0.02)
    return value


class Authority:
    """The origins' own CA, in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.root("oca", "/CN=origin CA")

    def root(self, stem, subject):
        run("openssl", "req", "-x509", "-newkey", *P256, "-nodes", "-days", "30", "-keyout", self.folder / f"{stem}.key",
            "-out", self.folder / f"{stem}.crt", "-subj", subject, "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def issue(self, stem, names, expired=False, kind=P256, subject="/CN=origin", usage="serverAuth,clientAuth", digest="sha256", more="", signer="oca"):
        """A certificate and its key, signed by `signer`, the stem of one that was issued before."""
        key, request, extensions = (self.folder / f"{stem}.{end}" for end in ("key", "csr", "ext"))
        san = "subjectAltName=" + ",".join(f"DNS:{name}" for name in names) + "\n" if names else ""
        extensions.write_text(f"{san}extendedKeyUsage={usage}\n{more}")
        run("openssl", "req", "-newkey", *kind, "-nodes", "-keyout", key, "-out", request, "-subj", subject)
        run(*(DAYS_AGO if expired else ()), "openssl", "x509", "-req", "-in", request, "-CA", self.folder / f"{signer}.crt", "-CAkey",
            self.folder / f"{signer}.key", "-CAcreateserial", f"-{digest}", "-days", "1" if expired else "10", "-out", self.folder / f"{stem}.crt", "-extfile", extensions)
        return self.folder / f"{stem}.crt", key


class Origin:
    """An HTTPS server that answers with what it was asked, and counts its connections."""

    def __init__(self, certificate=None, key=None, client_authority=None, asks=ssl.CERT_REQUIRED, most=None, ciphers="DEFAULT", port=0):
        """Without a certificate a server of plain HTTP. `asks`: what it wants of a client's certificate; `most`, `ciphers`: of its TLS."""
        origin = self
        self.connections, self.resumed, self.requests = 0, 0, []
        self.gate = threading.Event()  # the second half of /gated waits for it

        class Handler(http.server.BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are two writes
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                origin.requests.append((self.path, dict(self.headers)))
                if self.headers.get("Upgrade") == "websocket":
                    return self.echo(self.headers["Sec-WebSocket-Key"])
                if self.path == "/gated":
                    return self.gated()
                body = f"origin:{self.path}".encode()
                self.send_response(200)
                for field in (("Content-Length", str(len(body))), ("Alt-Svc", 'h3=":443"'),
                              ("Public-Key-Pins", "pin"), ("Strict-Transport-Security", "max-age=9"),
                              ("Content-Security-Policy", "default-src 'self'")):
                    self.send_header(*field)
                self.end_headers()
                self.wfile.write(body)

            def do_POST(self):
                size = int(self.headers.get("Content-Length") or 0)
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while size := int(self.rfile.readline() or b"-1", 16):
                        if size < 0:
                            self.close_connection = True
                            return  # cut
                        self.rfile.read(size + 2)
                    while self.rfile.readline().strip():
                        pass
                else:
                    self.rfile.read(size)
                self.do_GET()

            do_OPTIONS = do_GET

            def gated(self):
                self.send_response(200)
                self.send_header("Content-Length", str(2 * HALF))
                self.end_headers()
                self.wfile.write(b"1" * HALF)
                self.wfile.flush()
                origin.gate.wait(WAIT)
                self.wfile.write(b"2" * HALF)

            def echo(self, key):
                accept = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()
                self.wfile.write(f"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
                                 f"Sec-WebSocket-Accept: {accept}\r\n\r\n".encode())
                while piece := self.connection.recv(65536):
                    self.connection.sendall(piece)
                self.close_connection = True

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            def get_request(self):
                origin.connections += 1
                return super().get_request()

            def finish_request(self, request, address):
                with contextlib.suppress(ssl.SSLError, OSError):
                    if certificate:
                        request = context.wrap_socket(request, server_side=True)
                        origin.resumed += request.session_reused
                    super().finish_request(request, address)

        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.set_ciphers(f"{ciphers}:@SECLEVEL=0")  # what is weak is for the proxy to refuse
            context.load_cert_chain(certificate, key)
        if certificate and most:
            context.minimum_version = context.maximum_version = most
        if client_authority:
            context.verify_mode = asks
            context.load_verify_locations(client_authority)
        self.server = Server(("127.0.0.1", port or 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Proxy:
    """`bloomwall run`. `tls` are lines of tls_inspection, `access` members of access, `more` whole sections."""
    environment = {}  # beside that of the test

    def __init__(self, folder, mode, ports, more="", name=None, names=NAMES, tls="", access="", dns=None, environment=None, workers=2):
        self.folder, self.name, self.environment, self.workers = folder, name or mode, environment or {}, workers
        dns = dns or "{hosts: {%s}}" % ", ".join(f"{name}: 127.0.0.1" for name in names)
        self.file = folder / f"{self.name}.yaml"
        more = more if "timeouts:" in more else f"timeouts: {{announce: 0, drain: 1s}}\n{more}"
        self.write(mode, ports, dns, tls + more, access)
        self.start()

    def start(self):
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.file], stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **self.environment})
        self.lines, self.port, self.admin = [], 0, 0
        for line in self.process.stderr:
            self.lines.append(line)
            if "admin on" in line:
                self.admin = int(line.split("admin on 127.0.0.1:")[1].split()[0])
            if "listening on" in line:
                self.port = int(line.rsplit(":", 1)[1])
                break
        threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True).start()
        assert self.port, self.lines

    def write(self, mode, ports, dns, more, access):
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: {self.workers}
filters: [{{name: list, file: {self.folder}/list.bwf}}]
allow_lists: [{self.folder}/allow.txt]
access: {{connect_ports: [{", ".join(str(p) for p in ports)}], deny_destinations: []{access}}}
dns: {dns}
admin: {{address: "127.0.0.1:0", control_socket: {self.folder}/{self.name}.sock}}
log: {{level: debug, access: {{file: {self.folder}/{self.name}.log}}}}
{"" if "state_dir:" in more else "state_dir: null"}
tls_inspection:
  mode: {mode}
  ca: {{certificate: {self.folder}/ca.crt, key: {self.folder}/ca.key}}
  never: [{self.folder}/never.txt]
  verify: {{ca_file: {self.folder}/oca.crt}}
{more}""")

    def log(self):
        """The lines that are whole by now."""
        return [json.loads(line) for line in whole_lines(self.folder / f"{self.name}.log")]

    def metrics(self, name):
        """Of those that begin so: the whole name, and the figure."""
        text = urllib.request.urlopen(f"http://127.0.0.1:{self.admin}/metrics", timeout=WAIT).read().decode()
        rows = (line.rsplit(" ", 1) for line in text.splitlines())
        return {row[0][10:]: float(row[1]) for row in rows if row[0].startswith("bloomwall_" + name)}

    def metric(self, name):
        return sum(self.metrics(name).values())

    def reload(self):
        run(BUILD / "bloomwall", "reload", "--config", self.file)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stderr.close()
        return self.process.returncode


class Client:
    """CONNECT, then TLS with whoever answers."""

    def __init__(self, proxy, host, port, agent="Mozilla/5.0 (test)", source="127.0.0.1"):
        self.socket = socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT, source_address=(source, 0))
        self.socket.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\nUser-Agent: {agent}\r\n\r\n".encode())
        self.host, self.port = host, port
        self.status, self.fields, self.early = self.answer()  # what came with the head, too

    def tls(self, roots, name=None, alpn=("http/1.1",), **settings):
        assert self.status == 200, self.status
        context = ssl.create_default_context(cafile=str(roots))
        context.set_alpn_protocols(alpn)
        if "certificate" in settings:
            context.load_cert_chain(*settings["certificate"])
        if "most" in settings:
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.set_ciphers("ALL:@SECLEVEL=0")
            context.maximum_version = settings["most"]
        self.socket = context.wrap_socket(self.socket, server_hostname=name or self.host)
        return self

    def ask(self, path, host=None, line=None, more=""):
        host = host or f"{self.host}:{self.port}"
        self.socket.sendall(f"{line or f'GET {path} HTTP/1.1'}\r\nHost: {host}\r\n{more}\r\n".encode())
        return self.answer()

    def answer(self):
        data = b""
        while b"\r\n\r\n" not in data:
            piece = self.socket.recv(65536)
            if not piece:
                return 0, {}, data
            data += piece
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        fields = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
        status = int(lines[0].split()[1])
        while status != 101 and len(body) < int(fields.get("content-length", 0)):
            piece = self.socket.recv(65536)
            if not piece:
                break
            body += piece
        return status, fields, body

    def issuer(self):
        return dict(pair[0] for pair in self.socket.getpeercert()["issuer"])["commonName"]


def main(*needed):
    """Of a test: runs its cases, or says why not."""
    if BUILD is None:
        sys.exit(sys.modules["__main__"].__doc__)
    os.environ["PATH"] += ":/usr/sbin"
    missing = [program for program in ("openssl", *needed) if shutil.which(program) is None]
    if missing:
        print("skipped: no " + ", ".join(missing))
        sys.exit(77)
    unittest.main(verbosity=2)
