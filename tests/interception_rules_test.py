#!/usr/bin/env python3
"""Interception of TLS through the programs that ship: what is decrypted, what is shown, and what stays as it was.

Usage: interception_rules_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where openssl is missing.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import hashlib
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
import urllib.request
import warnings

from interception_site import BUILD, LIST, NAMES, WAIT, Authority, Client, Origin, Proxy, main, run, until

SPELLINGS = pathlib.Path(__file__).resolve().parent / "data/canonical_urls.tsv"


def spellings():
    """(request target, canonical path) of the rows that a request to a plain host, and a line of a list, can hold."""
    def octets(text):
        return re.sub(r"\\(x[0-9A-Fa-f]{2}|.)", lambda m: chr(int(m[1][1:], 16)) if len(m[1]) > 1 else {"t": "\t", "n": "\n", "r": "\r"}.get(m[1], m[1]), text)

    for line in SPELLINGS.read_text().splitlines()[4:]:
        _, spelt, canonical, _, action, *_ = line.split("\t") + [""]
        parts = re.fullmatch(r"(?i)https?://example\.test(/[^#]*)(#.*)?", octets(spelt))
        wanted = re.fullmatch(r"https?://example\.test(/.+)", octets(canonical))
        if action == "lookup" and '"' not in canonical and parts and wanted and all("!" <= c < "\x7f" for c in parts[1] + wanted[1]):
            yield parts[1], wanted[1]


class CountingDns(threading.Thread):
    """Answers every question for an IPv4 address with 127.0.0.1, and keeps the names."""

    def __init__(self):
        super().__init__(daemon=True)
        self.asked, self.socket = [], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            question, client = self.socket.recvfrom(1500)
            at, labels = 12, []
            while question[at]:
                labels.append(question[at + 1:at + 1 + question[at]].decode())
                at += question[at] + 1
            self.asked.append(".".join(labels).lower())
            is_a = question[at + 1:at + 3] == b"\0\1"
            record = b"\xc0\x0c\0\1\0\1\0\0\x0e\x10\0\4\x7f\0\0\1" if is_a else b""
            self.socket.sendto(question[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_a else b"\0\0") + b"\0\0\0\0" + question[12:at + 5] + record, client)


class Parent(threading.Thread):
    """A proxy that speaks TLS, wants credentials, knows CONNECT and keeps the heads that it read."""

    def __init__(self, certificate, key):
        super().__init__(daemon=True)
        self.heads = []
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with contextlib.suppress(OSError), self.context.wrap_socket(client, server_side=True) as client:
            head = b""
            while b"\r\n\r\n" not in head:
                head += client.recv(65536)
            self.heads.append(head.decode())
            if b"\r\nProxy-Authorization: Basic bWU6c2VjcmV0\r\n" not in head:
                return client.sendall(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n")
            port = int(head.split(b" ")[1].rsplit(b":", 1)[1])
            with socket.create_connection(("127.0.0.1", port), WAIT) as origin:
                client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                threading.Thread(target=self.relay, args=(origin, client), daemon=True).start()
                self.relay(client, origin)

    @staticmethod
    def relay(source, sink):
        with contextlib.suppress(OSError):
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)


class Banner(threading.Thread):
    """A server that speaks first, then sends back what it gets."""

    def __init__(self, words):
        super().__init__(daemon=True)
        self.words, self.listener = words, socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            client, _ = self.listener.accept()
            with contextlib.suppress(OSError), client:
                client.sendall(self.words)
                client.sendall(b"heard: " + client.recv(100))


class Rules(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)  # sockets end with their case

    @classmethod
    def setUpClass(cls):
        cls.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        cls.own, cls.theirs = folder / "ca.crt", folder / "oca.crt"
        cls.authority = authority = Authority(folder)
        (folder / "allow.txt").touch()
        (folder / "never.txt").write_text("# a comment\nnever.test  # a test of exemptions\n")
        cls.rows = list(spellings())
        cls.names = [*NAMES, *(f"r{i}.spelt.test" for i in range(len(cls.rows)))]
        (folder / "list.txt").write_text(LIST + "".join(f"http://r{i}.spelt.test{row[1]}\n" for i, row in enumerate(cls.rows)))
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", "--format", "mixed", folder / "list.txt")
        cls.good = authority.issue("good", [*NAMES, "*.spelt.test", "localhost"])
        cls.origin = Origin(*cls.good)
        cls.asking = Origin(*cls.good, client_authority=cls.theirs)
        cls.asking_politely = Origin(*cls.good, client_authority=cls.theirs, asks=ssl.CERT_OPTIONAL)
        cls.plain = Origin()
        cls.proxies = {}

    @classmethod
    def tearDownClass(cls):
        ends = {name: proxy.end() for name, proxy in cls.proxies.items()}
        for origin in (cls.origin, cls.asking, cls.asking_politely, cls.plain):
            origin.close()
        shutil.rmtree(cls.folder)
        assert set(ends.values()) == {0}, ends

    def proxy(self, mode, **settings):
        """One for the whole class where nothing but the mode is wanted."""
        name = settings.get("name", mode)
        if name not in self.proxies:
            settings["more"] = settings.get("more", "") + "limits: {leaves_per_client: 1000}\n"  # a row of the tables is a host
            self.proxies[name] = Proxy(self.folder, mode, [], names=self.names, **settings)
        return self.proxies[name]

    def connect(self, mode, host, port=None, **settings):
        return Client(self.proxy(mode), host, port or self.origin.port, **settings)

    def test_off_is_octet_for_octet_what_it_was_without_the_section(self):
        off, without = self.proxy("off"), self.proxy("off", name="without")
        text = without.file.read_text()
        without.file.write_text(text[:text.index("tls_inspection:")] + "timeouts: {announce: 0}\n")
        without.reload()

        def answer(proxy, request):
            with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT) as client:
                client.sendall(request.encode())
                data = b""
                while piece := client.recv(65536):
                    data += piece
            return re.sub(rb"Date: [^\r]*|(?<=decision )[0-9A-Z]{16}", b"", data)

        for host in ("blocked.test", "sub.blocked.test"):
            for agent in ("Mozilla/5.0", "curl/8"):
                request = f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\nUser-Agent: {agent}\r\nConnection: close\r\n\r\n"
                got = answer(off, request)
                self.assertEqual(got, answer(without, request))
                self.assertTrue(got.startswith(b"HTTP/1.1 403 Blocked by filter list, decision "), got)

    def test_nobody_is_asked_about_a_blocked_host(self):
        dns = CountingDns()
        proxy = self.proxy("blocked", name="asking-dns", dns=f'{{servers: ["127.0.0.1:{dns.port}"]}}')
        before = self.origin.connections
        self.assertEqual(Client(proxy, "blocked.test", self.origin.port).tls(self.own).ask("/")[0], 403)
        self.assertEqual(Client(proxy, "ok.test", self.origin.port).tls(self.theirs).ask("/")[0], 200)
        self.assertIn("ok.test", dns.asked)
        self.assertNotIn("blocked.test", dns.asked)
        self.assertEqual(self.origin.connections, before + 1)

    def test_programs_get_the_page_in_their_language(self):
        proxy = self.proxy("blocked", name="everyone", tls="  page_for: everyone\n")
        client = Client(proxy, "blocked.test", self.origin.port, agent="a-program/1").tls(self.own)
        status, fields, body = client.ask("/a?b=1", more="Accept: application/json\r\n")
        self.assertEqual((status, fields["content-type"]), (403, "application/json"))
        self.assertIn(f"https://blocked.test:{self.origin.port}/a", str(json.loads(body)))
        self.assertEqual(Client(self.proxy("blocked"), "blocked.test", self.origin.port, agent="a-program/1").status, 403)

    def test_hosts_without_entries_show_their_own_certificate(self):
        wanted = hashlib.sha256(ssl.PEM_cert_to_DER_cert(self.good[0].read_text())).digest()
        for mode in ("off", "blocked", "urls"):
            seen = self.connect(mode, "ok.test").tls(self.theirs).socket.getpeercert(binary_form=True)
            self.assertEqual(hashlib.sha256(seen).digest(), wanted, mode)

    def test_every_spelling_of_a_listed_url_is_stopped_inside_too(self):
        self.assertGreater(len(self.rows), 40)
        before, blocked = len(self.origin.requests), 0
        for i, (target, _) in enumerate(self.rows):
            host = f"r{i}.spelt.test"
            status = self.connect("urls", host).tls(self.own).ask(target)[0]
            self.assertIn(status, (403, 400), target)
            blocked += status == 403
        self.assertEqual(len(self.origin.requests), before)
        self.assertGreater(blocked, len(self.rows) * 4 // 5)
        self.assertEqual(self.connect("urls", "r0.spelt.test").tls(self.own).ask("/another/path")[0], 200)

    def test_entries_of_a_delta_come_and_go_with_sighup(self):
        folder = self.folder
        shutil.copy(folder / "list.bwf", folder / "with-delta.bwf")
        proxy = self.proxy("urls", name="delta")
        proxy.file.write_text(proxy.file.read_text().replace(f"file: {folder}/list.bwf", f"file: {folder}/with-delta.bwf, delta: {folder}/list.delta"))
        (folder / "more.txt").write_text("http://other.test/bad/\n")

        def update(option):
            run(BUILD / "bloomwall-filter", "update", folder / "with-delta.bwf", "--delta", folder / "list.delta", option, folder / "more.txt")
            proxy.process.send_signal(signal.SIGHUP)

        def status():
            for roots in (self.own, self.theirs):  # whoever answers
                with contextlib.suppress(ssl.SSLError):
                    return Client(proxy, "other.test", self.origin.port).tls(roots).ask("/bad/x")[0]
            return None

        self.assertEqual(status(), 200)
        update("--add")
        until(lambda: status() == 403)
        update("--remove")
        until(lambda: status() == 200)

    def test_explain_names_the_line_that_exempts(self):
        proxy = self.proxy("urls")
        told = subprocess.run([BUILD / "bloomwall", "explain", "https://www.never.test/bad/x", "--config", proxy.file], capture_output=True, text=True,
                              check=False).stdout
        self.assertIn(f"{self.folder}/never.txt:2", told)
        told = run(BUILD / "bloomwall", "tls", "www.never.test", "--config", proxy.file).stdout
        self.assertTrue(told.startswith("tunnel\twww.never.test\t"), told)

    def test_client_certificates_on_hosts_with_entries(self):
        self.assertEqual(self.connect("urls", "marked.test", self.asking_politely.port).tls(self.own).ask("/a")[0], 200)
        for path, wanted in (("/bad/x", 403), ("/a", 502)):
            status, fields, _ = self.connect("urls", "marked.test", self.asking.port).tls(self.own).ask(path)
            self.assertEqual(status, wanted, path)
        self.assertIn("tls_alert_received", fields["proxy-status"])
        self.assertEqual(self.asking.requests, [])

    def test_origins_are_verified(self):
        authority, proxy = self.authority, self.proxy("all")
        authority.root("stranger", "/CN=a root that nobody knows")
        authority.issue("middle", [], more="basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\n", subject="/CN=middle")
        rows = {  # how it is issued, and the cause of its refusal
            "expired": (dict(days="-1"), "expired"),
            "of another name": (dict(names=["elsewhere.test"]), "wrong_name"),
            "named by its subject alone": (dict(names=[], subject="/CN=ok.test"), "wrong_name"),
            "below a public suffix": (dict(names=["*.test"]), "wrong_name"),
            "signed by nobody known": (dict(signer="stranger"), "unknown_issuer"),
            "without what signed it": (dict(signer="middle"), "unknown_issuer"),
            "of 1024 bits": (dict(kind=("rsa:1024",)), "weak"),
            "signed with SHA-1": (dict(digest="sha1"), "weak"),
            "for clients": (dict(usage="clientAuth"), "not_permitted"),
            "with an unknown extension": (dict(more="1.2.3.4=critical,DER:0500\n"), "not_permitted"),
            "without a subject": (dict(subject="/"), None),
            "of 2048 bits": (dict(kind=("rsa:2048",)), None),
            "P-384": (dict(kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-384")), None),
            "Ed25519": (dict(kind=("ed25519",)), None),
            "with a thousand names": (dict(names=[*(f"n{i}.test" for i in range(999)), "ok.test"]), None),
        }
        for number, (name, (how, cause)) in enumerate(rows.items()):
            origin = Origin(*authority.issue(f"row{number}", **{"names": ["ok.test"], **how}))
            self.addCleanup(origin.close)
            self.assert_verified(proxy, origin, name, "tls_certificate_error", cause)
        self.assert_verified(proxy, self.plain, "no TLS", "tls_protocol_error", "")
        old = Origin(*self.good, most=ssl.TLSVersion.TLSv1_1)
        self.addCleanup(old.close)
        self.assert_verified(proxy, old, "TLS 1.1", "tls_", "")

    def assert_verified(self, proxy, origin, name, error, cause):
        before = len(origin.requests)
        status, fields, _ = Client(proxy, "ok.test", origin.port).tls(self.own).ask("/a")
        if cause is None:
            return self.assertEqual(status, 200, name)
        self.assertEqual(status, 502, name)
        self.assertIn(f"error={error}", fields["proxy-status"], name)
        self.assertIn(cause, fields["proxy-status"], name)
        self.assertEqual(len(origin.requests), before, name)

    def test_what_one_origin_sends_completes_the_chain_of_another(self):
        authority, proxy = self.authority, self.proxy("all", name="learning")
        authority.issue("between", [], more="basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign\n", subject="/CN=between")
        certificate, key = authority.issue("leaf", ["ok.test", "other.test"], signer="between")
        chain = self.folder / "chain.crt"
        chain.write_text(certificate.read_text() + (self.folder / "between.crt").read_text())
        short, whole = Origin(certificate, key), Origin(chain, key)
        for origin in (short, whole):
            self.addCleanup(origin.close)
        for host, origin, wanted in (("ok.test", short, 502), ("other.test", whole, 200), ("ok.test", short, 200)):
            self.assertEqual(Client(proxy, host, origin.port).tls(self.own).ask("/a")[0], wanted, host)

    def test_an_origin_that_says_nothing_is_a_504(self):
        proxy = self.proxy("all", name="impatient", more="timeouts: {announce: 0, tls_handshake: 500ms}\n")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            status, fields, _ = Client(proxy, "ok.test", silent.getsockname()[1]).tls(self.own).ask("/a")
        self.assertEqual(status, 504)
        self.assertIn("error=", fields["proxy-status"])

    def test_protocols_without_tls_pass_at_once_or_never(self):
        closed = self.proxy("all", name="closed", access=", opaque_tunnels: deny")
        passed = self.proxies["all"].metric('tls_decisions_total{action="tunnelled",reason="opaque"}')
        for words in (b"SSH-2.0-test\r\n", b"220 mail ESMTP\r\n"):
            server = Banner(words)
            client = self.connect("all", "ok.test", server.port)
            self.assertEqual(client.early or client.socket.recv(100), words)  # before the client has said a word
            client.socket.sendall(b"HELO me\r\n")
            self.assertEqual(client.socket.recv(100), b"heard: HELO me\r\n")
            refused = Client(closed, "ok.test", server.port)
            with contextlib.suppress(ConnectionResetError):
                refused.socket.sendall(b"HELO me\r\n")
                while refused.socket.recv(100):  # an answer of the proxy at most
                    pass
        until(lambda: self.proxies["all"].metric('tls_decisions_total{action="tunnelled",reason="opaque"}') == passed + 2)
        until(lambda: closed.metric('tls_decisions_total{action="refused",reason="opaque"}') == 2)
        client = self.connect("all", "marked.test", self.plain.port)
        self.assertEqual(client.ask("/good")[2], b"origin:/good")
        self.assertEqual(client.ask("/bad/x")[0], 403)
        self.assertEqual(len(self.plain.requests), 1)

    def test_a_parent_with_tls_and_credentials_sees_connect_alone(self):
        parent = Parent(*self.good)
        (self.folder / "credentials").write_text("me:secret\n")
        (self.folder / "credentials").chmod(0o600)
        upstream = (f'upstream: {{parent: "localhost:{parent.port}", tls: true, ca_file: {self.theirs}, '
                    f"credentials_file: {self.folder}/credentials}}\n")
        proxy = self.proxy("all", name="child", more=upstream, dns="{hosts: {localhost: 127.0.0.1}}")
        client = Client(proxy, "ok.test", self.origin.port).tls(self.own)
        self.assertEqual(client.ask("/through?the=parent")[2], b"origin:/through?the=parent")
        self.assertEqual(Client(proxy, "marked.test", self.origin.port).tls(self.own).ask("/bad/x")[0], 403)
        self.assertTrue(parent.heads)
        for head in parent.heads:
            self.assertRegex(head, rf"^CONNECT (ok|marked)\.test:{self.origin.port} HTTP/1.1\r\n")
            self.assertNotIn("through", head)

    def test_the_authority_is_given_out_to_operators_too(self):
        proxy = self.proxy("urls")
        der = ssl.PEM_cert_to_DER_cert(self.own.read_text())
        got = urllib.request.urlopen(f"http://127.0.0.1:{proxy.admin}/ca.der", timeout=WAIT).read()
        self.assertEqual(got, der)
        page = urllib.request.urlopen(f"http://127.0.0.1:{proxy.admin}/ca", timeout=WAIT).read()
        self.assertNotIn(b"PRIVATE", page)


if __name__ == "__main__":
    main()
