#!/usr/bin/env python3
"""Logins in the real program: by the users file, by Squid's own helpers and by ours, with a real directory (slapd) and a real
Kerberos realm (krb5kdc), both on loopback.

Usage: helpers_test.py BUILD_DIR [unittest arguments]. What is not installed is skipped, and said so: the helpers of Debian's package
squid, slapd, krb5-kdc with krb5-admin-server and krb5-user, curl. Needs no privileges and no DNS.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import concurrent.futures
import contextlib
import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
import urllib.request

from interception_site import BUILD, WAIT, Origin, Proxy, run, until
from ports import free_ports

PATIENCE = 200  # seconds: on a busy machine checks of passwords, which yield to everything else, take long

SQUID = pathlib.Path("/usr/lib/squid")
OWN_HELPER = (BUILD or pathlib.Path()) / "negotiate-helper"
REALM, SERVICE = "TEST.EXAMPLE", "proxy.test.example"
PASSWORD = "open sesame"


def need(test, *programs):
    paths = f"{os.environ['PATH']}:/usr/sbin:/sbin"
    absent = [str(p) for p in programs if not shutil.which(str(p), path=paths)]
    if absent:
        test.skipTest(f"not installed: {', '.join(absent)}")


def free_port():
    """One that is free for TCP and for UDP."""
    while True:
        port = free_ports(1)[0]
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", port))
            return port


class Site(unittest.TestCase):
    """A proxy whose clients must log in by what `authentication` says, and an origin."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "list.txt").write_text("blocked.test\n")
        (self.folder / "allow.txt").touch()
        run(BUILD / "bloomwall-filter", "build", "-o", self.folder / "list.bwf", self.folder / "list.txt")
        self.origin = Origin()

    def serve(self, authentication, more=""):
        text = "authentication:\n  require: [127.0.0.0/8]\n" + "".join(f"  {line}\n" for line in authentication) + more
        self.proxy = Proxy(self.folder, "off", [], text, name="helpers")
        self.addCleanup(lambda: self.assertEqual(self.proxy.end(), 0))

    def helper(self, *command, **settings):
        words = ", ".join(f'"{word}"' for word in command)
        return f"{{command: [{words}], {', '.join(f'{k}: {v}' for k, v in {'timeout': '10s', **settings}.items())}}}"

    def get(self, field=None, path="/", host="ok.test"):
        """Status and fields of a request of its own connection."""
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=WAIT)
        self.addCleanup(connection.close)
        connection.request("GET", f"http://{host}:{self.origin.port}{path}", headers={"Proxy-Authorization": field} if field else {})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers

    def status_of(self, name, password=PASSWORD, **more):
        return self.get("Basic " + base64.b64encode(f"{name}:{password}".encode()).decode(), **more)[0]

    def assert_secret(self, *secrets):
        """Neither the log, nor what the program says, nor the origin has seen them."""
        seen = (self.folder / "helpers.log").read_text() + "".join(self.proxy.lines) + str(self.origin.requests)
        for secret in secrets:
            for text in (secret, urllib.parse.quote(secret)):
                self.assertNotIn(text, seen)


SPNEGO, KERBEROS = bytes.fromhex("2b0601050502"), bytes.fromhex("2a864886f712010202")


def der(tag, octets):
    length = len(octets)
    size = bytes([length]) if length < 128 else bytes([0x82]) + length.to_bytes(2, "big")
    return bytes([tag]) + size + octets


def members(octets):
    """The members of a DER sequence by their tags."""
    out = {}
    while octets:
        length, head = octets[1], 2
        if length >= 128:
            head += length - 128
            length = int.from_bytes(octets[2:head], "big")
        out[octets[0]], octets = octets[head:head + length], octets[head + length:]
    return out


def mechanism_token(ticket):
    """Of a NegTokenInit, what Kerberos itself has to say (RFC 4178)."""
    return members(members(members(members(members(ticket)[0x60])[0xa0])[0x30])[0xa2])[0x04]


