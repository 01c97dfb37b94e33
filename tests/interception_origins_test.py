#!/usr/bin/env python3
"""Origins of intercepted TLS, good and bad, through the programs that ship: what the client is told, and what the origin is.

Beside these rows tests/proxy/tls/origin_*_test.cc have every row of the table, against the verifier itself.
Usage: interception_origins_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where openssl is missing.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import datetime
import gzip
import hashlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
import warnings

from interception_site import BUILD, LIST, NAMES, Authority, Client, Origin, Proxy, main, run, until

CA = "basicConstraints=critical,CA:TRUE,pathlen:0\nkeyUsage=critical,keyCertSign,cRLSign\n"


class Wire(threading.Thread):
    """A server that says this to whoever has said something, and waits for the end."""

    def __init__(self, words):
        super().__init__(daemon=True)
        self.words, self.requests, self.listener = words, [], socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                with contextlib.suppress(OSError), client:
                    while client.recv(65536):
                        client.sendall(self.words)

    def close(self):
        self.listener.close()


class Origins(unittest.TestCase):
    def setUp(self):
        warnings.simplefilter("ignore", ResourceWarning)  # sockets end with their case
        warnings.simplefilter("ignore", DeprecationWarning)  # of versions of TLS

    @classmethod
    def setUpClass(cls):
        cls.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        run(BUILD / "bloomwall", "ca", "init", "--out", folder)
        cls.own, cls.theirs = folder / "ca.crt", folder / "oca.crt"
        cls.authority = authority = Authority(folder)
        for name in ("allow.txt", "never.txt"):
            (folder / name).touch()
        (folder / "list.txt").write_text(LIST)
        run(BUILD / "bloomwall-filter", "build", "-o", folder / "list.bwf", folder / "list.txt")
        cls.good = authority.issue("good", NAMES)
        authority.root("stranger", "/CN=a root that nobody knows")
        authority.issue("middle", [], more=CA, subject="/CN=middle")
        authority.issue("late", [], expired=True, more=CA, subject="/CN=late")
        authority.issue("narrow", [], more=CA + "nameConstraints=critical,permitted;DNS:elsewhere.test\n", subject="/CN=narrow")
        cls.proxies = {}

    @classmethod
    def tearDownClass(cls):
        ends = {name: proxy.end() for name, proxy in cls.proxies.items()}
        shutil.rmtree(cls.folder)
        assert set(ends.values()) == {0}, ends

    def proxy(self, name="all", **settings):
        if name not in self.proxies:
            settings["more"] = settings.get("more", "") + "limits: {leaves_per_client: 1000}\n"  # a row is a host
            names = [*NAMES, "www.pages.test", "a.www.pages.test", "pages.test"]
            self.proxies[name] = Proxy(self.folder, "all", [], name=name, names=names, **settings)
        return self.proxies[name]

    def origin(self, *certificate, **settings):
        origin = Origin(*certificate, **settings)
        self.addCleanup(origin.close)
        return origin

    def chained(self, stem, issuer, **how):
        """A certificate below `issuer`, with that behind it."""
        certificate, key = self.authority.issue(stem, **{"names": ["ok.test"], "signer": issuer, **how})
        chain = self.folder / f"{stem}-chain.crt"
        chain.write_text(certificate.read_text() + (self.folder / f"{issuer}.crt").read_text())
        return chain, key

    def spki(self, certificate):
        der = subprocess.run("openssl x509 -pubkey -noout | openssl pkey -pubin -outform der", shell=True, check=True, capture_output=True,
                             input=certificate.read_bytes()).stdout
        return hashlib.sha256(der).hexdigest()

    def assert_end(self, proxy, origin, name, error, cause="", host="ok.test", status=502):
        """`error`: of Proxy-Status; None: the origin answers."""
        before = len(origin.requests)
        got, fields, _ = Client(proxy, host, origin.port).tls(self.own).ask("/a")
        if error is None:
            return self.assertEqual(got, 200, name)
        self.assertEqual(got, status, name)
        self.assertIn(f"error={error}", fields["proxy-status"], name)
        self.assertIn(cause, fields["proxy-status"], name)
        self.assertEqual(len(origin.requests), before, name)

    def test_certificates_and_chains(self):
        issue, chained = self.authority.issue, self.chained
        self.authority.root("alone", "/CN=ok.test")
        rows = {  # what the origin has, and the cause of its refusal; None: it is good
            "good": (self.good, None),
            "expired": (issue("r1", ["ok.test"], expired=True), "expired"),
            "below an expired one": (chained("r2", "late"), "expired"),
            "of another name": (issue("r3", ["elsewhere.test"]), "wrong_name"),
            "named by its subject alone": (issue("r4", [], subject="/CN=ok.test"), "wrong_name"),
            "without a subject": (issue("r5", ["ok.test"], subject="/"), None),
            "signed by itself": ((self.folder / "alone.crt", self.folder / "alone.key"), "self_signed"),
            "signed by nobody known": (issue("r6", ["ok.test"], signer="stranger"), "incomplete_chain"),
            "with a root that nobody knows": (chained("r7", "stranger"), "unknown_issuer"),
            "without what signed it": (issue("r8", ["ok.test"], signer="middle"), "incomplete_chain"),
            "signed with SHA-1": (issue("r9", ["ok.test"], digest="sha1"), "weak"),
            "of 1024 bits": (issue("r10", ["ok.test"], kind=("rsa:1024",)), "weak"),
            "of 2048 bits": (issue("r11", ["ok.test"], kind=("rsa:2048",)), None),
            "P-384": (issue("r12", ["ok.test"], kind=("ec", "-pkeyopt", "ec_paramgen_curve:P-384")), None),
            "Ed25519": (issue("r13", ["ok.test"], kind=("ed25519",)), None),
            "for clients": (issue("r14", ["ok.test"], usage="clientAuth"), "not_permitted"),
            "signed by a leaf": (chained("r15", "good"), "not_permitted"),
            "outside of what its CA may": (chained("r16", "narrow"), "not_permitted"),
            "with an unknown extension": (issue("r17", ["ok.test"], more="1.2.3.4=critical,DER:0500\n"), "not_permitted"),
            "below a public suffix": (issue("r18", ["*.test"]), "wrong_name"),
            "a part of a label": (issue("r19", ["o*.test", "*k.test"]), "wrong_name"),
            "with a thousand names": (issue("r20", [*(f"n{i}.test" for i in range(999)), "ok.test"]), None),
            "made by this proxy's own authority": (issue("r21", ["ok.test"], signer="ca"), "own_ca"),
        }
        for name, (certificate, cause) in rows.items():
            self.assert_end(self.proxy(), self.origin(*certificate), name, cause and "tls_certificate_error", cause)
        until(lambda: any(row.get("tls_error") == "own_ca" for row in self.proxy().log()))

    def test_wildcards_stand_for_one_label(self):
        origin = self.origin(*self.authority.issue("wild", ["*.pages.test"]))
        for host, error in (("www.pages.test", None), ("a.www.pages.test", "tls_certificate_error"), ("pages.test", "tls_certificate_error")):
            self.assert_end(self.proxy(), origin, host, error, "wrong_name", host)

    def test_addresses_are_addresses(self):
        for stem, more, error in (("address", "subjectAltName=IP:127.0.0.1\n", None), ("text", "subjectAltName=DNS:127.0.0.1\n", "tls_certificate_error")):
            origin = self.origin(*self.authority.issue(stem, [], more=more))
            self.assert_end(self.proxy(), origin, stem, error, "wrong_name", "127.0.0.1")

    def test_a_chain_in_any_order(self):
        self.authority.issue("inner", [], more=CA, subject="/CN=inner")
        leaf, key = self.chained("ordered", "inner")
        both = leaf.read_text().split("-----BEGIN")[1:]
        (self.folder / "extra.crt").write_text("".join("-----BEGIN" + one for one in (both[0], *(self.theirs.read_text().split("-----BEGIN")[1:]), both[1])))
        self.assert_end(self.proxy(), self.origin(self.folder / "extra.crt", key), "with the root between", None)

    def test_what_the_operator_says_of_certificates(self):
        folder, authority = self.folder, self.authority
        revoked, distrusted = authority.issue("revoked", ["ok.test"]), authority.issue("distrusted", ["ok.test"])
        (folder / "index.txt").touch()
        (folder / "crl.cnf").write_text(f"[ca]\ndefault_ca=x\n[x]\ndatabase={folder}/index.txt\ndefault_md=sha256\ndefault_crl_days=1\n")
        of_ca = ("-config", folder / "crl.cnf", "-cert", self.theirs, "-keyfile", folder / "oca.key")
        run("openssl", "ca", *of_ca, "-revoke", revoked[0])
        run("openssl", "ca", *of_ca, "-gencrl", "-out", folder / "list.crl")
        authority.root("lonely", "/CN=lonely")
        lonely = authority.issue("printer", ["ok.test"], signer="lonely")
        day = datetime.date.today()
        for name, end in (("lasting", day + datetime.timedelta(days=9)), ("over", day - datetime.timedelta(days=9))):
            (folder / f"{name}.txt").write_text(f"ok.test {self.spki(lonely[0])} {end}\n")
        verify = f"{{ca_file: {folder}/oca.crt, crl_file: {folder}/list.crl, distrust: [{self.spki(distrusted[0])}], trust_exceptions: {folder}/NAME.txt}}"

        def proxy(name):
            started = self.proxy(name)
            text = started.file.read_text().replace(f"verify: {{ca_file: {folder}/oca.crt}}", "verify: " + verify.replace("NAME", name))
            started.file.write_text(text)
            started.reload()
            return started

        lasting = proxy("lasting")
        self.assert_end(lasting, self.origin(*revoked), "revoked", "tls_certificate_error", "revoked")
        self.assert_end(lasting, self.origin(*distrusted), "distrusted", "tls_certificate_error", "distrusted")
        self.assert_end(lasting, self.origin(*self.good), "neither", None)
        self.assert_end(lasting, self.origin(*lonely), "an exception", None)
        self.assert_end(lasting, self.origin(*authority.issue("another", ["ok.test"], signer="lonely")), "of another key", "tls_certificate_error")
        self.assert_end(proxy("over"), self.origin(*lonely), "an exception that has ended", "tls_certificate_error", "incomplete_chain")

    def lists_of(self, proxy):
        """What its API says of lists."""
        connection = http.client.HTTPConnection("control")
        with contextlib.closing(socket.socket(socket.AF_UNIX)) as connection.sock:
            connection.sock.connect(f"{self.folder}/{proxy.name}.sock")
            connection.request("GET", "/api/v1/lists")
            return json.load(connection.getresponse())

    def test_many_lists_of_intermediates_take_the_memory_of_one(self):
        def most_memory(count):
            """In KiB, of an update with so many lists, each nearly as large as one may be."""
            folder = self.folder / f"many-{count}"
            folder.mkdir()
            urls = []
            for i in range(count):
                urls.append(str(folder / f"{i}.csv.gz"))
                pathlib.Path(urls[-1]).write_bytes(gzip.compress((self.folder / "middle.crt").read_bytes() + b" " * (60 << 20) + b"%d" % i))
            (folder / "bloomwall.yaml").write_text(f"""
