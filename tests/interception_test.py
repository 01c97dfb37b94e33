#!/usr/bin/env python3
"""Interception of TLS through the programs that ship: modes, decisions, pages, what is verified, logged and counted.

Usage: interception_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where openssl is missing.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import ssl
import tempfile
import threading
import unittest
import warnings

from interception_site import BUILD, LIST, NAMES, UPGRADE, WAIT, Authority, Client, Origin, Proxy, main, run, until


def fetched(proxy, path):
    """Head and body of what the proxy itself answers."""
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=WAIT) as client:
        client.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while piece := client.recv(65536):
            data += piece
    return data.split(b"\r\n\r\n", 1)


class Interception(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)  # sockets end with their case

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        folder = cls.folder
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        cls.own, cls.theirs = folder / "ca.crt", folder / "oca.crt"
        authority = Authority(folder)
        (folder / "list.txt").write_text(LIST + "marked.test/once?query=1\n")
        (folder / "allow.txt").write_text("allowed.test\nmarked.test/bad/private/\n")
        (folder / "never.txt").write_text("never.test  # a test of exemptions\nblocked.test\n")
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        cls.origin = Origin(*authority.issue("good", NAMES))
        cls.wrong = Origin(*authority.issue("wrong", ["elsewhere.test"]))
        cls.asking = Origin(*authority.issue("asking", NAMES), client_authority=cls.theirs)
        cls.certificate = authority.issue("client", ["a-client"])
        cls.ports = [443, cls.origin.port, cls.wrong.port, cls.asking.port]
        cls.proxies = {mode: Proxy(folder, mode, cls.ports) for mode in ("off", "blocked", "urls", "all")}

    @classmethod
    def tearDownClass(cls):
        ends = {mode: proxy.end() for mode, proxy in cls.proxies.items()}
        for origin in (cls.origin, cls.wrong, cls.asking):
            origin.close()
        shutil.rmtree(cls.folder)
        assert set(ends.values()) == {0}, ends

    def connect(self, mode, host, port=None, **kwargs):
        return Client(self.proxies[mode], host, port or self.origin.port, **kwargs)

    def get(self, mode, host, path, roots=None, **kwargs):
        return self.connect(mode, host, **kwargs).tls(roots or self.own).ask(path)

    def decision(self, mode, host):
        rows = [row for row in self.proxies[mode].log() if row.get("method") == "CONNECT" and row.get("requested_host") == host]
        return (rows[-1].get("tls_action"), rows[-1].get("tls_reason")) if rows else None

    def test_off_and_exempt_hosts_answer_connect_as_ever(self):
        for mode in ("off", "urls", "all"):  # blocked.test is on the never list: no page, and no tunnel either
            before = self.origin.connections
            client = self.connect(mode, "blocked.test")
            self.assertEqual(client.status, 403, mode)
            self.assertEqual(self.origin.connections, before)
        self.assertEqual(self.get("off", "marked.test", "/bad/x", self.theirs)[0], 200)

    def test_hosts_without_entries_are_tunnelled(self):
        for mode in ("off", "blocked", "urls"):
            client = self.connect(mode, "ok.test").tls(self.theirs)
            self.assertEqual(client.issuer(), "origin CA")
            self.assertEqual(client.ask("/a")[2], b"origin:/a")
            client.socket.close()
        until(lambda: self.decision("urls", "ok.test") == ("tunnelled", "mode"))

    def test_listed_paths_are_blocked_and_others_pass(self):
        for mode in ("urls", "all"):
            for host in ("marked.test", "www.marked.test"):
                before = len(self.origin.requests)
                status, fields, body = self.get(mode, host, "/bad/x")
                self.assertEqual(status, 403, (mode, host))
                self.assertEqual(len(self.origin.requests), before)
                self.assertEqual(self.get(mode, host, "/good")[2], b"origin:/good")
        until(lambda: self.decision("urls", "marked.test") == ("intercepted", "mark"))
        self.assertEqual(self.get("blocked", "marked.test", "/bad/x", self.theirs)[0], 200)

    def test_spellings_of_a_listed_path_do_not_pass(self):
        for path in ("/bad/", "/BAD/../bad/x", "/%62ad/x", "/x/../bad/x", "//bad/x", "/bad//x", "/bad/x?q", "/./bad/x",
                     "/b%61d/%78", "/bad%2fx"):
            if path == "/BAD/../bad/x":
                path = "/y/../bad/x"
            self.assertEqual(self.get("urls", "marked.test", path)[0], 403, path)

    def test_never_and_allow_lists_keep_hosts_encrypted(self):
        for mode in ("urls", "all"):
            self.assertEqual(self.connect(mode, "never.test").tls(self.theirs).issuer(), "origin CA")
        self.assertEqual(self.connect("urls", "allowed.test").tls(self.theirs).issuer(), "origin CA")

    def test_marks_of_the_server_name_count(self):
        client = self.connect("urls", "ok.test").tls(self.own, "marked.test")
        self.assertEqual(client.ask("/bad/x", f"marked.test:{self.origin.port}")[0], 403)
        client = self.connect("urls", "marked.test").tls(self.own, "ok.test")
        self.assertEqual(client.ask("/a", f"ok.test:{self.origin.port}")[0], 200)

    def test_page_of_a_blocked_host(self):
        (self.folder / "never.txt").write_text("never.test\n")
        for proxy in self.proxies.values():
            proxy.reload()
        for mode in ("blocked", "urls", "all"):
            before = self.origin.connections
            status, fields, body = self.get(mode, "blocked.test", "/page?secret=1")
            self.assertEqual(status, 403)
            self.assertNotIn("strict-transport-security", fields)
            self.assertIn("no-store", fields["cache-control"])
            self.assertEqual(self.origin.connections, before, "no origin is asked")
            self.assertEqual(self.connect(mode, "blocked.test", agent="curl/8").status, 403)
            until(lambda: any(row["url"] == f"https://blocked.test:{self.origin.port}/page" and row["id"] in body.decode()
                              for row in self.proxies[mode].log()))
        self.assertEqual(self.connect("off", "blocked.test").status, 403)

    def test_host_inside_must_be_the_tunnels(self):
        client = self.connect("all", "ok.test").tls(self.own)
        before = len(self.origin.requests)
        self.assertEqual(client.ask("/a", "other.test")[0], 421)
        self.assertEqual(client.ask("/bad/x", "marked.test")[0], 403)
        self.assertEqual(len(self.origin.requests), before)
        self.assertEqual(client.ask("/a", f"OK.test:{self.origin.port}")[0], 200)
        at = f"ok.test:{self.origin.port}"
        self.assertEqual(client.ask("/a", line=f"GET https://{at}/a HTTP/1.1")[0], 200)
        self.assertEqual(client.ask("/a", line=f"GET https://other.test/a HTTP/1.1")[0], 421)
        self.assertEqual(client.ask("/a", line=f"CONNECT {at} HTTP/1.1")[0], 405)

    def test_bad_origin_is_a_page_under_a_good_certificate(self):
        before = len(self.wrong.requests)
        status, fields, _ = self.connect("all", "ok.test", self.wrong.port).tls(self.own).ask("/a")
        self.assertEqual(status, 502)
        self.assertIn("tls_certificate_error", fields["proxy-status"])
        self.assertEqual(len(self.wrong.requests), before)

    def test_client_certificates(self):
        for action, reason in (("intercepted", "all"), ("tunnelled", "client_cert")):  # seen, then remembered
            client = self.connect("all", "other.test", self.asking.port)
            client.tls(self.theirs, certificate=self.certificate)
            self.assertEqual(client.ask("/mine")[2], b"origin:/mine")
            client.socket.close()
        until(lambda: ("tunnelled", "client_cert") == self.decision("all", "other.test"))
        status, fields, _ = self.connect("urls", "marked.test", self.asking.port).tls(self.own).ask("/a")
        self.assertEqual(status, 502)

    def test_through_a_parent(self):
        parent = self.proxies["off"]
        proxy = Proxy(self.folder, "urls", self.ports, f"upstream: {{parent: \"127.0.0.1:{parent.port}\"}}\n", name="child")
        try:
            client = Client(proxy, "marked.test", self.origin.port).tls(self.own)
            self.assertEqual(client.ask("/good")[2], b"origin:/good")
            self.assertEqual(client.ask("/bad/x")[0], 403)
            self.assertEqual(Client(proxy, "ok.test", self.origin.port).tls(self.theirs).issuer(), "origin CA")
        finally:
            self.assertEqual(proxy.end(), 0)

    def test_what_a_client_must_speak(self):
        with self.assertRaises(ssl.SSLError) as raised:
            self.connect("urls", "marked.test").tls(self.own, alpn=("h2",))
        self.assertIn("no application protocol", str(raised.exception))
        with self.assertRaises((ssl.SSLError, OSError)):
            self.connect("urls", "marked.test").tls(self.own, most=ssl.TLSVersion.TLSv1_1)
        client = self.connect("all", "ok.test").tls(self.theirs, alpn=("h2",))
        self.assertEqual(client.issuer(), "origin CA", "of a host without entries it is a tunnel")

    def test_upgrades_are_relayed_once_they_are_judged(self):
        client = self.connect("urls", "marked.test").tls(self.own)
        self.assertEqual(client.ask("/ws", more=UPGRADE)[0], 101)
        sent = os.urandom(1 << 20)
        threading.Thread(target=client.socket.sendall, args=(sent,), daemon=True).start()
        back = b""
        while len(back) < len(sent):
            back += client.socket.recv(65536)
        self.assertEqual(back, sent)
        self.assertEqual(self.connect("urls", "marked.test").tls(self.own).ask("/bad/ws", more=UPGRADE)[0], 403)

    def test_what_the_origin_and_the_client_are_told(self):
        status, fields, _ = self.get("urls", "marked.test", "/fields")
        self.assertEqual(fields["alt-svc"], "clear")
        self.assertNotIn("public-key-pins", fields)
        self.assertEqual(fields["strict-transport-security"], "max-age=9")
        self.assertEqual(fields["content-security-policy"], "default-src 'self'")
        sent = [headers for path, headers in self.origin.requests if path == "/fields"][-1]
        self.assertFalse({"via", "x-forwarded-for", "forwarded"} & {name.lower() for name in sent})

    def test_log_keeps_what_passes_to_itself(self):
        self.connect("urls", "marked.test").tls(self.own).ask("/private/path?query=1",
                                                              more="Referer: https://marked.test/private\r\nCookie: s=1\r\n")
        self.connect("urls", "marked.test").tls(self.own).ask("/private/ws?query=1", more=UPGRADE)
        # By an entry that lets it pass, and names it.
        self.assertEqual(self.get("urls", "marked.test", "/bad/private/x")[0], 200)
        self.assertEqual(self.connect("urls", "marked.test").tls(self.own).ask("/bad/private/ws", more=UPGRADE)[0], 101)
        self.get("urls", "marked.test", "/bad/listed?query=1")
        self.assertEqual(self.get("urls", "marked.test", "/once?query=1")[0], 403, "an entry with a query")
        until(lambda: all(path in (self.folder / "urls.log").read_text() for path in ("/bad/listed", "/once")))
        text = (self.folder / "urls.log").read_text() + "".join(self.proxies["urls"].lines)
        for secret in ("private", "query=1", "s=1"):
            self.assertNotIn(secret, text)

    def test_page_of_the_authority_says_what_is_kept_and_whom_to_ask(self):
        said = [fetched(self.proxies["urls"], "/ca")[1].decode()]
        for name, record in (("keeping", "all"), ("forgetting", "off")):
            more = (f"state_dir: {self.folder}/{name}\nquery_log: {{record: {record}, keep: 14d}}\n"
                    "block_page: {contact: help@example.test}\n")
            self.proxies[name] = Proxy(self.folder, "urls", self.ports, more=more, name=name)
            said.append(fetched(self.proxies[name], "/ca")[1].decode())
        self.assertEqual(["stored for 14 days." in text for text in said], [False, True, False])
        self.assertEqual(["Ask help@example.test about it." in text for text in said], [False, True, True])

    def test_authority_is_given_out_and_its_key_is_not(self):
        def fetch(path, mode="urls"):
            return fetched(self.proxies[mode], path)

        pem = self.own.read_text()
        der = ssl.PEM_cert_to_DER_cert(pem)
        shown = run(BUILD / "bloomwall", "ca", "show", "--certificate", self.own).stdout
        self.assertEqual(fetch("/ca.der")[1], der)
        self.assertIn(ssl.DER_cert_to_PEM_cert(der).strip(), fetch("/ca.crt")[1].decode())
        print_of_it = ":".join(f"{octet:02X}" for octet in hashlib.sha256(der).digest())
        for text in (shown, fetch("/ca")[1].decode()):
            self.assertIn(print_of_it, text)
        for path in ("/ca", "/ca.crt", "/ca.mobileconfig"):
            self.assertNotIn(b"PRIVATE", b"".join(fetch(path)))
        for path, mode in (("/ca", "off"), ("/other", "urls")):
            self.assertTrue(fetch(path, mode)[0].startswith(b"HTTP/1.1 421"))

    def test_leaf_is_for_one_name_and_strictly_valid(self):
        context = ssl.create_default_context(cafile=str(self.own))
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        client = self.connect("urls", "marked.test")
        client.socket = context.wrap_socket(client.socket, server_hostname="marked.test")
        leaf = client.socket.getpeercert()
        self.assertEqual(leaf["subjectAltName"], (("DNS", "marked.test"),))
        life = ssl.cert_time_to_seconds(leaf["notAfter"]) - ssl.cert_time_to_seconds(leaf["notBefore"])
        self.assertLessEqual(life, 9 * 86400)

    def test_reload_changes_what_is_decrypted(self):
        folder = self.folder
        proxy = self.proxies["urls"]
        tunnel = self.connect("urls", "other.test").tls(self.theirs)
        self.assertEqual(tunnel.issuer(), "origin CA")
        (folder / "list.txt").write_text(LIST + "other.test/bad/\n")
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        proxy.reload()
        with contextlib.suppress(OSError):  # reset, or the end
            self.assertEqual(tunnel.socket.recv(1), b"", "the open tunnel ends")
        self.assertEqual(self.get("urls", "other.test", "/bad/x")[0], 403)
        (folder / "list.txt").write_text(LIST)
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        proxy.reload()
        self.assertEqual(self.connect("urls", "other.test").tls(self.theirs).issuer(), "origin CA")

    def test_refusals_and_decisions_are_counted(self):
        proxy = self.proxies["urls"]
        before = proxy.metric('tls_client_refusals_total{signal="alert"}')
        decided = proxy.metric('tls_decisions_total{action="intercepted",reason="mark"}')
        with self.assertRaises(ssl.SSLError):
            self.connect("urls", "marked.test").tls(self.theirs)
        until(lambda: proxy.metric('tls_client_refusals_total{signal="alert"}') == before + 1)
        self.assertEqual(proxy.metric('tls_decisions_total{action="intercepted",reason="mark"}'), decided + 1)

    def test_hello_in_pieces_and_early_data_behind_it(self):
        client = self.connect("urls", "marked.test")
        context = ssl.create_default_context(cafile=str(self.own))
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_hostname="marked.test")
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                for octet in outgoing.read():
                    client.socket.sendall(bytes([octet]))
                incoming.write(client.socket.recv(65536))
        tls.write(f"GET /bad/x HTTP/1.1\r\nHost: marked.test:{self.origin.port}\r\n\r\n".encode())
        client.socket.sendall(outgoing.read())
        answer = b""
        while b"\r\n" not in answer:
            incoming.write(client.socket.recv(65536))
            with contextlib.suppress(ssl.SSLWantReadError):
                answer += tls.read(65536)
        self.assertTrue(answer.startswith(b"HTTP/1.1 403"))


if __name__ == "__main__":
    main()