class UsersFile(Site):
    HASH = "abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"  # of PASSWORD with cost 4; with cost 12 of none

    def setUp(self):
        super().setUp()
        (self.folder / "users").write_text(f"alice:$2b$04${self.HASH}\nbob:$2b$12${self.HASH}\n")
        (self.folder / "state").mkdir()

    def connect(self, source="127.0.0.1"):
        made = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=PATIENCE, source_address=(source, 0))
        self.addCleanup(made.close)
        return made

    def ask(self, connection, name, password=PASSWORD):
        token = base64.b64encode(f"{name}:{password}".encode()).decode()
        connection.request("GET", f"http://ok.test:{self.origin.port}/", headers={"Proxy-Authorization": f"Basic {token}"})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def test_each_form_of_hash(self):  # ATH-001
        text = (pathlib.Path(__file__).resolve().parent / "proxy/auth/hashes.h").read_text()
        hashes = dict(re.findall(r'k(\w+) =\s+"(\$[^"]+)"', text))
        self.assertEqual({value.split("$")[1] for value in hashes.values()}, {"y", "2b", "2y", "6", "5"})
        users = self.folder / "users"
        users.write_text("".join(f"{name}:{value}\n" for name, value in hashes.items()))
        self.serve([f"users_file: {users}", "attempts: 1000"])
        for name in hashes:
            self.assertEqual([self.status_of(name), self.status_of(name, "guess")], [200, 407], name)
        for line in ("old:$apr1$abcdefgh$0123456789abcdefghijkl", "sha:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc=", f"plain:{PASSWORD}"):
            users.write_text(f"# two lines before it\n{users.read_text().splitlines()[-1]}\n{line}\n")
            for command in ("check", "reload"):
                refused = subprocess.run([BUILD / "bloomwall", command, "--config", self.proxy.file], capture_output=True, text=True, check=False)
                self.assertNotEqual(refused.returncode, 0, line)
                self.assertIn("users:3: ", refused.stderr + refused.stdout)
                self.assertIn("htpasswd -B", refused.stderr + refused.stdout)
            users.write_text("".join(f"{name}:{value}\n" for name, value in hashes.items()))
        self.assertEqual(self.status_of("Bcrypt"), 200, "what was refused changes nothing")

    def test_wrong_passwords_hold_up_nobody(self):
        """Eight checks of a third of a second each: who is known is answered while they last, not between them."""
        self.serve([f"users_file: {self.folder}/users"])
        connection, taken = self.connect(), []
        self.assertEqual(self.ask(connection, "alice")[0], 200)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            wrong = [pool.submit(self.ask, self.connect(f"127.0.0.{10 + i}"), "bob", f"wrong {i}") for i in range(8)]
            while not all(w.done() for w in wrong):
                begun = time.monotonic()
                self.assertEqual(self.ask(connection, "alice")[0], 200)
                taken.append(time.monotonic() - begun)
            self.assertEqual([w.result()[0] for w in wrong], [407] * 8)
        print(f"{len(taken)} answers, p99 {sorted(taken)[len(taken) * 99 // 100] * 1e3:.1f} ms", file=sys.stderr)
        self.assertGreater(len(taken), 40)  # a loop that checks passwords itself gives one or two a check

    def test_after_ten_wrong_passwords_an_address_is_locked(self):
        self.serve([f"users_file: {self.folder}/users"])
        connection = self.connect()
        statuses = [self.ask(connection, "nobody", f"wrong {i}")[0] for i in range(12)]
        self.assertEqual(statuses, [407] * 10 + [429] * 2)
        status, fields, _ = self.ask(connection, "alice")
        self.assertEqual(status, 429)
        self.assertGreater(int(fields["Retry-After"]), 600)
        self.assertEqual(self.ask(self.connect("127.0.0.2"), "alice")[0], 200)

    def test_passwords_are_found_nowhere(self):
        """Not in what the origin got, in logs at their most talkative, in files, in metrics, in answers."""
        password, long = "marker-of-a-password-71f3", "long-marker-of-one-2b9c" * 12
        self.assertGreater(len(long), 200)  # messages of helpers are cut there
        helper = pathlib.Path(__file__).resolve().parent / "proxy/auth/helper.py"
        self.serve([f"users_file: {self.folder}/users", f"basic_helper: {self.helper(sys.executable, helper, 'quotes')}"],
                   f"state_dir: {self.folder}/state\n")
        seen = []
        for name in ("alice", "bob", "carl", password):
            for _ in range(2):
                status, fields, body = self.ask(self.connect(), name, password)
                self.assertIn(status, (407, 503))
                seen.append(f"{fields}{body}")
        self.assertEqual(self.ask(self.connect("127.0.0.2"), "dora", long)[0], 503)
        tunnel = self.connect()
        tunnel.set_tunnel("ok.test", self.origin.port, {"Proxy-Authorization": "Basic " + base64.b64encode(f"alice:{PASSWORD}".encode()).decode()})
        tunnel.request("GET", "/")
        self.assertEqual(tunnel.getresponse().status, 200)
        self.assertEqual(self.ask(self.connect(), "alice")[0], 200)
        until(lambda: any(row.get("user") == "alice" for row in self.proxy.log()))
        for page in ("metrics", "healthz", "readyz"):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.proxy.admin}/{page}", timeout=WAIT) as answer:
                seen.append(answer.read().decode())
        seen += [str(self.origin.requests), *self.proxy.lines]
        files = [f for f in self.folder.rglob("*") if f.is_file() and f.name not in ("users",)]
        seen += [f.read_bytes().decode("latin-1") for f in files]
        seen += [pathlib.Path(f"/proc/{self.proxy.process.pid}/{f}").read_text() for f in ("cmdline", "environ")]
        tokens = [base64.b64encode(f"{n}:{p}".encode()).decode() for n in ("alice", "bob", "carl") for p in (password, PASSWORD)]
        for secret in (password, long[:12], PASSWORD, urllib.parse.quote(PASSWORD), *tokens):
            self.assertNotIn(secret, "\n".join(seen))