tls_inspection:
  mode: all
  ca: {{certificate: {self.folder}/ca.crt, key: {self.folder}/ca.key}}
  verify: {{ca_file: {self.folder}/oca.crt, intermediates: [{", ".join(urls)}]}}
admin: {{control_socket: null}}
update: {{folder: {folder}/lists}}
""")
            with open(folder / "said", "w") as said:
                process = subprocess.Popen([BUILD / "bloomwall", "update", "--config", folder / "bloomwall.yaml"], stdout=said, stderr=said)
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
            words = (folder / "said").read_text()
            self.assertEqual(status, 0, words)
            self.assertIn(f"1 certificates, {count - 1} others left out", words)
            return usage.ru_maxrss
        one = most_memory(1)
        self.assertGreater(one, 60 << 10, "else this would show nothing")
        self.assertLess(most_memory(4), one + (60 << 10))

    def test_intermediates_that_origins_omit_are_fetched(self):
        folder, chain = self.folder, self.folder / "intermediates.csv"
        pem = [(folder / f"{stem}.crt").read_text() for stem in ("stranger", "good", "middle")]
        chain.write_text("\"Name\",\"PEM\"\r\n" + "".join(f"\"one\",\"'{text.strip()}'\"\r\n" for text in pem))
        proxy = self.proxy("fetched", more=f"update: {{folder: {folder}/fetched-lists}}\n")
        text = proxy.file.read_text()
        proxy.file.write_text(text.replace(f"{{ca_file: {folder}/oca.crt}}", f"{{ca_file: {folder}/oca.crt, intermediates: [{chain}]}}"))
        said = run(BUILD / "bloomwall", "check", "--config", proxy.file)
        self.assertIn("intermediates.pem is not there yet: `bloomwall update` makes it", said.stdout + said.stderr)
        proxy.reload()
        origin = self.origin(*self.authority.issue("bare", ["ok.test"], signer="middle"))
        self.assert_end(proxy, origin, "alone", "tls_certificate_error", "incomplete_chain")
        got, _, body = Client(proxy, "ok.test", origin.port).tls(self.own).ask("/a")
        self.assertIn(b"a certificate in between is missing", body)
        doctor = [BUILD / "bloomwall", "doctor", "--config", proxy.file]
        self.assertIn(f"{chain}: was never fetched", subprocess.run(doctor, capture_output=True, text=True, check=False).stdout)
        said = run(BUILD / "bloomwall", "update", "--json", "--config", proxy.file)
        self.assertIn("1 certificates, 2 others left out", said.stderr)
        shown = json.loads(said.stdout)["intermediates"]
        self.assertEqual((shown["file"], shown["result"], shown["entries"]), (str(folder / "fetched-lists/intermediates.pem"), "built", 1))
        self.assertEqual([(each["url"], each["result"], each["entries"]) for each in shown["sources"]], [(str(chain), "updated", 3)])
        self.assertEqual(self.lists_of(proxy), {"items": [], "next": None, "intermediates": shown})
        self.assertIn("1 certificate for origins that do not send theirs", subprocess.run(doctor, capture_output=True, text=True, check=False).stdout)
        self.assert_end(proxy, origin, "with what was fetched", None)
        stranger = self.origin(*self.authority.issue("strange", ["ok.test"], signer="stranger"))
        self.assert_end(proxy, stranger, "what was fetched anchors nothing", "tls_certificate_error", "incomplete_chain")
        chain.write_text("none")
        said = subprocess.run([BUILD / "bloomwall", "update", "--config", proxy.file], capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 1)
        self.assertIn(f"{chain}: refused: holds no certificate in PEM form", said.stdout)
        self.assertEqual((folder / "fetched-lists/intermediates.pem").read_text().count("BEGIN"), 1)

    def test_a_bad_one_is_left_to_clients_that_see_the_same(self):
        proxy = self.proxy("passing", tls="  on_bad_certificate: pass\n")
        expired = self.origin(*self.authority.issue("p1", ["ok.test", "marked.test"], expired=True))
        with self.assertRaises(ssl.SSLCertVerificationError) as raised:
            Client(proxy, "ok.test", expired.port).tls(self.theirs)
        self.assertIn("expired", str(raised.exception))
        self.assert_end(proxy, expired, "where URLs are listed", "tls_certificate_error", "expired", "marked.test")
        ours = self.origin(*self.authority.issue("p2", ["ok.test"], signer="ca"))
        self.assert_end(proxy, ours, "which clients would believe", "tls_certificate_error", "own_ca")

    def test_what_is_no_tls_of_today(self):
        old = self.authority.issue("old", ["ok.test"], kind=("rsa:2048",))
        tls12 = ssl.TLSVersion.TLSv1_2
        rows = {
            "TLS 1.1": self.origin(*self.good, most=ssl.TLSVersion.TLSv1_1),
            "TLS 1.0": self.origin(*self.good, most=ssl.TLSVersion.TLSv1),
            "RSA key exchange": self.origin(*old, most=tls12, ciphers="AES128-GCM-SHA256"),
            "CBC": self.origin(*old, most=tls12, ciphers="ECDHE-RSA-AES128-SHA256:ECDHE-RSA-AES128-SHA"),
            "finite fields": self.origin(*old, most=tls12, ciphers="DHE-RSA-AES128-GCM-SHA256"),
            "no encryption": self.origin(*old, most=tls12, ciphers="NULL-SHA256:ECDHE-RSA-NULL-SHA"),
            "plain HTTP": self.origin(),
            "garbage": Wire(bytes(range(256)) * 20),
            "another protocol": Wire(b"220 mail ESMTP\r\n"),
        }
        for name, origin in rows.items():
            self.assert_end(self.proxy(), origin, name, "tls_protocol_error")
        self.assert_end(self.proxy(), self.origin(*old, most=tls12, ciphers="ECDHE-RSA-AES128-GCM-SHA256"), "TLS 1.2 as it should be", None)

    def test_what_one_origin_sends_completes_the_chain_of_another(self):
        proxy = self.proxy("learning")
        self.authority.issue("between", [], more=CA, subject="/CN=between")
        whole, key = self.chained("leaf", "between", names=["ok.test", "other.test"])
        short, whole = self.origin(self.folder / "leaf.crt", key), self.origin(whole, key)
        for host, origin, wanted in (("ok.test", short, 502), ("other.test", whole, 200), ("ok.test", short, 200)):
            self.assertEqual(Client(proxy, host, origin.port).tls(self.own).ask("/a")[0], wanted, host)

    def test_another_certificate_the_next_time(self):
        port = None
        for stem in ("first", "second"):
            origin = Origin(*self.authority.issue(stem, ["ok.test"]), port=port)
            port = origin.port
            self.assert_end(self.proxy(), origin, stem, None)
            origin.close()

    def test_an_origin_that_says_nothing_is_a_504(self):
        proxy = self.proxy("impatient", more="timeouts: {announce: 0, tls_handshake: 500ms}\n")
        silent = Wire(b"")
        self.addCleanup(silent.close)
        status, fields, _ = Client(proxy, "ok.test", silent.port).tls(self.own).ask("/a")
        self.assertEqual(status, 504)
        self.assertIn("error=", fields["proxy-status"])


if __name__ == "__main__":
    main()
