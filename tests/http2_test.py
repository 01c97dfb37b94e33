#!/usr/bin/env python3
"""HTTP/2 inside TLS that the proxy ends, through the programs that ship: real clients and origins.

Usage: http2_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where a program it needs is missing.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings

import interception_site as base
from ports import free_ports

WAIT = base.WAIT
MIB = 1 << 20
MEDIUM = MIB // 2
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def await_port(port, process):
    def answers():
        assert process.poll() is None, "the origin has ended"
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    base.until(answers)


class Nghttpd:
    """Serves a folder, and gives back what it is sent."""

    def __init__(self, certificate, key, folder, *more):
        self.port = free_ports(1)[0]
        self.process = subprocess.Popen(["nghttpd", "--echo-upload", "-a", "127.0.0.1", "-d", folder, *more, str(self.port), key,
                                         certificate], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_port(self.port, self.process)

    def close(self):
        self.process.kill()
        self.process.wait()


class Nginx:
    """HTTP/2 on TLS; says goodbye after a few requests, as nginx does after a thousand."""

    def __init__(self, certificate, key, folder):
        self.port = free_ports(1)[0]
        home = folder / "nginx"
        home.mkdir()
        config = home / "nginx.conf"
        config.write_text(f"""
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off; client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  server {{
    listen 127.0.0.1:{self.port} ssl http2;
    ssl_certificate {certificate}; ssl_certificate_key {key};
    keepalive_requests 20;
    location / {{ root {folder}/www; }}
    location /version {{ return 200 "$server_protocol $http_te $host"; }}
  }}
}}
""")
        self.process = subprocess.Popen(["nginx", "-p", home, "-c", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        await_port(self.port, self.process)

    def close(self):
        self.process.terminate()
        self.process.wait()


class OldFashioned(base.Server):
    """Chooses HTTP/2, and wants every request by HTTP/1.1, as servers do that log their users in by connection."""

    def __init__(self, certificate, key):
        self.http2, self.http1 = 0, 0  # connections
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        super().__init__()

    def serve(self, client):
        with self.context.wrap_socket(client, server_side=True) as peer:
            if peer.selected_alpn_protocol() == "h2":
                self.http2 += 1
                peer.sendall(frame(4, 0, 0))
                frames = Frames(peer, read_until(peer, PREFACE).partition(PREFACE)[2])
                for kind, _, stream, _ in frames:
                    if kind == 1:
                        peer.sendall(frame(3, 0, stream, b"\0\0\0\x0d"))
            self.http1 += 1
            while True:
                read_until(peer, b"\r\n\r\n")
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold")


class Bridge(base.Server):
    """A port for programs that know of no proxy: each connection becomes a CONNECT."""

    def __init__(self, proxy, host, port):
        self.proxy, self.target = proxy, (host, port)
        super().__init__()

    def begin(self, client):  # one direction may go on when the other has ended
        far = base.Client(self.proxy, *self.target).socket
        threading.Thread(target=self.pump, args=(far, client), daemon=True).start()
        self.pump(client, far)

    @staticmethod
    def pump(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


class Http2(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)  # sockets end with their case

    @classmethod
    def setUpClass(cls):
        cls.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        base.run(base.BUILD / "bloomwall", "ca", "init", "--out", folder)
        cls.own, cls.theirs = folder / "ca.crt", folder / "oca.crt"
        authority = base.Authority(folder)
        (folder / "list.txt").write_text(base.LIST)
        (folder / "allow.txt").write_text("")
        (folder / "never.txt").write_text("")
        base.run(base.BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        www = folder / "www"
        (www / "bad").mkdir(parents=True)
        (www / "bad" / "x").write_text("listed")
        (www / "good").write_text("fine")
        (www / "empty").write_text("")
        cls.large = os.urandom(10 * MIB)
        (www / "large").write_bytes(cls.large)
        (www / "medium").write_bytes(cls.large[:MEDIUM])
        cls.pair = authority.issue("good", base.NAMES)
        cls.origin = Nghttpd(*cls.pair, www)
        cls.nginx = Nginx(*cls.pair, folder)
        cls.http1 = base.Origin(*cls.pair)
        cls.old = OldFashioned(*cls.pair)
        cls.ports = [443, cls.origin.port, cls.nginx.port, cls.http1.port, cls.old.port]
        cls.proxies = {mode: base.Proxy(folder, mode, cls.ports, more=f"state_dir: state-{mode}\n") for mode in ("urls", "all")}
        cls.without = base.Proxy(folder, "urls", cls.ports, tls="  http2: false\n", name="without")

    @classmethod
    def tearDownClass(cls):
        ends = [proxy.end() for proxy in [*cls.proxies.values(), cls.without]]
        for origin in (cls.origin, cls.nginx, cls.http1, cls.old):
            origin.close()
        shutil.rmtree(cls.folder)
        assert set(ends) == {0}, ends

    def curl(self, host, path, *more, port=None, proxy=None, roots=None):
        """Status, version of HTTP and body."""
        proxy = proxy or self.proxies["urls"]
        done = subprocess.run(["curl", "-sS", "--http2", "--max-time", str(WAIT), "--proxy", f"http://127.0.0.1:{proxy.port}",
                               "--proxy-header", "User-Agent: Mozilla/5.0", "--cacert", roots or self.own, "-w", "\n%{http_code} %{http_version}",
                               *more, f"https://{host}:{port or self.origin.port}{path}"], capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        body, said = done.stdout.rsplit(b"\n", 1)
        status, version = said.decode().split()
        return int(status), version, body

    def test_listed_paths_are_blocked_and_others_pass(self):
        for mode in ("urls", "all"):
            for port in (self.origin.port, self.nginx.port):
                proxy = self.proxies[mode]
                status, version, body = self.curl("marked.test", "/bad/x", port=port, proxy=proxy)
                self.assertEqual((status, version), (403, "2"))
                self.assertNotIn(b"listed", body)
                self.assertEqual(self.curl("marked.test", "/good", port=port, proxy=proxy), (200, "2", b"fine"))

    def test_mistakes_are_reported_by_http2(self):
        html = ("-H", "Accept: text/html")
        _, _, page = self.curl("marked.test", "/bad/x", *html)
        action = re.search(r'<form method="post" action="https://marked.test:\d+([^"]+)">', page.decode())[1]
        ticket = re.search(r'name="ticket" value="([^"]+)"', page.decode())[1]
        status, version, answer = self.curl("marked.test", action, *html, "-d", f"ticket={ticket}", "-d", "comment=x")
        self.assertEqual((status, version), (201, "2"), answer)
        link = re.search(r'href="https://marked.test:\d+([^"]+)"', answer.decode())[1]
        self.assertEqual(self.curl("marked.test", link)[:2], (200, "2"))
        self.assertEqual(self.curl("marked.test", action, "-d", "ticket=AAAA")[0], 403)

    def test_both_ends_speak_one_version(self):
        self.assertEqual(self.curl("marked.test", "/version", port=self.nginx.port)[2].split()[0], b"HTTP/2.0")
        self.assertEqual(self.curl("marked.test", "/version", "--http1.1", port=self.nginx.port)[2].split()[0], b"HTTP/1.1")
        self.assertEqual(self.curl("marked.test", "/a", port=self.http1.port), (200, "1.1", b"origin:/a"))
        self.assertEqual(self.curl("marked.test", "/version", port=self.nginx.port, proxy=self.without)[1:], ("1.1", b"HTTP/1.1  marked.test"))

    def test_pages_are_shown_in_what_the_client_speaks(self):
        status, version, body = self.curl("blocked.test", "/page")
        self.assertEqual((status, version), (403, "1.1"), "HTTP/1.1 where the client offers it")
        client = base.Client(self.proxies["urls"], "blocked.test", self.origin.port).tls(self.own, alpn=("h2",))
        self.assertEqual(client.socket.selected_alpn_protocol(), "h2")
        client.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 5, 1, request("blocked.test", "/page")))
        self.assertIn(b"blocked", read_until(client.socket, b"</html>"))

    def test_who_speaks_http2_has_not_refused_the_certificate(self):
        proxy = self.proxies["urls"]
        before = proxy.metric("tls_client_refusals_total"), proxy.metric("tls_handshakes_total")
        client = base.Client(proxy, "blocked.test", self.origin.port).tls(self.own, alpn=("h2",))
        client.socket.sendall(PREFACE + frame(4, 0, 0))
        read_until(client.socket, frame(4, 1, 0))  # which acknowledges that
        client.socket.close()  # as browsers do with a connection that they do not need after all
        base.until(lambda: proxy.metric("http2_sessions_active") == 0)
        self.assertEqual(proxy.metric("tls_client_refusals_total"), before[0])
        self.assertEqual(proxy.metric("tls_handshakes_total"), before[1] + 1)

    def test_a_client_with_nothing_in_common_with_the_origin(self):
        proxy = self.proxies["urls"]
        refused = 'tls_decisions_total{action="refused",reason="alpn"}'
        before = proxy.metric(refused)
        with self.assertRaises(ssl.SSLError) as raised:
            base.Client(proxy, "marked.test", self.http1.port).tls(self.own, alpn=("h2",))
        self.assertIn("no application protocol", str(raised.exception))
        self.assertEqual(proxy.metric(refused), before + 1)
        for _ in range(2):  # found out, then remembered
            client = base.Client(self.proxies["all"], "ok.test", self.http1.port).tls(self.theirs, alpn=("h2",))
            self.assertEqual(client.issuer(), "origin CA", "nothing is enforced there beyond the host")
        client = base.Client(self.proxies["all"], "ok.test", self.http1.port).tls(self.own)
        self.assertEqual(client.ask("/a")[2], b"origin:/a", "others are decrypted as before")

    def test_large_bodies_both_ways(self):
        self.assertEqual(self.curl("marked.test", "/large")[2], self.large)
        self.assertEqual(self.curl("marked.test", "/large", port=self.nginx.port)[2], self.large)
        self.assertEqual(self.curl("marked.test", "/large", "--limit-rate", "8M")[2], self.large)
        status, version, body = self.curl("marked.test", "/echo", "-T", self.folder / "www" / "large")
        self.assertEqual((status, version), (200, "2"))
        self.assertEqual(body, self.large)
        self.assertEqual(self.curl("marked.test", "/empty")[::2], (200, b""))
        self.assertEqual(self.curl("marked.test", "/large", "-I")[0], 200)

    def test_a_hundred_streams_at_once(self):
        bridge = Bridge(self.proxies["urls"], "marked.test", self.origin.port)
        done = subprocess.run(["h2load", "-n", "3000", "-c", "3", "-m", "100", f"--connect-to=127.0.0.1:{bridge.port}",
                               f"https://marked.test:{self.origin.port}/good"], capture_output=True, text=True, timeout=60)
        bridge.close()
        self.assertIn("3000 succeeded, 0 failed, 0 errored", done.stdout, done.stderr)
        self.assertIn("Application protocol: h2", done.stdout)

    def test_an_origin_that_says_goodbye(self):
        """curl asks 60 times on connections that nginx ends after 20 requests each."""
        urls = []
        for i in range(60):
            urls += [f"https://marked.test:{self.nginx.port}/good?{i}", "-o", os.devnull]
        proxy = self.proxies["urls"]
        done = subprocess.run(["curl", "-sS", "--http2", "--max-time", str(WAIT), "--proxy", f"http://127.0.0.1:{proxy.port}", "--cacert",
                               self.own, "-w", "%{http_code} %{http_version}\n", *urls], capture_output=True, text=True)
        self.assertEqual(done.stdout.split("\n")[:-1], ["200 2"] * 60, done.stderr)

    def test_an_origin_that_wants_http1_gets_it(self):
        """curl asks again by itself; who does not finds HTTP/1.1 on its next connection."""
        self.assertEqual(self.curl("marked.test", "/a", port=self.old.port), (200, "1.1", b"old"))
        self.assertEqual((self.old.http2, self.old.http1), (1, 1))
        proxy = self.proxies["all"]
        client = self.raw(proxy, "ok.test", self.old.port)
        client.ask(1, "/a")
        client.run(lambda: 1 in client.ended)
        self.assertEqual(client.resets, {1: 0xd})
        client.ask(3, "/a")
        client.run(lambda: client.goaways)
        for _ in range(20):  # each worker remembers for itself
            status, version, _ = self.curl("ok.test", "/a", port=self.old.port, proxy=proxy)
            self.assertEqual((status, version), (200, "1.1"))
        self.assertLessEqual(self.old.http2, 4)

    def test_scarce_memory(self):
        """Who does not read yet waits, who reads goes on, and nobody is cut. Of one worker: each has a part of the memory for itself."""
        proxy = base.Proxy(self.folder, "all", self.ports, more="limits: {buffer_memory: 16MiB}\n", name="scarce", workers=1)
        self.addCleanup(proxy.process.kill)
        slow = [self.raw(proxy, "ok.test", self.origin.port) for _ in range(8)]
        streams = range(1, 121, 2)
        for client in slow:
            for stream in streams:
                client.ask(stream, "/medium")
        held = []

        def is_still():  # and spent
            held.append(proxy.metric("buffer_bytes"))
            return held[-1] > 13 * MIB and len(held) > 20 and len(set(held[-20:])) == 1

        base.until(is_still, 3 * WAIT)
        self.assertTrue(self.curl("ok.test", "/large", proxy=proxy)[2] == self.large)
        readers = [threading.Thread(target=client.run, args=(lambda client=client: len(client.ended) == len(streams),)) for client in slow]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        for client in slow:
            self.assertEqual(client.resets, {})
            self.assertEqual(client.octets, {stream: MEDIUM for stream in streams})
        self.assertEqual(proxy.metric("buffer_refusals_total"), 0)
        self.assertEqual(proxy.end(), 0)

    def test_windows_grow_with_who_reads(self):
        """A client that spends its window whole each time may send more at once than windows of 64 KiB would ever allow."""
        client = self.raw(self.proxies["all"], "ok.test", self.origin.port)
        client.begin_upload(1, "/echo")
        sent = most = 0
        while sent < 2 * MIB:
            client.run(lambda: client.room(1) > 0)
            room = client.room(1)
            most = max(most, room)
            client.upload(1, room)
            sent += room
        client.end_upload(1)
        client.run(lambda: 1 in client.ended)
        self.assertEqual((client.octets, client.resets), ({1: sent}, {}))
        self.assertGreater(most, 4 * 65536)

    def test_a_header_section_that_does_not_end(self):
        proxy = base.Proxy(self.folder, "all", self.ports, more="timeouts: {announce: 0, drain: 1s, request_header: 500ms}\n", name="slow-head")
        client = self.raw(proxy, "ok.test", self.origin.port)
        client.socket.sendall(frame(1, 1, 1, request("ok.test", "/good")))
        client.run(lambda: client.goaways)
        self.assertEqual(client.goaways, [0xb])
        self.assertEqual(client.socket.recv(100), b"")
        self.assertEqual(proxy.metric("http2_floods_total"), 1)
        self.assertEqual(proxy.end(), 0)

    def raw(self, proxy, host, port):
        return Raw(base.Client(proxy, host, port).tls(self.own, alpn=("h2",)))

    def test_requests_are_logged_as_in_http1(self):
        proxy = self.proxies["urls"]
        before = proxy.metric("http2_streams_total")
        self.curl("marked.test", "/good?secret")
        self.curl("marked.test", "/bad/listed?secret")
        rows = lambda: [row for row in proxy.log() if row.get("http2") and row.get("requested_host") == "marked.test"]
        base.until(lambda: any("/bad/listed" in row["url"] for row in rows()))
        blocked = [row for row in rows() if "/bad/listed" in row["url"]][-1]
        self.assertEqual((blocked["status"], blocked["proxy_type"], blocked["decision"]), (403, "https_in_tunnel", "blocked"))
        self.assertNotIn("secret", str(rows()))
        self.assertEqual(proxy.metric("http2_streams_total"), before + 2)
        base.until(lambda: proxy.metric("http2_sessions_active") == 0)

    def test_a_reload_counts_for_the_next_stream(self):
        """Of one connection."""
        proxy = self.proxies["all"]
        client = base.Client(proxy, "other.test", self.origin.port).tls(self.own, alpn=("h2",))
        client.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + frame(1, 5, 1, request("other.test", "/good")))
        self.assertIn(b"fine", read_until(client.socket, b"fine"))
        try:
            (self.folder / "list.txt").write_text(base.LIST + "other.test/good\n")
            base.run(base.BUILD / "bloomwall-filter", "build", "-o", self.folder / "list.bwf", self.folder / "list.txt")
            base.run(base.BUILD / "bloomwall", "reload", "--config", proxy.file)
            client.socket.sendall(frame(1, 5, 3, request("other.test", "/good")))
            self.assertIn(b"blocked", read_until(client.socket, b"blocked"))
        finally:
            (self.folder / "list.txt").write_text(base.LIST)
            base.run(base.BUILD / "bloomwall-filter", "build", "-o", self.folder / "list.bwf", self.folder / "list.txt")
            base.run(base.BUILD / "bloomwall", "reload", "--config", proxy.file)

    def test_rapid_resets_end_the_connection(self):
        proxy = self.proxies["urls"]
        before = proxy.metric("http2_floods_total")
        client = base.Client(proxy, "marked.test", self.origin.port).tls(self.own, alpn=("h2",))
        flood = b"".join(frame(1, 5, i, request("marked.test", "/large")) + frame(3, 0, i, b"\0\0\0\x08") for i in range(1, 2001, 2))
        client.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0) + flood)
        data = b""
        with contextlib.suppress(OSError):
            while piece := client.socket.recv(65536):
                data += piece
        self.assertIn(b"\0\0\0\x0b", data, "GOAWAY says ENHANCE_YOUR_CALM")
        self.assertEqual(proxy.metric("http2_floods_total"), before + 1)
        self.assertEqual(self.curl("marked.test", "/good")[0], 200)

    def test_stopping_lets_streams_end(self):
        proxy = base.Proxy(self.folder, "urls", self.ports, more="timeouts: {announce: 0, drain: 2m}", name="stopped")
        body = self.folder / "downloaded"
        download = subprocess.Popen(["curl", "-sS", "--http2", "--max-time", str(2 * WAIT), "--limit-rate", "4M", "--proxy",
                                     f"http://127.0.0.1:{proxy.port}", "--cacert", self.own, "-o", body,
                                     f"https://marked.test:{self.origin.port}/large"])
        base.until(lambda: body.exists() and body.stat().st_size > 0)
        self.assertEqual(proxy.end(), 0)
        self.assertEqual(download.wait(), 0)
        self.assertTrue(body.read_bytes() == self.large)

    def test_stopping_waits_for_clients_that_read_slowly(self):
        """And open windows meanwhile: a reset, in answer to that, would take what is still on its way."""
        proxy = base.Proxy(self.folder, "all", self.ports, more="timeouts: {announce: 0, drain: 2m}", name="left")
        self.addCleanup(proxy.process.kill)
        clients = []
        for _ in range(4):
            client = base.Client(proxy, "ok.test", self.origin.port)
            # Several segments of the loopback: a window below one opens five times a second.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
            clients.append(Raw(client.tls(self.own, alpn=("h2",))))
            clients[-1].socket.sendall(frame(4, 0, 0, b"\0\4\x7f\xff\xff\xff") + frame(8, 0, 0, b"\x7f\xff\0\0"))
            clients[-1].ask(1, "/large")
            clients[-1].run(lambda: clients[-1].octets)
        proxy.process.send_signal(signal.SIGTERM)
        for client in clients:
            client.run(lambda client=client: 1 in client.ended)
            self.assertEqual((client.octets, client.resets), ({1: len(self.large)}, {}))
            client.socket.close()
        self.assertEqual(proxy.process.wait(WAIT), 0)

    def test_grpc(self):
        """Calls of every kind, statuses in trailers, and what ends before its time: see grpc_peer.py."""
        pythons = [python for python in (sys.executable, "/usr/bin/python3")
                   if subprocess.run([python, "-c", "import grpc"], capture_output=True).returncode == 0]
        if not pythons:
            self.skipTest("no python3-grpcio")
        peer = [pythons[0], pathlib.Path(__file__).parent / "clients" / "grpc_peer.py"]
        origin = subprocess.Popen([*peer, "serve", *self.pair], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        port = int(origin.stdout.readline())
        proxy = base.Proxy(self.folder, "all", [*self.ports, port], name="grpc")
        try:
            asked = subprocess.run([*peer, "ask", f"ok.test:{port}", self.own], capture_output=True, text=True, timeout=3 * WAIT,
                                   env={**os.environ, "grpc_proxy": f"http://127.0.0.1:{proxy.port}"})
            self.assertEqual((asked.returncode, asked.stdout), (0, "all calls were answered\n"), asked.stderr)
            base.until(lambda: sum(bool(row.get("http2")) for row in proxy.log()) >= 7)
        finally:
            origin.communicate("")
            self.assertEqual(proxy.end(), 0)


def frame(kind, flags, stream, payload=b""):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def request(host, path, method="GET"):
    """As literals that are not indexed."""
    fields = [(":method", method), (":scheme", "https"), (":authority", host), (":path", path)]
    return b"".join(bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in fields)


class Frames:
    """What a peer says, frame by frame: kind, flags, stream, payload."""

    def __init__(self, peer, read=b""):
        self.peer, self.read = peer, read

    def take(self, size):
        while len(self.read) < size:
            piece = self.peer.recv(65536)
            if not piece:
                raise AssertionError("it ended")
            self.read += piece
        taken, self.read = self.read[:size], self.read[size:]
        return taken

    def __iter__(self):
        while True:
            head = self.take(9)
            yield head[3], head[4], int.from_bytes(head[5:], "big"), self.take(int.from_bytes(head[:3], "big"))


class Raw:
    """A client that reads when it is told to."""

    def __init__(self, client):
        self.socket, self.host = client.socket, client.host
        self.octets, self.resets, self.ended, self.goaways = {}, {}, set(), []
        self.first_window, self.windows = 65535, {0: 65535}  # of a stream: beyond the first, which SETTINGS change
        self.socket.sendall(PREFACE + frame(4, 0, 0))
        self.frames = iter(Frames(self.socket))

    def ask(self, stream, path):
        self.socket.sendall(frame(1, 5, stream, request(self.host, path)))

    def begin_upload(self, stream, path):
        """Once the other side's windows are known, and it knows that they are."""
        self.run(lambda: self.windows[0] > 65535)
        self.socket.sendall(frame(4, 1, 0) + frame(1, 4, stream, request(self.host, path, "PUT")))

    def room(self, stream):
        """Octets of a body that may be sent now."""
        return min(self.windows[0], self.first_window + self.windows.get(stream, 0))

    def upload(self, stream, size):
        for at in range(0, size, 16384):
            self.socket.sendall(frame(0, 0, stream, b"x" * min(16384, size - at)))
        for window in (0, stream):
            self.windows[window] = self.windows.get(window, 0) - size

    def end_upload(self, stream):
        self.socket.sendall(frame(0, 1, stream))

    def run(self, is_done):
        """Reads and opens windows."""
        while not is_done():
            kind, flags, stream, payload = next(self.frames)
            if kind == 0:
                self.octets[stream] = self.octets.get(stream, 0) + len(payload)
                update = len(payload).to_bytes(4, "big")
                if payload:
                    with contextlib.suppress(OSError):  # after its last octets the other side may be gone: the next read says whether it is
                        self.socket.sendall(frame(8, 0, 0, update) + frame(8, 0, stream, update))
            if kind == 3:
                self.resets[stream] = int.from_bytes(payload, "big")
            if kind == 4 and not flags & 1:
                settings = {payload[at:at + 2]: payload[at + 2:at + 6] for at in range(0, len(payload), 6)}
                self.first_window = int.from_bytes(settings.get(b"\0\4", self.first_window.to_bytes(4, "big")), "big")
            if kind == 8:
                self.windows[stream] = self.windows.get(stream, 0) + int.from_bytes(payload, "big")
            if kind == 7:
                self.goaways.append(int.from_bytes(payload[4:8], "big"))
            if kind == 3 or (kind < 2 and flags & 1):
                self.ended.add(stream)


def read_until(peer, text):
    data = b""
    while text not in data:
        piece = peer.recv(65536)
        if not piece:
            raise AssertionError(f"it ended: {data!r}")
        data += piece
    return data


if __name__ == "__main__":
    base.main("curl", "nghttpd", "h2load", "nginx")