class Passwords(Site):
    def test_ncsa(self):
        program = SQUID / "basic_ncsa_auth"
        need(self, program, "openssl")
        crypted = run("openssl", "passwd", "-6", PASSWORD).stdout.strip()
        (self.folder / "passwords").write_text(f"alice:{crypted}\n")
        self.serve([f"basic_helper: {self.helper(program, self.folder / 'passwords', processes=1)}"])
        self.assertEqual(self.status_of("alice"), 200)
        self.assertEqual(self.status_of("alice", "guess"), 407)
        self.assertEqual(self.status_of("bob"), 407)
        self.assertEqual(self.get()[0], 407)
        until(lambda: [r.get("user") for r in self.proxy.log()] == ["alice", None, None, None])
        for _ in range(50):
            self.assertEqual(self.status_of("alice"), 200)
        self.assertEqual(self.proxy.metric('helper_questions_total{helper="basic"}'), 3)
        self.assert_secret(PASSWORD, "guess")

    def test_a_helper_that_is_killed_is_replaced(self):
        program = SQUID / "basic_ncsa_auth"
        need(self, program, "openssl", "pgrep")
        lines = [f"u{i}:{run('openssl', 'passwd', '-6', PASSWORD).stdout}" for i in range(5)]
        (self.folder / "passwords").write_text("".join(lines))
        self.serve([f"basic_helper: {self.helper(program, self.folder / 'passwords', processes=1)}"])
        for i in range(5):
            self.assertEqual(self.status_of(f"u{i}"), 200)
            children = run("pgrep", "-P", str(self.proxy.process.pid)).stdout.split()
            self.assertEqual(len(children), 1, "one process, and no zombies")
            os.kill(int(children[0]), 9)
        self.assertGreaterEqual(self.proxy.metric("helper_deaths_total"), 4)


