#!/usr/bin/env python3
"""Interception of TLS through the programs that ship: what is decrypted, what is shown, and what stays as it was.

Usage: interception_rules_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where openssl is missing.
SPDX-License-Identifier: Apache-2.0
"""
import collections
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

from interception_site import BUILD, LIST, NAMES, P256, UPGRADE, WAIT, Authority, Client, Origin, Proxy, main, run, until

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


def hello(name, more=b""):
    """A ClientHello of TLS 1.3 as far as the name is concerned, with further extensions."""
    def vector(size, content):
        return len(content).to_bytes(size, "big") + content

    server_name = b"\0\0" + vector(2, vector(2, b"\0" + vector(2, name.encode())))
    body = b"\3\3" + bytes(32) + vector(1, b"") + vector(2, b"\x13\1") + vector(1, b"\0") + vector(2, server_name + more)
    return b"\x16\3\1" + vector(2, b"\1" + vector(3, body))


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
        authority = Authority(folder)
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

    def test_groups_have_a_mode_and_exemptions_of_their_own(self):
        (self.folder / "group-never.txt").write_text("other.test\n")
        groups = f"""groups:
- {{name: staff, clients: [127.0.0.2], tls_inspection: {{mode: all, never: [{self.folder}/group-never.txt]}}}}
- {{name: guests, clients: [127.0.0.3], tls_inspection: {{mode: off}}}}
"""
        proxy = self.proxy("urls", name="groups", more=groups)

        def seen_by(source, host):
            """Whose certificate a client at this address is shown."""
            client = Client(proxy, host, self.origin.port, source=source)
            try:
                client.tls(self.own)
                return "ours"
            except ssl.SSLError:
                Client(proxy, host, self.origin.port, source=source).tls(self.theirs)
                return "theirs"

        hosts = ("ok.test", "spelt.test", "other.test")
        marked = "r0.spelt.test"
        for source, wanted in (("127.0.0.1", ("theirs", "ours", "theirs")), ("127.0.0.2", ("ours", "ours", "theirs")),
                               ("127.0.0.3", ("theirs", "theirs", "theirs"))):
            got = tuple(seen_by(source, marked if host == "spelt.test" else host) for host in hosts)
            self.assertEqual(got, wanted, source)
        target = self.rows[0][0]
        for source in ("127.0.0.1", "127.0.0.2"):
            self.assertIn(Client(proxy, marked, self.origin.port, source=source).tls(self.own).ask(target)[0], (403, 400))
        told = run(BUILD / "bloomwall", "tls", "ok.test", "--client", "127.0.0.2", "--config", proxy.file)
        self.assertIn("mode all of the group", told.stdout if hasattr(told, "stdout") else told)

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

    def test_a_url_that_people_deny_is_stopped_inside_too(self):
        proxy = self.proxy("urls")

        def status(roots):
            return Client(proxy, "other.test", self.origin.port).tls(roots).ask("/denied/x")[0]

        self.assertEqual(status(self.theirs), 200)
        open_tunnel = Client(proxy, "other.test", self.origin.port).tls(self.theirs)
        open_socket = Client(proxy, "marked.test", self.origin.port).tls(self.own)
        self.assertEqual(open_socket.ask("/socket/x?secret=1", more=UPGRADE)[0], 101)
        made = run(BUILD / "bloomwall", "deny", "http://other.test/denied/", "--why", "a test", "--config", proxy.file)
        self.assertNotIn("not seen inside", made.stdout + made.stderr)
        self.assertEqual(status(self.own), 403)
        with contextlib.suppress(OSError):
            self.assertEqual(open_tunnel.socket.recv(1), b"", "the open tunnel ends")
        run(BUILD / "bloomwall", "deny", "http://marked.test/socket/", "--why", "a test", "--config", proxy.file)
        with contextlib.suppress(OSError):
            self.assertEqual(open_socket.socket.recv(1), b"", "so does a WebSocket inside TLS")
        url = f"https://marked.test:{self.origin.port}/socket/x"
        until(lambda: [row["decision"] for row in proxy.log() if row["url"] == url] == ["blocked"])
        told = run(BUILD / "bloomwall", "exceptions", "--json", "--config", proxy.file).stdout
        for item in json.loads(told)["items"]:
            run(BUILD / "bloomwall", "exceptions", "remove", str(item["id"]), "--config", proxy.file)
        self.assertEqual(status(self.theirs), 200)

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

    def test_protocols_without_tls_pass_at_once_or_never(self):
        closed = self.proxy("all", name="closed", access=", opaque_tunnels: deny")
        passed = self.proxy("all").metric('tls_decisions_total{action="tunnelled",reason="opaque"}')
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

    def test_every_decision_is_counted_once(self):
        (self.folder / "banks.txt").write_text("other.test\n")
        run(BUILD / "bloomwall-filter", "build", "-o", self.folder / "banks.bwf", self.folder / "banks.txt")
        rules = "  never_clients: [127.0.0.9]\n  auto_pass: {hosts: unmarked, after: 1, devices: true}\n"
        proxy = self.proxy("all", name="counted", tls=rules, workers=1, more="self_page: {host: proxy.test}\n")
        proxy.file.write_text(proxy.file.read_text().replace("filters: [", f"filters: [{{name: banks, file: {self.folder}/banks.bwf, action: no_decrypt}}, "))
        proxy.reload()
        wanted = collections.Counter()

        def decided(*decisions):
            wanted.update(f'tls_decisions_total{{action="{action}",reason="{reason}"}}' for action, reason in decisions)
            until(lambda: {name: count for name, count in proxy.metrics("tls_decisions_total").items() if count} == dict(wanted), 5)

        def issuer(host, roots, port=None, source="127.0.0.1", **settings):
            return Client(proxy, host, port or self.origin.port, source=source).tls(roots, **settings).issuer()

        self.assertNotEqual(issuer("marked.test", self.own), "origin CA")
        decided(("intercepted", "mark"))
        self.assertNotEqual(issuer("ok.test", self.own), "origin CA")
        decided(("intercepted", "all"))
        self.assertEqual(Client(proxy, "blocked.test", 443).tls(self.own).ask("/")[0], 403)
        decided(("page", "blocked"))
        self.assertEqual(Client(proxy, "blocked.test", 443, agent="curl/8").status, 403)
        decided(("refused", "blocked"))
        self.assertEqual(issuer("never.test", self.theirs), "origin CA")
        decided(("tunnelled", "never"))
        self.assertEqual(issuer("other.test", self.theirs), "origin CA")
        decided(("tunnelled", "no_decrypt"))
        self.assertEqual(issuer("ok.test", self.theirs, source="127.0.0.9"), "origin CA")
        decided(("tunnelled", "client"))
        self.assertEqual(Client(proxy, "proxy.test", 443).tls(self.own).ask("/", "proxy.test")[0], 200)
        decided(("page", "self"))
        for decision in (("intercepted", "all"), ("tunnelled", "client_cert")):  # seen, then remembered
            self.assertEqual(issuer("ok.test", self.theirs, self.asking.port, certificate=self.good), "origin CA")
            decided(decision)
        with self.assertRaises(ssl.SSLError):
            issuer("marked.test", self.own, alpn=("imap",))
        decided(("refused", "alpn"))
        self.assertEqual(issuer("ok.test", self.theirs, alpn=("imap",)), "origin CA")
        decided(("tunnelled", "alpn"))
        server = Banner(b"220 mail\r\n")
        client = Client(proxy, "ok.test", server.port)
        client.socket.sendall(b"HELO me\r\n")
        decided(("tunnelled", "opaque"))
        client = Client(proxy, "ok.test", self.origin.port)
        client.socket.sendall(hello("cloudflare-ech.com", b"\xfe\x0d\0\1\0"))
        decided(("intercepted", "ech"))
        stranger = {"roots": self.theirs, "source": "127.0.0.8"}  # it does not trust the authority
        for _ in range(2):  # where URLs are listed that changes nothing
            with self.assertRaises(ssl.SSLError):
                issuer("marked.test", **stranger)
            decided(("intercepted", "mark"))
        with self.assertRaises(ssl.SSLError):
            issuer("ok.test", **stranger)
        decided(("intercepted", "all"))
        until(lambda: proxy.metric("auto_pass_entries") == 2)
        self.assertEqual(issuer("ok.test", **stranger), "origin CA")
        decided(("tunnelled", "auto_pass"))
        text = proxy.file.read_text().replace("  mode: all\n", "  mode: urls\n")
        proxy.file.write_text(text)
        proxy.reload()
        self.assertEqual(issuer("ok.test", self.theirs), "origin CA")
        decided(("tunnelled", "mode"))
        proxy.file.write_text(text.replace("  mode: urls\n", "  mode: urls\n  ports: [1]\n"))
        proxy.reload()
        self.assertEqual(issuer("marked.test", self.theirs), "origin CA")
        decided(("tunnelled", "port"))

    def test_what_a_client_refuses_counts_whichever_worker_serves_it(self):
        proxy = self.proxy("all", name="pinned", tls="  auto_pass: {hosts: unmarked, after: 2}\n")
        for i in range(1, 9):
            client = {"source": f"127.0.3.{i}"}
            self.assertEqual(Client(proxy, "other.test", self.origin.port, **client).tls(self.own).ask("/")[0], 200)
            for signal in range(1, 3):
                with self.assertRaises(ssl.SSLError):
                    Client(proxy, "ok.test", self.origin.port, **client).tls(self.theirs)
                until(lambda: proxy.metric("tls_client_refusals_total") == 2 * (i - 1) + signal)
            until(lambda: proxy.metric("auto_pass_entries") == i)
            self.assertEqual(Client(proxy, "ok.test", self.origin.port, **client).tls(self.theirs).issuer(), "origin CA")
        said = run(BUILD / "bloomwall", "tls", "refused", "--config", proxy.file).stdout
        self.assertEqual((said.count("pins: "), said.count("\n")), (8, 8), said)
        self.assertFalse([line for line in proxy.lines if "lacks the authority" in line])

    def test_check_reviews_the_authority(self):
        folder = self.folder / "reviewed"
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        proxy = self.proxy("urls")
        file = folder / "reviewed.yaml"
        file.write_text(proxy.file.read_text().replace(f"{self.folder}/ca.", f"{folder}/ca.").replace("urls.sock", "reviewed.sock"))

        def check():
            done = subprocess.run([BUILD / "bloomwall", "check", "--config", file], capture_output=True, text=True, check=False)
            return done.returncode, done.stderr

        folder.chmod(0o700)
        status, said = check()
        self.assertEqual(status, 0, said)
        self.assertNotIn("tls_inspection.ca", said)
        folder.chmod(0o755)
        self.assertIn("everybody may list the folder of the CA's key", check()[1])
        folder.chmod(0o777)
        status, said = check()
        self.assertEqual(status, 78, said)
        self.assertIn("everybody may write into the folder of the CA's key", said)
        folder.chmod(0o700)
        run("openssl", "req", "-x509", "-newkey", *P256, "-nodes", "-days", "3000", "-keyout", folder / "ca.key", "-out", folder / "ca.crt",
            "-subj", "/CN=lax", "-addext", "basicConstraints=CA:TRUE", "-addext", "keyUsage=keyCertSign")
        status, said = check()
        self.assertEqual(status, 78, said)
        self.assertIn("strict clients refuse its leaves", said)

    def test_check_warns_of_an_authority_for_some_names_in_mode_all(self):
        folder = self.folder / "narrow"
        folder.mkdir(mode=0o700)
        (folder / "names").write_text("permitted ok.test\n")
        run(BUILD / "bloomwall", "ca", "init", "--out", folder, "--constrain", folder / "names")
        for mode, is_warned in (("urls", False), ("all", True)):
            text = self.proxy(mode).file.read_text().replace(f"{self.folder}/ca.", f"{folder}/ca.").replace(f"{mode}.sock", "narrow.sock")
            (folder / "narrow.yaml").write_text(text)
            done = subprocess.run([BUILD / "bloomwall", "check", "--config", folder / "narrow.yaml"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("permit only some (ok.test)" in done.stderr, is_warned, done.stderr)

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
