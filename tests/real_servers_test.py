#!/usr/bin/env python3
"""Random disguises of listed files through the running proxy to the web servers of Debian: what a server answers with a listed file, the
proxy must block or refuse. What is out of reach stands in OUT_OF_REACH, with the words of docs/lists.md that say so.

Usage: real_servers_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_DISGUISES: how many; BLOOMWALL_SEED repeats a run.
A server that is not installed is left out, and named; with BLOOMWALL_EVERY_CLIENT=1 (`./dev clients`) it fails. SPDX-License-Identifier: Apache-2.0
"""
import collections
import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from interception_site import BUILD, Proxy, main, run
from real_servers import HOST, LOCAL, Anything, RealServers, get
from seed import test_seed

COUNT = int(os.environ.get("BLOOMWALL_DISGUISES", "2000"))
SAMPLE = 300  # blocked disguises that are asked of the servers themselves, to see that they are served
LISTS = pathlib.Path(__file__).resolve().parent.parent / "docs/lists.md"
MARKER = b"this file is listed"
FILES = ["/evil.html", "/d/evil.html", "/d/e/page.txt", "/bad/x/y.html", "/script.php"]
ENTRIES = [f"http://{host}{path}" for host in (HOST, LOCAL) for path in ("/evil.html", "/d/evil.html", "/d/e/page.txt", "/bad/", "/script.php")]

# By kind: the servers, by the beginning of the name; the words of docs/lists.md.
PATH_INFO = "`/evil.php/x`, which some servers answer with `evil.php`, is a path of its own"
CASE = "Letters keep their case: routes that ignore it"
OUT_OF_REACH = {PATH_INFO: ("lighttpd", "php", "apache with path info", "nginx $uri to lighttpd", "nginx $uri to php",
                            "nginx unmerged $uri to lighttpd", "nginx unmerged $uri to php"),
                CASE: ("express routes",)}

# Disguises: octets of a target, and of a host. Each is changed one to four times.
INSERTED = ["/", "//", "/.", "/x/..", "/x/%2e%2e", "/%2e", "//x/..", "/x//..", "/%2f", "/x%2f..", "/x/%252e%252e", "/x/..;v", "/;v", ";v=1",
            "%3bv", "/.;", "/%u002e%u002e", "/x/%u002e%u002e", "/x/..%2f", "/%5c..", "%3f", "/..", "%23", "%20", "\\", "/x\\..", "/%5c", "/x%5c..",
            "/%c0%ae%c0%ae", "/%c0%af", "/x/%2e.", "/x/.%2e", "/x/..%00", "/%2e%2f", "/%252f", "/x/%2e%2e;a=b", "/;/..", "/..;/", "/./.;a",
            "/x/%2>%2>", "/x/%256`%2e", "/%2?", "/x%252f..", "/x%253f%252f..", "/%252f%3f%252f..", "/%25252e%25252e", "/x/%252e%252e;v"]
APPENDED = ["%23", "%23x", "%20", "%20x", "%20HTTP/1.1%0d%0aa:", "%3f", "%3fx", "?", "?x=1", "/", "/x", ";", ";x", "%00", "%00.png", "%09", "%0a",
            ".", "%2e", "/.", "/..", "%2520", "%2523", "%c0%af", ":", "::$DATA", "%3b", "%253f", "%253bx", "%2f", "%2fx", "%5c", "#x", "#", "%a0",
            "%e3%80%80", "%85", "%7f", "~", "%2500", "/%2e%2e/", "/x/..", "?/../..", "%3f/../x", "%26", "&x=1", "%u0000", "%u0023", "/.//", "..",
            "%252523", "%25253f", "%2509", "%2500.png", "%23/..", "%20/../x", "%2523/..", "%09/%2e%2e"]
BEFORE = ["//x", "///x", "//x:80", "//u@x", "//x/..", "/%2fx", "/.//x", "//", "/.", "/%2e/", "/;x", "/;x/", "/x/..", "/x/../", "/%5c", "/..", "/%23/..",
          "/x%23/..", "/x%3f/..", "/%3f/..", "/%20/..", "/x%00/..", "//x%2f..", "/x;/..;/", "/%3b/", "/*/..", "http://h.test", "/http://h.test",
          "//[x", "//%", "/%/..", "/%252fx", "/%252f%252fx:80", "/%255cx", "/%25252f%25252fx"]