class Directory(Site):
    """basic_ldap_auth and ext_ldap_group_acl with slapd."""

    def setUp(self):
        super().setUp()
        need(self, "slapd", "slapadd", SQUID / "basic_ldap_auth", SQUID / "ext_ldap_group_acl")
        folder = self.folder
        (folder / "db").mkdir()
        (folder / "slapd.conf").write_text(f"""
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/slapd.pid
database mdb
suffix "dc=example,dc=com"
directory {folder}/db
""")
        entries = ["dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n"]
        for name in ("alice", "bob", "carl"):
            entries.append(f"dn: uid={name},dc=example,dc=com\nobjectClass: account\nobjectClass: simpleSecurityObject\n"
                           f"uid: {name}\nuserPassword: {PASSWORD}\n")
        entries.append("dn: cn=class 7b,dc=example,dc=com\nobjectClass: posixGroup\ncn: class 7b\ngidNumber: 7\nmemberUid: alice\n")
        (folder / "data.ldif").write_text("\n".join(entries))
        run("/usr/sbin/slapadd", "-f", folder / "slapd.conf", "-l", folder / "data.ldif")
        self.port = free_port()
        self.start()

    def start(self):
        self.slapd = subprocess.Popen(["/usr/sbin/slapd", "-f", str(self.folder / "slapd.conf"), "-h", f"ldap://127.0.0.1:{self.port}", "-d", "0"],
                                      stderr=subprocess.DEVNULL)
        self.addCleanup(self.stop)

        def answers():
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return True
            except OSError:
                return False
        until(answers)

    def stop(self):
        self.slapd.terminate()
        self.slapd.wait(WAIT)

    def test_users_and_groups_and_a_directory_that_is_down(self):
        uri = f"ldap://127.0.0.1:{self.port}"
        passwords = self.helper(SQUID / "basic_ldap_auth", "-b", "dc=example,dc=com", "-f", "uid=%s", "-v", "3", "-H", uri)
        groups = self.helper(SQUID / "ext_ldap_group_acl", "-b", "dc=example,dc=com", "-f",
                             "(&(objectclass=posixGroup)(cn=%g)(memberUid=%u))", "-v", "3", "-H", uri)
        self.serve([f"basic_helper: {passwords}", f"groups_helper: {groups}", "cache: 1h"],
                   "groups: [{name: seventh, user_groups: [class 7b], filters: {list: 'off'}}]\n")
        self.assertEqual(self.status_of("alice", host="blocked.test"), 200, "in class 7b")
        self.assertEqual(self.status_of("bob", host="blocked.test"), 403)
        self.assertEqual(self.status_of("bob"), 200)
        self.assertEqual(self.status_of("bob", "guess"), 407)
        self.assertEqual(self.status_of("*"), 407, "no wildcard")
        self.stop()
        self.assertEqual(self.status_of("alice"), 200, "is remembered")
        status, fields = self.get("Basic " + base64.b64encode(f"carl:{PASSWORD}".encode()).decode())
        self.assertEqual((status, fields["Retry-After"]), (503, "1"))
        self.assertEqual(self.proxy.metric('errors_total{kind="login_unchecked"}'), 1)
        self.start()
        until(lambda: self.status_of("carl") == 200)
        self.assert_secret(PASSWORD, "guess")


