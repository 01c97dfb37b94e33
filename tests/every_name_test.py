#!/usr/bin/env python3
"""Every name of a connection is asked, at every door: all pairs (and inside TLS all triples) of what CONNECT or the redirected address, the
server name and Host or :authority say, over plain HTTP, HTTP/1.1 and HTTP/2 inside TLS, in CONNECT and behind a firewall that redirects.
proxy/access/name_of.h has the table of the names at each door. A URL that is listed under one of them passes under none of the others, and
what no name has listed passes.

Everything is in a network namespace of its own, where the ports are 80 and 443. Usage: every_name_test.py BUILD_DIR [unittest arguments].
Exit status 77 (skipped) where there is none, or no nft. SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import itertools
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
import types
import unittest

INSIDE = "BLOOMWALL_TEST_NAMESPACE"
if __name__ == "__main__" and len(sys.argv) > 1 and INSIDE not in os.environ:
    within = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    if any(not shutil.which(program) for program in ("unshare", "ip", "nft")) or subprocess.run([*within, "true"], check=False).returncode:
        print("no network namespaces here")
        sys.exit(77)
    os.environ[INSIDE] = "1"
    os.execvp(within[0], [*within, "--", sys.executable, *sys.argv])

from http2_test import read_until  # the build folder is an argument until here
from interception_site import BUILD, WAIT, Authority, main, run, until
from tls_doors import AGENT, Origin, TlsDoors

CLIENT = "10.9.0.2"  # whose connections are redirected
REDIRECTED = 3129
FIREWALL = f"""table inet bloomwall {{
  chain outward {{
    type nat hook output priority -100;
    ip saddr {CLIENT} tcp dport {{ 80, 443 }} redirect to :{REDIRECTED}
  }}
}}
"""
NOTHING, PATH, ALL = (), ("/bad/",), ("/",)
# What is listed of each; `freed.test` is listed, and in an allow list, which frees that name and no other one.
HOSTS = {"free.test": NOTHING, "listed.test": PATH, "LISTED.test": PATH, "listed.test.": PATH, "sub.listed.test": PATH,
         "freed.test": NOTHING, "blocked.test": ALL}
ADDRESSES = {"192.0.2.10": NOTHING, "192.0.2.67": PATH, "192.0.2.66": ALL}
WIDE = {"[2001:db8::67]": PATH, "[2001:db8::10]": NOTHING}  # nothing is redirected to these
TARGETS = {**HOSTS, **ADDRESSES, **WIDE}
LIST = "listed.test/bad/\nfreed.test/bad/\n192.0.2.67/bad/\nhttp://[2001:db8::67]/bad/\nblocked.test\n192.0.2.66\n"
NO_NAME = None  # no SNI
PATHS = ("/bad/", "/fine/")


def is_listed(names, path):
    return any(path.startswith(TARGETS[name]) for name in names if name is not NO_NAME and TARGETS[name])


class Everywhere(Origin):
    """On all addresses; keeps the paths of HTTP/1 that have reached it."""

    def __init__(self, certificate, key):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2", "http/1.1"])
        self.reached = set()
        self.servers = [socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128) for port in (80, 443)]
        for server in self.servers:
            threading.Thread(target=self.accept_at, args=(server,), daemon=True).start()

    def accept_at(self, server):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.begin, args=(server.accept()[0],), daemon=True).start()

    def serve(self, client):
        if client.getsockname()[1] == 80:
            return self.serve_http1(client)
        with self.context.wrap_socket(client, server_side=True) as peer:
            return self.serve_http2(peer) if peer.selected_alpn_protocol() == "h2" else self.serve_http1(peer)

    def serve_http1(self, peer):
        while True:
            self.reached.add(read_until(peer, b"\r\n\r\n").split()[1].decode())
            peer.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")

    def close(self):
        for server in self.servers:
            server.close()


class EveryName(unittest.TestCase):
    count = itertools.count()

    @classmethod
    def setUpClass(cls):
        commands = ["link set lo up", f"addr add {CLIENT}/32 dev lo", *(f"addr add {address}/32 dev lo" for address in ADDRESSES),
                    *(f"addr add {address.strip('[]')}/128 dev lo nodad" for address in WIDE)]
        run("ip", "-batch", "-", input="\n".join(commands))
        done = subprocess.run(["nft", "-f", "-"], input=FIREWALL, capture_output=True, text=True, check=False)
        if done.returncode:
            print("the kernel takes no nat rules:", done.stderr)
            sys.exit(77)
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        (cls.folder / "list.txt").write_text(LIST)
        run(BUILD / "bloomwall-filter", "build", "-q", "-o", cls.folder / "list.bwf", cls.folder / "list.txt")
        run(BUILD / "bloomwall", "ca", "init", "--out", cls.folder)
        names = [f"DNS:{name}" for name in sorted({host.lower().rstrip(".") for host in HOSTS})]
        names += [f"IP:{address.strip('[]')}" for address in {**ADDRESSES, **WIDE}]
        cls.origin = Everywhere(*Authority(cls.folder).issue("origin", [], more=f"subjectAltName={','.join(names)}\n"))
        cls.addClassCleanup(cls.origin.close)
        cls.trusted = (cls.folder / "ca.crt").read_text() + (cls.folder / "oca.crt").read_text()

    def setUp(self):
        self.wrong, self.asked, self.passed, self.listed = [], 0, 0, set()

    def serve(self, mode, allow="freed.test\n"):
        (self.folder / "allow.txt").write_text(allow)
        log = self.folder / f"{mode}.log"
        hosts = ", ".join(f"{host.lower().rstrip('.')}: 192.0.2.10" for host in dict.fromkeys(HOSTS) if host == host.lower().rstrip("."))
        file = self.folder / f"{mode}.yaml"
        file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}, {{address: ":{REDIRECTED}", mode: transparent}}]
workers: 2
filters: [{{name: list, file: list.bwf}}]
allow_lists: [allow.txt]
access: {{clients: [127.0.0.0/8, {CLIENT}], connect_ports: [], deny_ports: [], deny_destinations: []}}
dns: {{hosts: {{{hosts}}}}}
tls_inspection: {{mode: {mode}, ca: {{certificate: ca.crt, key: ca.key}}, never: [], verify: {{ca_file: oca.crt}}}}
limits: {{leaves_per_client: 100000}}
admin: {{address: null, control_socket: null}}
log: {{file: {mode}.log, access: {{file: "off"}}}}
state_dir: null
timeouts: {{announce: 0, drain: 1s}}
""")
        process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", file])
        self.addCleanup(lambda: self.assertEqual(process.wait(WAIT), 0))
        self.addCleanup(process.send_signal, signal.SIGINT)
        until(lambda: process.poll() is not None or (log.exists() and "is served" in log.read_text()))
        self.assertIsNone(process.poll(), log.read_text())
        self.port = int(re.search(r"listening on 127\.0\.0\.1:(\d+)", log.read_text())[1])

    def note(self, door, names, path, status, must_pass=True):
        """`must_pass`: where no name of it is listed; else another rule may refuse it."""
        self.asked += 1
        self.passed += status == 204
        listed = is_listed(names, path)
        if (status == 204) if listed else (must_pass and status != 204):
            self.wrong.append(f"{door}: {names} {path}: {status}, {'listed' if listed else 'not listed'}")

    def path(self, names, path):
        """Its own for each request, so that the origin can tell which have come."""
        own = f"{path}{next(self.count)}"
        if is_listed(names, path):
            self.listed.add(own)
        return own

    def finish(self, least, least_passed):
        self.assertEqual(self.wrong, [], "\n".join([f"{len(self.wrong)} of {self.asked}:", *self.wrong[:40]]))
        self.assertEqual(self.listed & self.origin.reached, set(), "listed, and yet they have reached the origin")
        self.assertGreater(self.asked, least)
        self.assertGreater(self.passed, least_passed)

    def connect(self, target, port):
        """A tunnel; the status of its refusal."""
        peer = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
        at = f"{target}:{port}"
        peer.sendall(f"CONNECT {at} HTTP/1.1\r\nHost: {at}\r\nUser-Agent: {AGENT.decode()}\r\n\r\n".encode())
        status = int(read_until(peer, b"\r\n\r\n").split()[1])
        if status == 200:
            return peer
        peer.close()
        return status

    def redirected(self, address, port):
        return socket.create_connection((address, port), timeout=WAIT, source_address=(CLIENT, 0))

    def ask(self, peer, target, host):
        """The status; 0: none. A connection for one request."""
        with peer, contextlib.suppress(OSError, AssertionError):
            peer.sendall(f"GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
            return int(read_until(peer, b"\r\n\r\n").split()[1])
        return 0

    def test_plain(self):
        """The target alone counts in a request to the proxy; elsewhere both names, and Host gives way to a URL."""
        self.serve("off")
        for path in PATHS:
            for target in TARGETS:
                for host in TARGETS:
                    own = self.path([target], path)
                    peer = socket.create_connection(("127.0.0.1", self.port), timeout=WAIT)
                    self.note("proxy", [target], path, self.ask(peer, f"http://{target}{own}", host))
                    for door, outer, opened in (("CONNECT", TARGETS, lambda name: self.connect(name, 80)),
                                                ("redirected", ADDRESSES, lambda name: self.redirected(name, 80))):
                        if target not in outer:
                            continue
                        for absolute in (False, True):
                            own = self.path([target, host], path)
                            peer = opened(target)
                            status = peer if isinstance(peer, int) else self.ask(
                                peer, f"http://{host}{own}" if absolute else own, "free.test" if absolute else host)
                            self.note(f"{door}{' URL' if absolute else ''}", [target, host], path, status)
        self.finish(900, 300)

    def session(self, peer, name, version):
        """TLS; None: none could be had."""
        context = ssl.create_default_context(cadata=self.trusted)
        context.check_hostname = False
        context.set_alpn_protocols([version])
        try:
            return context.wrap_socket(peer, server_hostname=name)
        except OSError:
            peer.close()
            return None

    def ask_inside(self, open_session, questions, version):
        """Statuses of (host, path), in as many connections as are needed."""
        out = []
        while len(out) < len(questions):
            peer = open_session()
            if peer is None or isinstance(peer, int):
                return out + [peer or 0] * (len(questions) - len(out))
            before = len(out)
            with peer, contextlib.suppress(OSError, AssertionError):
                if version == "h2":
                    asked = [(host.encode(), path.encode()) for host, path in questions[len(out):]]
                    out += [{"allowed": 204}.get(said, 403) for said in TlsDoors.streams(types.SimpleNamespace(port=443), peer, asked)]
                while version != "h2" and len(out) < len(questions):
                    host, path = questions[len(out)]
                    peer.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    status, is_last = TlsDoors.answer(peer)
                    out.append(status)
                    if is_last:
                        break
            if len(out) == before:
                out.append(0)  # cut
        return out

    def check_inside(self, door, outer, opened, mode):
        """What is not decrypted, as neither name has a listed path, has no name inside that is seen."""
        for version in ("http/1.1", "h2"):
            for first in outer:
                for name in (NO_NAME, *HOSTS):
                    inner = first if name is NO_NAME else name
                    is_seen = mode == "all" or any(TARGETS[known] == PATH for known in (first, name) if known is not NO_NAME)
                    names = {host: [first, name] + [host] * is_seen for host in TARGETS}
                    questions = [(host, path, self.path(names[host], path)) for host in TARGETS for path in PATHS]

                    def open_session(first=first, name=name, version=version):
                        peer = opened(first)
                        return peer if isinstance(peer, int) else self.session(peer, name, version)

                    said = self.ask_inside(open_session, [(host, own) for host, _, own in questions], version)
                    for (host, path, _), status in zip(questions, said, strict=True):
                        self.note(f"{door} {version}", names[host], path, status, must_pass=host == inner)

    def test_an_allowed_url_of_a_blocked_host(self):
        """Where TLS is ended for a page alone there is no origin: what is said is that the host, or the address, is blocked."""
        self.serve("blocked", "https://blocked.test/docs/\nhttps://192.0.2.66/docs/\n")
        for version in ("http/1.1", "h2"):
            for name in ("blocked.test", "free.test", NO_NAME):
                for opened in (self.connect, self.redirected):
                    host = name or "192.0.2.66"

                    def open_session(opened=opened, name=name, version=version):
                        peer = opened("192.0.2.66", 443)
                        return peer if isinstance(peer, int) else self.session(peer, name, version)

                    said = self.ask_inside(open_session, [(host, "/docs/x"), (host, "/x")], version)
                    self.assertEqual(said, [403, 403], f"{opened.__name__} {version} {name}")

    def test_inside_tls(self):
        for mode in ("all", "urls"):
            with self.subTest(mode=mode):
                self.setUp()
                self.serve(mode)
                self.check_inside(f"{mode}: CONNECT", TARGETS, lambda name: self.connect(name, 443), mode)
                self.check_inside(f"{mode}: redirected", ADDRESSES, lambda name: self.redirected(name, 443), mode)
                self.finish(5000, 300)
            self.doCleanups()


if __name__ == "__main__":
    main()