HOSTS = [b"h.test.", b"H.TEST", b"h.tesT.", b"u@h.test", b"u:p@h.test", b"h.test:0", b"h%2etest", b"%68.test", "\uff48.test".encode(),
         "h\u3002test".encode(), "h.te\u00adst".encode(), "h.te\u200bst".encode(), "h.te\u017ft".encode(), b"h.test%00", b"h.test%20", b"h..test",
         b".h.test", b"h.test..", "\uff08h.test".encode(), b"x%40h.test", b"h.test%2f", b"h.test\\", b"h.test;a", b"h.te\tst", b"[h.test]"]
ADDRESSES = [b"127.1", b"127.0.1", b"0x7f.1", b"0x7f000001", b"2130706433", b"0177.0.0.1", b"017700000001", b"127.0.0.1.", b"127.0.0.01",
             b"127.000.000.001", b"[::ffff:127.0.0.1]", b"[::ffff:7f00:1]", b"[0:0:0:0:0:FFFF:7F00:0001]", b"0x7F.0.0x0.1", b"00000127.0.0.1",
             "127.0.0.\uff11".encode(), "\u2460\u2461\uff17.0.0.1".encode(), "127\uff0e0\uff0e0\uff0e1".encode(), "127\u30020.0.1".encode(),
             b"127.0.0.1%20", b"%31%32%37.0.0.1", b"127.0.0.0x1", b"u@127.0.0.1", b"[::127.0.0.1]", b"[::ffff:127.0.0.1%25lo]", b"[64:ff9b::7f00:1]"]


def escapes_of(octet):
    """Spellings of an octet of ASCII that some server may decode."""
    hex_ = f"{octet:02x}"
    loose = chr(ord("0") + (octet & 15)) if octet & 15 > 9 else hex_[1]  # ":" to "?" for 10 to 15
    nine = {"9": "@"}.get(hex_[1], hex_[1])
    return ["%" + hex_, "%" + hex_.upper(), "%25" + hex_, "%2525" + hex_, f"%%{ord(hex_[0]):02x}{hex_[1]}", f"%{hex_[0]}%{ord(hex_[1]):02x}",
            f"%u00{hex_}", f"%U00{hex_}", f"%25u00{hex_}", f"%u{0xfee0 + octet & 0xffff:04x}", f"%c{octet >> 6}%{0x80 | octet & 0x3f:02x}",
            f"%e0%8{octet >> 6}%{0x80 | octet & 0x3f:02x}", "%" + hex_[0] + loose, "%" + hex_[0] + nine, f"%25{hex_[0]}{loose}", f"%25{hex_[0]}{nine}",
            "%" + hex_[0] + "`" if hex_[1] == "9" else "%" + hex_, f"%ef%bc%{0x60 + octet & 0xbf:02x}" if 0x21 <= octet < 0x60 else "%" + hex_,
            "&#x" + hex_ + ";", "\\x" + hex_, "+", "=" + hex_]


def at_slash(rng, path, text):
    place = rng.choice([at for at, c in enumerate(path) if c == "/"] or [0])
    return path[:place] + text + path[place:]


def escape_one(rng, path):
    place = rng.randrange(1, len(path))
    octet = ord(path[place])
    return path if octet > 0x7E else path[:place] + rng.choice(escapes_of(octet)) + path[place + 1:]


CHANGES = [escape_one, escape_one, escape_one, lambda rng, path: at_slash(rng, path, rng.choice(INSERTED)),
           lambda rng, path: at_slash(rng, path, rng.choice(INSERTED)), lambda rng, path: path + rng.choice(APPENDED),
           lambda rng, path: rng.choice(BEFORE) + path,
           lambda rng, path: path.replace("/", rng.choice(["%2f", "%5c", "//", "/./", "%252f", "\\"])),
           lambda rng, path: path.upper() if rng.random() < 0.2 else path.replace(".", rng.choice(["%2e", "%252e", "%c0%ae", "%u002e", "%2>"]))]


def disguise(rng):
    """A host and a target, in octets, neither of which need be one of HTTP."""
    path = rng.choice(FILES)
    for _ in range(rng.randint(1, 4)):
        path = rng.choice(CHANGES)(rng, path)
    host, forms = rng.choice([(HOST, HOSTS), (LOCAL, ADDRESSES)])
    return rng.choice(forms) if rng.random() < 0.25 else host.encode(), ("" if path.startswith("/") else "/").encode() + path.encode()


class PlainProxy(Proxy):
    """Without inspection of TLS, with the one filter."""

    def write(self, mode, ports, dns, more, access):
        self.file.write_text(f"""
listeners: [{{address: "127.0.0.1:0"}}]
workers: 1
filters: [{{name: listed, file: listed.bwf}}]
access: {{deny_destinations: [], deny_ports: []}}
dns: {dns}
admin: {{address: null, control_socket: {self.folder}/{self.name}.sock}}
log: {{access: {{file: access.log}}}}
state_dir: null
""")


class RealServersTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)  # servers that change their user read it
        self.listed = self.build("listed", ENTRIES)
        self.proxy = PlainProxy(self.folder, "listed", [], names=[HOST])
        self.addCleanup(self.proxy.end)
        self.path_info = self.build("path_info", ENTRIES, "--path-info")
        self.anything = Anything()
        self.addCleanup(self.anything.server_close)
        self.addCleanup(self.anything.shutdown)
        self.servers = RealServers(self.folder, FILES, MARKER)
        self.addCleanup(self.servers.close)

    def build(self, name, entries, *options):
        source, out = self.folder / f"{name}.txt", self.folder / f"{name}.bwf"
        source.write_text("\n".join(entries) + "\n")
        run(BUILD / "bloomwall-filter", "build", "-q", "--format", "urls", *options, "-o", out, source)
        return out

    def is_let_through(self, host, target):
        """What the filter says depends on no port: one server tells for all."""
        port = self.anything.server_address[1]
        status = get(port, b"http://%s%s" % (self.with_port(host, port), target), self.proxy.port).split(b" ")[1:2]
        self.assertIn(status, ([b"299"], [b"400"], [b"403"], [b"502"], []), f"{host} {target}")
        return status == [b"299"]

    def with_port(self, host, port):
        return host if host.endswith((b":0", b"/")) else b"%s:%d" % (host, port)

    def is_out_of_reach(self, name, host, target):
        if name.startswith(OUT_OF_REACH[PATH_INFO]):
            return PATH_INFO if not self.is_clear(self.path_info, host + target) else None
        lower = (host + target).lower()
        return CASE if name.startswith(OUT_OF_REACH[CASE]) and not self.is_clear(self.listed, lower) else None

    def is_clear(self, file, url):
        # The program reads lines.
        text = (b"http://" + url).decode("latin-1").replace("\r", "").replace("\n", "")
        asked = subprocess.run([BUILD / "bloomwall-filter", "query", file], input=text.encode("latin-1") + b"\n", capture_output=True, check=False)
        return asked.stdout.startswith(b"clear\t")

    def test_what_is_served_is_blocked_or_refused(self):
        if os.environ.get("BLOOMWALL_EVERY_CLIENT") == "1":
            self.assertEqual(self.servers.missing, [])
        rng = random.Random(test_seed())
        distinct = set()
        while len(distinct) < COUNT:
            distinct.add(disguise(rng))
        disguises = sorted(distinct)
        names = list(self.servers.ports)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            through = list(pool.map(lambda one: self.is_let_through(*one), disguises))
        clear = [one for one, passed in zip(disguises, through) if passed]
        blocked = [target for (_, target), passed in zip(disguises, through) if not passed]
        rng.shuffle(blocked)
        sample = blocked[:SAMPLE]

        def ask(name):
            port = self.servers.ports[name]
            found = [(host, target) for host, target in clear if self.servers.serves(name, target, self.proxy.port, self.with_port(host, port))]
            return found, sum(self.servers.serves(name, target) for target in sample), sum(self.servers.serves(name, file.encode()) for file in FILES)

        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            answers = dict(zip(names, pool.map(ask, names)))
        faults, excused = [], collections.Counter()
        for name, (found, _, _) in answers.items():
            for host, target in found:
                if reason := self.is_out_of_reach(name, host, target):
                    excused[name, reason] += 1
                else:
                    faults.append(f"{name}: {host.decode()!r} {target.decode()!r}")
        print(f"{len(clear)} of {len(disguises)} let through; of {len(sample)} that were not, served by "
              + ", ".join(f"{name} {count}" for name, (_, count, _) in answers.items())
              + f"; not here: {', '.join(self.servers.missing) or 'none'}; out of reach: "
              + ", ".join(f"{name} {count}" for (name, _), count in excused.items()), file=sys.stderr)
        shown = "\n".join(faults[:40])
        self.assertFalse(faults, f"{len(faults)} served and let through:\n{shown}")
        unserved = [name for name, (_, _, files) in answers.items() if files == 0]
        self.assertEqual(unserved, [], "these servers serve no file as it is: disguises of it show nothing")


class Documents(unittest.TestCase):
    def test_the_page_says_what_is_out_of_reach(self):
        text = " ".join(LISTS.read_text().split())
        for words in OUT_OF_REACH:
            self.assertIn(words, text)


if __name__ == "__main__":
    main("nginx")