class Realm(Site):
    """Kerberos: alice and bob, and a service for the proxy."""

    def setUp(self):
        super().setUp()
        need(self, "krb5kdc", "kdb5_util", "kadmin.local", "kinit", "curl")
        folder, port = self.folder, free_port()
        (folder / "krb5.conf").write_text(f"""
[libdefaults]
 default_realm = {REALM}
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
[realms]
 {REALM} = {{
  kdc = 127.0.0.1:{port}
 }}
[domain_realm]
 {SERVICE} = {REALM}
""")
        (folder / "kdc.conf").write_text(f"""
[kdcdefaults]
 kdc_listen = 127.0.0.1:{port}
 kdc_tcp_listen = 127.0.0.1:{port}
[realms]
 {REALM} = {{
  database_name = {folder}/principals
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  max_life = 1h
 }}
""")
        self.environment = {**os.environ, "KRB5_CONFIG": str(folder / "krb5.conf"), "KRB5_KDC_PROFILE": str(folder / "kdc.conf")}
        run("/usr/sbin/kdb5_util", "create", "-s", "-r", REALM, "-P", "master", env=self.environment)
        self.keytab = folder / "keytab"
        for query in ("addprinc -pw secret-of-alice alice", "addprinc -pw secret-of-bob bob", f"addprinc -randkey HTTP/{SERVICE}",
                      f"ktadd -k {self.keytab} HTTP/{SERVICE}"):
            run("/usr/sbin/kadmin.local", "-r", REALM, "-q", query, env=self.environment)
        self.kdc = subprocess.Popen(["/usr/sbin/krb5kdc", "-n", "-r", REALM], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (self.kdc.terminate(), self.kdc.wait(WAIT)))
        for name in ("alice", "bob"):
            until(lambda name=name: self.kinit(name))

    def kinit(self, name):
        return subprocess.run(["kinit", "-c", f"FILE:{self.folder}/{name}.cc", name], input=f"secret-of-{name}\n", env=self.environment,
                              text=True, capture_output=True, check=False).returncode == 0

    def curl(self, name, port, path="/"):
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-m", str(WAIT), "-x", f"http://{SERVICE}:{port}",
                               "--proxy-negotiate", "-U", ":", "--resolve", f"{SERVICE}:{port}:127.0.0.1",
                               f"http://ok.test:{self.origin.port}{path}"],
                              env={**self.environment, "KRB5CCNAME": f"FILE:{self.folder}/{name}.cc", "no_proxy": ""},
                              text=True, capture_output=True, check=False)
        return done.stdout

    def ticket(self, name):
        """One that nobody has checked, as curl sends it."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            seen = []

            def ask():
                peer, _ = server.accept()
                with peer, peer.makefile("rb") as lines:
                    while (line := lines.readline()).strip():
                        seen.append(line.decode())
                    peer.sendall(b"HTTP/1.1 503 Busy\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
            thread = threading.Thread(target=ask, daemon=True)
            thread.start()
            self.curl(name, server.getsockname()[1])
            thread.join(WAIT)
        return re.search(r"Proxy-Authorization: (Negotiate \S+)", "".join(seen))[1]

    def through(self, *command, **settings):
        environment = ("/usr/bin/env", f"KRB5_CONFIG={self.folder}/krb5.conf", f"KRB5RCACHEDIR={self.folder}")
        return self.helper(*environment, *command, **settings)

    def check_tickets(self, helper):
        self.serve([f"negotiate_helper: {helper}"])
        status, fields = self.get()
        self.assertEqual((status, fields["Proxy-Authenticate"]), (407, "Negotiate"))
        self.assertEqual(self.curl("alice", self.proxy.port), "200")
        until(lambda: any(line.get("user") == f"alice@{REALM}" for line in self.proxy.log()))
        ticket = self.ticket("bob")
        self.assertEqual(self.get(ticket)[0], 200)
        self.assertEqual(self.get(ticket)[0], 407, "shown again")
        self.assertEqual(self.get("Negotiate " + "A" * 400)[0], 407, "junk")
        self.assertEqual(self.curl("alice", self.proxy.port), "200", "the helper lives")
        self.assertEqual(self.proxy.metric("helper_deaths_total"), 0)
        self.assert_secret(ticket.split()[1])

    def test_the_helper_of_squid(self):
        program = SQUID / "negotiate_kerberos_auth"
        need(self, program)
        self.check_tickets(self.through(program, "-k", self.keytab, "-s", f"HTTP/{SERVICE}@{REALM}", processes=2))

    def test_our_helper(self):
        need(self, OWN_HELPER)
        self.check_tickets(self.through(OWN_HELPER, "--keytab", self.keytab, "--service", f"HTTP@{SERVICE}", concurrency=32))

    def test_our_helper_takes_two_legs(self):
        # a client that offers Kerberos first and shows its ticket when it is asked for
        need(self, OWN_HELPER)
        self.serve([f"negotiate_helper: {self.through(OWN_HELPER, '--keytab', self.keytab, concurrency=32)}"])
        offer = der(0x60, der(0x06, SPNEGO) + der(0xa0, der(0x30, der(0xa0, der(0x30, der(0x06, KERBEROS))))))
        for name in ("alice", "bob"):
            connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=WAIT)
            self.addCleanup(connection.close)

            def show(octets, connection=connection):
                fields = {"Proxy-Authorization": "Negotiate " + base64.b64encode(octets).decode()}
                connection.request("GET", f"http://ok.test:{self.origin.port}/", headers=fields)
                answer = connection.getresponse()
                answer.read()
                return answer.status, answer.getheader("Proxy-Authenticate", "")

            status, challenge = show(offer)
            self.assertEqual(status, 407)
            self.assertRegex(challenge, r"^Negotiate [A-Za-z0-9+/]+=*$")
            ticket = base64.b64decode(self.ticket(name).split()[1])
            self.assertEqual(show(der(0xa1, der(0x30, der(0xa2, der(0x04, mechanism_token(ticket))))))[0], 200)
            until(lambda name=name: any(line.get("user") == f"{name}@{REALM}" for line in self.proxy.log()))
        self.assertEqual(self.proxy.metric("helper_deaths_total"), 0)

    def test_our_helper_never_crosses_answers(self):
        need(self, OWN_HELPER)
        self.serve([f"negotiate_helper: {self.through(OWN_HELPER, '--keytab', self.keytab, processes=2, concurrency=32)}", "strip_realm: true"])
        wanted = [(name, f"/{name}/{i}") for i in range(100) for name in ("alice", "bob")]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            statuses = list(pool.map(lambda row: self.curl(row[0], self.proxy.port, row[1]), wanted))
        self.assertEqual(statuses, ["200"] * len(wanted))
        until(lambda: sum("user" in row for row in self.proxy.log()) >= len(wanted))
        users = {row["url"].rsplit(str(self.origin.port), 1)[1]: row["user"] for row in self.proxy.log() if "user" in row}
        self.assertEqual(users, {path: name for name, path in wanted})

    def test_our_helper_without_a_key(self):
        need(self, OWN_HELPER)
        (self.folder / "empty").touch()
        self.serve([f"negotiate_helper: {self.through(OWN_HELPER, '--keytab', self.folder / 'nowhere', timeout='2s')}"])
        self.assertEqual(self.get("Negotiate " + "A" * 400)[0], 503)
        until(lambda: any("negotiate_helper: process" in line and "says: negotiate-helper:" in line for line in self.proxy.lines))


class OwnHelper(unittest.TestCase):
    """Its lines, without a realm."""

    def ask(self, text, *words):
        need(self, OWN_HELPER)
        return subprocess.run([OWN_HELPER, *words], input=text, capture_output=True, timeout=WAIT, check=False)

    def test_options(self):
        self.assertIn(b"--keytab", self.ask(b"", "--help").stdout)
        self.assertEqual(self.ask(b"", "--keytab").returncode, 2)
        self.assertEqual(self.ask(b"", "--nothing", "x").returncode, 2)
        self.assertEqual(self.ask(b"", "--keytab", "/nowhere").returncode, 1)


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    unittest.main(verbosity=2)
