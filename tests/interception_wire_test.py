#!/usr/bin/env python3
"""Interception of TLS through the programs that ship: odd ClientHellos and requests, resumption, certificates made, memory, CAs.

Usage: interception_wire_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where openssl is missing.
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import contextlib
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest
import warnings

from interception_site import BUILD, DAYS_AGO, HALF, LIST, NAMES, SANITIZED, WAIT, Authority, Client, Origin, Proxy, clock_ahead, main, run, set_clock, until

FRESH = [f"n{i}.fresh.test" for i in range(20)]
# Messages that servers read in two ways, and some that are well formed. {target}: as the place wants it; each asks to be the last.
FRAMINGS = {
    "one request": "GET {target}/1 HTTP/1.1\r\n{host}Connection: close\r\n\r\n",
    "two at once": "GET {target}/1 HTTP/1.1\r\n{host}\r\nGET {target}/2 HTTP/1.1\r\n{host}Connection: close\r\n\r\n",
    "length and chunks": "POST {target}/1 HTTP/1.1\r\n{host}Content-Length: 5\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
                         "0\r\n\r\nGET {target}/smuggled HTTP/1.1\r\n{host}\r\n",
    "two lengths": "POST {target}/1 HTTP/1.1\r\n{host}Content-Length: 0\r\nContent-Length: 9\r\nConnection: close\r\n\r\nGET /smug",
    "two equal lengths": "POST {target}/1 HTTP/1.1\r\n{host}Content-Length: 1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx",
    "a list of lengths": "POST {target}/1 HTTP/1.1\r\n{host}Content-Length: 1, 1\r\nConnection: close\r\n\r\nx",
    "a length with a sign": "POST {target}/1 HTTP/1.1\r\n{host}Content-Length: +1\r\nConnection: close\r\n\r\nx",
    "an unknown coding": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding: xchunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "chunked twice": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding: chunked, chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "chunked before another": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding: chunked, identity\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "a blank before the colon": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding : chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "a folded field": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding:\r\n chunked\r\nConnection: close\r\n\r\n0\r\n\r\n",
    "chunks": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    "a chunk size that is none": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n0x3\r\nabc\r\n0\r\n\r\n",
    "a chunk that is longer": "POST {target}/1 HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
    "no host": "GET {target}/1 HTTP/1.1\r\nConnection: close\r\n\r\n",
    "two hosts": "GET {target}/1 HTTP/1.1\r\n{host}Host: other.test\r\nConnection: close\r\n\r\n",
    "a bare line feed": "GET {target}/1 HTTP/1.1\r\n{host}X: y\nConnection: close\r\n\r\n",
    "a bare carriage return": "GET {target}/1 HTTP/1.1\r\n{host}X: a\rb\r\nConnection: close\r\n\r\n",
    "a zero octet": "GET {target}/1 HTTP/1.1\r\n{host}X: a\0b\r\nConnection: close\r\n\r\n",
    "no version": "GET {target}/1\r\n{host}\r\n",
    "a version to come": "GET {target}/1 HTTP/2.0\r\n{host}Connection: close\r\n\r\n",
    "a blank too many": "GET  {target}/1 HTTP/1.1\r\n{host}Connection: close\r\n\r\n",
    "too long a head": "GET {target}/1 HTTP/1.1\r\n{host}X: " + "y" * 70000 + "\r\nConnection: close\r\n\r\n",
}


def statuses(answer):
    """Of all answers in what was read to the end of the connection."""
    out = []
    while answer.startswith(b"HTTP/1."):
        head, _, answer = answer.partition(b"\r\n\r\n")
        fields = {k.lower(): v.strip() for k, _, v in (line.partition(b":") for line in head.split(b"\r\n")[1:])}
        out.append(int(head.split()[1]))
        answer = answer[int(fields.get(b"content-length", 0)):]
    return out


def read_to_end(connection):
    data = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLError):
        while piece := connection.recv(65536):
            data += piece
    return data


class Wire(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)  # sockets end with their case

    @classmethod
    def setUpClass(cls):
        cls.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        cls.own, cls.theirs = folder / "ca.crt", folder / "oca.crt"
        authority = Authority(folder)
        for name in ("allow.txt", "never.txt"):
            (folder / name).touch()
        (folder / "list.txt").write_text(LIST)
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        cls.good = authority.issue("good", [*NAMES, "*.fresh.test"])
        cls.origin, cls.plain = Origin(*cls.good), Origin()
        cls.fresh = iter(FRESH)
        cls.proxies = {"all": cls.start("all", "all")}

    @classmethod
    def tearDownClass(cls):
        ends = {name: proxy.end() for name, proxy in cls.proxies.items()}
        for origin in (cls.origin, cls.plain):
            origin.close()
        shutil.rmtree(cls.folder)
        assert set(ends.values()) == {0}, ends

    @classmethod
    def start(cls, name, mode, **settings):
        return Proxy(cls.folder, mode, [], name=name, names=[*NAMES, *FRESH], **settings)

    def own_proxy(self, name, mode="all", **settings):
        self.proxies[name] = self.start(name, mode, **settings)
        return self.proxies[name]

    def connect(self, host="ok.test", proxy=None):
        return Client(proxy or self.proxies["all"], host, self.origin.port)

    def test_framing_is_judged_inside_as_outside(self):
        for name, text in FRAMINGS.items():
            self.origin.requests.clear()
            self.plain.requests.clear()
            inside = self.connect().tls(self.own).socket
            authority = f"ok.test:{self.origin.port}"
            inside.sendall(text.format(target="", host=f"Host: {authority}\r\n").encode("latin-1"))
            got = statuses(read_to_end(inside))
            outside = socket.create_connection(("127.0.0.1", self.proxies["all"].port), timeout=WAIT)
            authority = f"ok.test:{self.plain.port}"
            outside.sendall(text.format(target=f"http://{authority}", host=f"Host: {authority}\r\n").encode("latin-1"))
            wanted = statuses(read_to_end(outside))
            self.assertTrue(wanted, name)
            self.assertEqual(got, wanted, name)
            paths = [[path for path, _ in origin.requests] for origin in (self.origin, self.plain)]
            self.assertEqual(*paths, name)
            self.assertNotIn("/smuggled", paths[0], name)
        self.assertEqual(statuses(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1 404 No\r\n\r\n"), [200, 404])

    def test_options_of_the_server_itself(self):
        client = self.connect().tls(self.own)
        self.assertEqual(client.ask("*", line="OPTIONS * HTTP/1.1")[0], 200)
        self.assertEqual(self.origin.requests[-1][0], "*")

    def handshake(self, client, change, protocols=("http/1.1",)):
        """TLS whose ClientHello goes out as `change` makes it: a list of pieces."""
        context = ssl.create_default_context(cafile=str(self.own))
        context.set_alpn_protocols(protocols)
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname=client.host)
        pieces = change
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                said = outgoing.read()
                for piece in pieces(said) if pieces else [said]:
                    client.socket.sendall(piece)
                pieces = None
                incoming.write(client.socket.recv(65536))
        tls.write(f"GET /after HTTP/1.1\r\nHost: {client.host}:{client.port}\r\n\r\n".encode())
        client.socket.sendall(outgoing.read())
        answer = b""
        while b"origin:/after" not in answer:
            piece = client.socket.recv(65536)
            self.assertTrue(piece, answer)
            incoming.write(piece)
            with contextlib.suppress(ssl.SSLWantReadError):
                while True:
                    answer += tls.read(65536)
        return answer

    def test_hellos_of_many_records_and_of_many_octets(self):
        def in_records(count):
            def change(said):
                body, size = said[5:], -(-(len(said) - 5) // count)
                return [b"".join(said[:3] + len(body[i:i + size]).to_bytes(2, "big") + body[i:i + size] for i in range(0, len(body), size))]
            return change

        for count in (1, 3, 40):
            self.handshake(self.connect(), in_records(count))
        padding = [f"{i:x<255}" for i in range(64)]  # 16 KiB
        sizes = []
        self.handshake(self.connect(), lambda said: sizes.append(len(said)) or [said], ("http/1.1", *padding))
        self.assertGreater(sizes[0], 16384)

    def test_a_hello_that_drips_is_ended(self):
        proxy = self.own_proxy("impatient", more="timeouts: {announce: 0, request_header: 500ms, tls_handshake: 500ms}\n")
        client = self.connect(proxy=proxy)
        said = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 500
        began = time.monotonic()
        client.socket.settimeout(0.05)  # the beat of the drip
        ended = False
        for octet in said:
            with contextlib.suppress(socket.timeout):
                try:
                    client.socket.sendall(bytes([octet]))
                    ended = client.socket.recv(100) == b""
                except OSError as error:
                    ended = not isinstance(error, socket.timeout)
            if ended:
                break
        self.assertTrue(ended)
        self.assertLess(time.monotonic() - began, WAIT)

    def test_both_sides_resume(self):
        """Over both workers; what is not resumed is the first of each."""
        context = ssl.create_default_context(cafile=str(self.own))
        host = next(self.fresh)
        session, resumed, before = None, 0, self.origin.resumed
        for _ in range(100):
            client = self.connect(host)
            with context.wrap_socket(client.socket, server_hostname=host, session=session) as client.socket:
                resumed += client.socket.session_reused
                self.assertEqual(client.ask("/")[0], 200)
                session = client.socket.session
        self.assertGreaterEqual(resumed, 95)
        self.assertGreaterEqual(self.origin.resumed - before, 95)

    def test_serials_never_repeat(self):
        """Two hosts, two processes, one authority."""
        serials = []
        for proxy in (self.proxies["all"], self.own_proxy("twin")):
            for host in ("ok.test", "other.test"):
                serials.append(int(self.connect(host, proxy).tls(self.own).socket.getpeercert()["serialNumber"], 16))
        self.assertEqual(len(set(serials)), 4)
        self.assertTrue(all(0 < serial < 1 << 127 for serial in serials))
        self.assertGreater(max(serials).bit_length(), 119)

    def test_clients_that_ask_at_once_share_one_certificate(self):
        host, proxy = next(self.fresh), self.proxies["all"]
        before = proxy.metric("leaves_minted_total")
        with concurrent.futures.ThreadPoolExecutor(50) as clients:
            seen = list(clients.map(lambda _: self.connect(host).tls(self.own).socket.getpeercert()["serialNumber"], range(50)))
        self.assertEqual(proxy.metric("leaves_minted_total") - before, 1)
        self.assertEqual(len(set(seen)), 1)

    def test_random_names_below_a_blocked_domain_burn_no_core(self):
        proxy = self.own_proxy("flooded", "blocked")
        began, served = time.monotonic(), 0

        def ask(i):
            try:
                return Client(proxy, f"x{i}.blocked.test", self.origin.port).tls(self.own).ask("/")[0] == 403
            except (ssl.SSLError, OSError):
                return False

        with concurrent.futures.ThreadPoolExecutor(8) as clients:
            served = sum(clients.map(ask, range(400)))
        limit = 20 * (time.monotonic() - began + 1)
        self.assertGreater(served, 0)
        self.assertLessEqual(proxy.metric("leaves_minted_total"), limit)
        # Another client is not held up by it.
        with socket.create_connection(("127.0.0.1", proxy.port), WAIT, source_address=("127.0.0.2", 0)) as other:
            client = Client.__new__(Client)
            client.socket, client.host, client.port = other, "y.blocked.test", self.origin.port
            other.sendall(b"CONNECT y.blocked.test:443 HTTP/1.1\r\nHost: y.blocked.test:443\r\nUser-Agent: Mozilla/5.0\r\n\r\n")
            client.status = client.answer()[0]
            self.assertEqual(client.tls(self.own).ask("/", host="y.blocked.test")[0], 403)

    def failed(self, proxy, reason):
        return proxy.metric(f'tls_interceptions_failed_total{{reason="{reason}"}}')

    def test_an_authority_that_expires_while_it_is_used(self):
        """Its leaves serve as long as they are good; for other hosts there is none."""
        if SANITIZED:
            self.skipTest("a sanitizer comes before every other library")
        clock = self.folder / "clock"
        day = 86400
        set_clock(clock, 0)
        proxy = self.own_proxy("expiring", "blocked", environment=clock_ahead(file=clock))
        self.assertEqual(Client(proxy, "blocked.test", 443).tls(self.own).ask("/")[0], 403)
        for failures, (when, why) in enumerate(((4000 * day, "expired"), (-30 * day, "")), 1):  # a CA from the future
            set_clock(clock, when)
            with self.assertRaises(OSError):
                Client(proxy, "x.blocked.test", 443).tls(self.own)
            self.assertEqual(self.failed(proxy, "mint"), failures)
            until(lambda: any("no certificate for x.blocked.test" in line and why in line for line in proxy.lines))
        set_clock(clock, 0)
        self.assertEqual(Client(proxy, "x.blocked.test", 443).tls(self.own).ask("/")[0], 403)

    def test_a_slow_signer_has_a_bounded_queue(self):
        folder = self.folder / "slow"
        folder.mkdir()
        run("openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-days", "3000", "-keyout", folder / "ca.key", "-out", folder / "ca.crt",
            "-subj", "/CN=slow CA", "-addext", "keyUsage=critical,keyCertSign,cRLSign", "-addext", "basicConstraints=critical,CA:TRUE,pathlen:0")
        (folder / "ca.key").chmod(0o600)
        proxy = self.own_proxy("slow-signer", "blocked", more="limits: {leaves_per_client: 100000, handshakes: 100000}\n")
        proxy.file.write_text(proxy.file.read_text().replace(f"{self.folder}/ca.", f"{folder}/ca."))
        proxy.reload()
        self.assertEqual(Client(proxy, "blocked.test", 443).tls(folder / "ca.crt").ask("/")[0], 403)
        context = ssl.create_default_context()
        context.check_hostname = False
        outgoing = ssl.MemoryBIO()
        nameless = context.wrap_bio(ssl.MemoryBIO(), outgoing)
        with self.assertRaises(ssl.SSLWantReadError):
            nameless.do_handshake()
        hello, waiting = outgoing.read(), []
        for i in range(4000):
            waiting.append(Client(proxy, f"q{i}.blocked.test", 443))
            waiting[-1].socket.sendall(hello)
            if i % 100 == 0 and self.failed(proxy, "overload") > 0:
                break
        self.assertGreater(self.failed(proxy, "overload"), 0)
        self.assertGreater(len(waiting), 1024)
        self.assertEqual(Client(proxy, "blocked.test", 443).tls(folder / "ca.crt").ask("/")[0], 403, "its certificate is there")
        self.assertEqual(waiting[0].socket.recv(1), b"\x16", "who was in the queue gets one")
        for client in waiting:
            client.socket.close()

    def test_idle_connections_hold_little_memory(self):
        if SANITIZED:
            self.skipTest("a sanitizer's own memory would be measured")
        proxy, count = self.own_proxy("idle"), 300

        def held():
            status = pathlib.Path(f"/proc/{proxy.process.pid}/status").read_text()
            return int(status.split("RssAnon:")[1].split()[0])

        def open_one(_):
            client = self.connect(proxy=proxy).tls(self.own)
            self.assertEqual(client.ask("/idle")[0], 200)
            return client

        for client in [open_one(i) for i in range(20)]:  # what is allocated once
            client.socket.close()
        until(lambda: proxy.metric("intercepted_connections_active") == 0)
        before, peaks = held(), []
        for _ in range(2):
            with concurrent.futures.ThreadPoolExecutor(8) as openers:
                clients = list(openers.map(open_one, range(count)))
            peaks.append(held() - before)
            for client in clients:
                client.socket.close()
            until(lambda: proxy.metric("intercepted_connections_active") == 0)
        self.assertLessEqual(peaks[0], 64 * count)
        self.assertLessEqual(peaks[1], peaks[0] + 8 * count, "what the first gave back serves the second")

    def test_another_authority_comes_with_a_reload(self):
        folder = self.folder / "rotated"
        folder.mkdir()
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        proxy = self.own_proxy("rotated-ca")
        proxy.file.write_text(proxy.file.read_text().replace(f"{self.folder}/ca.", f"{folder}/ca."))
        proxy.reload()
        first = folder / "first.crt"
        shutil.copy(folder / "ca.crt", first)
        both = folder / "both.crt"
        download = self.connect(proxy=proxy).tls(first)
        download.socket.sendall(f"GET /gated HTTP/1.1\r\nHost: ok.test:{self.origin.port}\r\n\r\n".encode())
        got = b""
        while got.count(b"1" * 1000) == 0:
            got += download.socket.recv(65536)
        context = ssl.create_default_context(cafile=str(first))
        client = self.connect(proxy=proxy)
        with context.wrap_socket(client.socket, server_hostname="ok.test") as client.socket:
            client.ask("/")
            session = client.socket.session
        run(BUILD / "bloomwall", "ca", "init", "--out", folder, "--force")
        both.write_text(first.read_text() + (folder / "ca.crt").read_text())
        proxy.reload()
        with self.assertRaises(ssl.SSLError):
            self.connect(proxy=proxy).tls(first)
        self.assertEqual(self.connect(proxy=proxy).tls(folder / "ca.crt").ask("/")[0], 200)
        context.load_verify_locations(str(both))
        client = self.connect(proxy=proxy)
        with context.wrap_socket(client.socket, server_hostname="ok.test", session=session) as again:
            self.assertFalse(again.session_reused, "a ticket of the authority before")
        self.origin.gate.set()
        while len(got.partition(b"\r\n\r\n")[2]) < 2 * HALF:
            piece = download.socket.recv(65536)
            self.assertTrue(piece, "the download was cut")
            got += piece
        self.assertEqual(got.partition(b"\r\n\r\n")[2], b"1" * HALF + b"2" * HALF)

    def test_a_start_without_a_usable_authority(self):
        folder = self.folder / "faulty"
        folder.mkdir()
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        run(BUILD / "bloomwall", "ca", "init", "--out", folder / "foreign")
        text = self.proxies["all"].file.read_text()

        def configured(certificate, key, more=""):
            file = folder / "faulty.yaml"
            file.write_text(text.replace(f"{self.folder}/ca.crt", str(certificate)).replace(f"{self.folder}/ca.key", str(key))
                            .replace("all.sock", "faulty.sock").replace("all.log", "faulty.log").replace("  mode: all\n", f"  mode: all\n{more}"))
            return file

        shutil.copy(folder / "ca.key", folder / "open.key")
        (folder / "open.key").chmod(0o640)
        run("openssl", "req", "-new", "-key", folder / "ca.key", "-subj", "/CN=over", "-out", folder / "over.csr")
        (folder / "over.ext").write_text("basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n")
        run(*DAYS_AGO, "openssl", "x509", "-req", "-in", folder / "over.csr", "-signkey", folder / "ca.key", "-days", "1", "-extfile", folder / "over.ext",
            "-out", folder / "over.crt")
        faults = {"readable by others": (folder / "ca.crt", folder / "open.key"), "expired": (folder / "over.crt", folder / "ca.key"), "of another": (folder / "ca.crt", folder / "foreign/ca.key"),
                  "no authority": (self.good[0], self.good[1]), "absent": (folder / "none.crt", folder / "ca.key")}
        for name, (certificate, key) in faults.items():
            self.good[1].chmod(0o600)
            done = subprocess.run([BUILD / "bloomwall", "run", "--config", configured(certificate, key)], capture_output=True, text=True, timeout=WAIT,
                                  check=False)
            self.assertEqual(done.returncode, 78, (name, done.stderr))
            self.assertTrue(str(certificate) in done.stderr or str(key) in done.stderr, (name, done.stderr))
        configured(folder / "ca.crt", folder / "open.key", "  on_ca_failure: off\n")
        checked = subprocess.run([BUILD / "bloomwall", "check", "--json", "--config", folder / "faulty.yaml"], capture_output=True, text=True, check=True)
        self.assertIn("open.key", json.loads(checked.stdout)["warnings"][0])
        self.assertIn("TLS is not inspected", json.loads(checked.stdout)["warnings"][0])
        (folder / "never.yaml").write_text((folder / "faulty.yaml").read_text().replace("never: [", "never: [/nowhere, "))
        checked = subprocess.run([BUILD / "bloomwall", "check", "--config", folder / "never.yaml"], capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 78, checked.stderr)
        proxy = Proxy.__new__(Proxy)
        proxy.folder, proxy.name, proxy.file = folder, "faulty", folder / "faulty.yaml"
        proxy.start()
        self.proxies["faulty"] = proxy
        self.assertEqual(Client(proxy, "ok.test", self.origin.port).tls(self.theirs).issuer(), "origin CA")
        self.assertTrue(any("tls_inspection" in line or "open.key" in line for line in proxy.lines), proxy.lines)


if __name__ == "__main__":
    main()
