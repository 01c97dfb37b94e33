#!/usr/bin/env python3
"""One verdict, whatever the door: the same URLs through the proxy, CONNECT, server names, HTTP/1.1 and HTTP/2 inside TLS, each protocol of
`answers:` and the C ABI. What a door cannot see stands in tests/data/doors.tsv, each row of which must fit a URL.

The URLs: tests/data/canonical_urls.tsv, and beside the repository the published vectors and of each published list some lines, half of
which are listed (left out, and said so, where they are not there); and random disguises of what is listed. Usage: one_verdict_test.py
BUILD_DIR [unittest arguments]. BLOOMWALL_DISGUISES: how many; BLOOMWALL_SEED repeats a run. SPDX-License-Identifier: Apache-2.0
"""
import collections
import ctypes
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

from interception_site import BUILD, WAIT, main, run, until
from ports import free_ports
from real_lists_test import LISTS, lines_of
from seed import test_seed
from tls_doors import TlsDoors

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ROOT / "tests/data/canonical_urls.tsv"
PUBLISHED = ROOT.parent / "shared/url/vectors.tsv"
DISGUISES = int(os.environ.get("BLOOMWALL_DISGUISES", "400"))
LINES = 8  # of each published list
TLS_HOSTS = 60  # each takes handshakes
URL, HOST, RAW = 1, 2, 4  # BW_URL and so on
VERDICTS = ["allowed", "monitored", "blocked", "rejected"]


def rows_of(path):
    return [line.split("\t") for line in path.read_text().splitlines() if line and not line.startswith("#")]


def octets(text):
    """The escapes of the tables of URLs: \\\\ \\t \\n \\r \\xNN."""
    plain = {"\\": b"\\", "t": b"\t", "n": b"\n", "r": b"\r"}
    out = b""
    for escape, code, other in re.findall(r"\\(?:(x[0-9A-Fa-f]{2})|(.))|([^\\]+)", text, re.DOTALL):
        out += bytes.fromhex(escape[1:]) if escape else plain[code] if code else other.encode()
    return out


def authority_of(url):
    """As it stands there, without user info; empty: there is none."""
    rest = url[url.lower().find(b"://") + 3:] if b"://" in url[:10] else url
    return re.split(rb"[/?#\\]", rest, maxsplit=1)[0].rpartition(b"@")[2]


def target_of_connect(url):
    """host:port, and the host."""
    authority = authority_of(url)
    host, colon, port = authority.rpartition(b":")
    if not colon or authority.endswith(b"]"):
        return authority + b":443", authority
    return (authority if port.isdigit() else b""), host


def kinds(url):
    """What may set a URL apart for a door."""
    scheme = re.match(rb"([a-z]+)://", url.lower().lstrip(bytes(range(0x21))))
    before_query = re.split(rb"[?#]", url, maxsplit=1)[0]
    port = authority_of(url).rpartition(b":")[2]
    found = {
        "control": any(octet <= 0x20 or octet == 0x7F for octet in url),
        "control inside": any(octet <= 0x20 or octet == 0x7F for octet in url.strip(bytes(range(0x21)))),
        "end of a line, or NUL": any(octet in url for octet in b"\0\r\n"),
        "letters beyond ASCII in the host": any(octet >= 0x80 for octet in authority_of(url)),
        "backslash before the query": b"\\" in before_query,
        "fragment": b"#" in url,
        "hidden fragment": b"%23" in url,
        "escaped brackets": b"//%5b" in url.lower(),
        "no scheme": scheme is None,
        "path alone": url.startswith(b"/"),
        "https": bool(scheme) and scheme[1] == b"https",
        "ws": bool(scheme) and scheme[1] in (b"ws", b"wss"),
        "ftp": bool(scheme) and scheme[1] not in (b"ws", b"wss", b"http", b"https"),
        "port over 65535": port.isdigit() and int(port) > 65535,
    }
    return {kind for kind, holds in found.items() if holds}


def kinds_of_key(host, verdict):
    """Likewise of the key of a mail server."""
    octet = rb"(?:0|[1-9]\d{0,2})"
    number = rb"(?:0x[0-9a-f]*|\d+)"
    found = {
        "no host": verdict == "rejected",
        "odd address": re.fullmatch(rb"(?:%s\.)*%s" % (number, number), host) and not re.fullmatch(rb"(?:%s\.){3}%s" % (octet, octet), host),
    }
    return {kind for kind, holds in found.items() if holds}


def of_server(line):
    """Of dnsmasq's lines for names that are not to be stopped."""
    match = re.match(r"server=/([^/]+)/[\d.]+$", line)
    return match and f"http://{match[1]}"


def sampled_lists(by):
    """What some lines of each published list say, as URLs: those that are to be listed, and the others."""
    paths = sorted(LISTS.rglob("*.zst"))
    if not paths or not shutil.which("zstd"):
        print(f"no zstd, or no lists in {LISTS}: they are left out", file=sys.stderr)
        return [], []
    listed, others = [], []
    for path in paths:
        lines, read = lines_of(path)
        some = [line for line in by.sample(lines, min(len(lines), 30 * LINES)) if line and line[0] not in "#!;"]
        found = [url for line in some if (url := read(line) or of_server(line))][:LINES]
        listed += found[::2]
        others += found[1::2]
        print(f"{path.relative_to(LISTS)}: {len(found)} lines", file=sys.stderr)
    return listed, others


def inside_tls(url, port):
    """(host, path) of a request for the same in a tunnel to a port of that host, and the URL of it; None: no such tunnel can be."""
    scheme = re.match(rb"\s*https?://", url, re.IGNORECASE)
    host = authority_of(url).rpartition(b":")[0] or authority_of(url)
    if not scheme or not re.fullmatch(rb"(?=.{1,250}$)(?:[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?\.)+[a-z]+[a-z0-9-]*\.?", host, re.IGNORECASE):
        return None
    path = url[scheme.end():][len(re.split(rb"[/?#\\]", url[scheme.end():], maxsplit=1)[0]):]
    path = path if path.startswith(b"/") else b"/" + path
    return (host, path), b"https://%s:%d%s" % (host, port, path)


def kinds_of_name(host):
    """Likewise of a server name."""
    found = {
        "longer than 255": len(host) > 255,
        "letters beyond ASCII in the host": any(octet >= 0x80 for octet in host),
        "brackets": b"[" in host,
    }
    return {kind for kind, holds in found.items() if holds}


class Library:
    """The C ABI, by ctypes."""

    def __init__(self, filters, allow=None):
        self.abi = ctypes.CDLL(str(BUILD / "libbloomwall.so"))
        self.abi.bw_new.restype = ctypes.c_void_p
        self.abi.bw_error_text.restype = ctypes.c_char_p
        self.policy = ctypes.c_void_p(self.abi.bw_new())
        for file in filters:
            self.done(self.abi.bw_add_filter(self.policy, None, str(file).encode()))
        if allow:
            self.done(self.abi.bw_add_allow_list(self.policy, str(allow).encode()))
        self.done(self.abi.bw_reload(self.policy))

    def done(self, result):
        assert result >= 0, self.abi.bw_error_text().decode()
        return result

    def ask(self, text, kind=URL):
        return VERDICTS[self.done(self.abi.bw_ask(self.policy, kind, text, ctypes.c_size_t(len(text)), None))]

    def close(self):
        self.abi.bw_free(self.policy)


class Stream:
    """Octets as they come."""

    def __init__(self, address):
        self.socket = socket.create_connection(("127.0.0.1", address), timeout=WAIT) if isinstance(address, int) else socket.socket(socket.AF_UNIX)
        if not isinstance(address, int):
            self.socket.settimeout(WAIT)
            self.socket.connect(str(address))
        self.kept = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def until(self, end):
        while end not in self.kept:
            more = self.socket.recv(1 << 16)
            assert more, f"ended after {self.kept!r}"
            self.kept += more
        out, _, self.kept = self.kept.partition(end)
        return out

    def exactly(self, count):
        while len(self.kept) < count:
            more = self.socket.recv(1 << 16)
            assert more, f"ended after {self.kept!r}"
            self.kept += more
        out, self.kept = self.kept[:count], self.kept[count:]
        return out


def verdict_of_status(status):
    """204: of a question that may pass; 502: a request that passed, to the parent that is not there."""
    return {204: "allowed", 502: "allowed", 403: "blocked", 451: "blocked"}.get(status, "rejected")


class Site:
    """A daemon with every door, whose requests go to a parent that is not there: what passes ends with 502 and leaves no machine."""

    def __init__(self, entries, allowed, keys):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.listed, self.raw, self.allow = (self.folder / name for name in ("listed.bwf", "keys.bwf", "allow.txt"))
        self.build(self.listed, entries)
        self.build(self.raw, keys, "--raw")
        self.allow.write_text("".join(f"{entry}\n" for entry in allowed))
        names = ["proxy", "http", "icap", "resp", "socketmap", "tcp_table", "parent"]
        self.ports = dict(zip(names, free_ports(len(names))))
        doors = "".join(f"- {{address: 127.0.0.1:{self.ports[name]}, protocol: {name}, trust: [127.0.0.1]}}\n" for name in names[1:-1])
        self.squid = self.folder / "squid"
        file = self.folder / "bloomwall.yaml"
        file.write_text(f"""
listeners: [{{address: "127.0.0.1:{self.ports['proxy']}"}}]
answers:
{doors}- {{address: "unix:{self.squid}", protocol: squid, trust: [127.0.0.1]}}
filters: [{{name: listed, file: listed.bwf}}, {{name: keys, file: keys.bwf}}]
allow_lists: [allow.txt]
access: {{connect_ports: [], deny_ports: [], deny_destinations: []}}
upstream: {{parent: "127.0.0.1:{self.ports['parent']}"}}
admin: {{address: null, control_socket: {self.folder}/control}}
log: {{file: daemon.log, access: {{file: "off"}}}}
state_dir: null
timeouts: {{announce: 0, drain: 1s}}
""")
        self.process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", file])
        log = self.folder / "daemon.log"
        until(lambda: self.process.poll() is not None or (log.exists() and "is served" in log.read_text()))
        assert self.process.poll() is None, log.read_text()

    def build(self, out, lines, *options):
        text = out.with_suffix(".txt")
        text.write_text("".join(f"{line}\n" for line in lines))
        run(BUILD / "bloomwall-filter", "build", "--allow-unsupported", *options, "-o", out, text)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(WAIT)
        shutil.rmtree(self.folder)

    def status(self, request):
        with Stream(self.ports["proxy"]) as stream:
            stream.send(request)
            return int(stream.until(b"\r\n").split()[1])

    def ask_proxy(self, url):
        return verdict_of_status(self.status(b"GET " + url + b" HTTP/1.1\r\nHost: x.test\r\nConnection: close\r\n\r\n"))

    def ask_connect(self, target):
        return verdict_of_status(self.status(b"CONNECT " + target + b" HTTP/1.1\r\nHost: " + target + b"\r\n\r\n"))

    def ask_http(self, url):
        with Stream(self.ports["http"]) as stream:
            stream.send(b"GET / HTTP/1.1\r\nHost: auth.test\r\nX-Original-URL: " + url + b"\r\nConnection: close\r\n\r\n")
            return verdict_of_status(int(stream.until(b"\r\n").split()[1]))

    def ask_icap(self, url):
        head = b"GET " + url + b" HTTP/1.1\r\nHost: x.test\r\n\r\n"
        with Stream(self.ports["icap"]) as stream:
            stream.send(b"REQMOD icap://p/reqmod ICAP/1.0\r\nHost: p\r\nAllow: 204\r\nEncapsulated: req-hdr=0, null-body=%d\r\n\r\n" % len(head) + head)
            status = int(stream.until(b"\r\n").split()[1])
            if status != 200:
                return {204: "allowed", 400: "rejected"}[status]
            stream.until(b"\r\n\r\n")
            return verdict_of_status(int(stream.until(b"\r\n").split()[1]))

    def ask_squid(self, url):
        with Stream(self.squid) as stream:
            stream.send(b"7 " + url + b" GET 127.0.0.1 -\n")
            said = stream.until(b"\n")
            assert said.startswith((b"7 OK", b"7 ERR")), said
            return "allowed" if said == b"7 OK" else "rejected" if b"Refused" in said or b"a URI" in said else "blocked"

    def ask_socketmap(self, key):
        with Stream(self.ports["socketmap"]) as stream:
            question = b"mail " + key
            stream.send(b"%d:%s," % (len(question), question))
            said = stream.exactly(int(stream.until(b":")) + 1)
            return {b"OK": "blocked", b"NOTFOUND": "allowed"}[said.split()[0].rstrip(b",")]

    def ask_tcp_table(self, key):
        with Stream(self.ports["tcp_table"]) as stream:
            stream.send(b"get " + key + b"\n")
            return {b"200": "blocked", b"500": "allowed"}[stream.until(b"\n").split()[0]]

    def ask_resp(self, key):
        with Stream(self.ports["resp"]) as stream:
            words = [b"BF.EXISTS", b"keys", key]
            stream.send(b"*3\r\n" + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
            return {b":1": "blocked", b":0": "allowed"}[stream.until(b"\r\n")]


class Disguise:
    """Another spelling of a URL, at random."""

    def __init__(self, by):
        self.by = by

    def letters(self, text, share):
        return "".join(c.swapcase() if self.by.random() < share else c for c in text)

    def escapes(self, text, share):
        return "".join(f"%{ord(c):{self.by.choice(['02x', '02X'])}}" if c.isalnum() and self.by.random() < share else c for c in text)

    def host(self, host):
        if re.fullmatch(r"[\d.]+", host):
            number = int.from_bytes(socket.inet_aton(host), "big")
            return self.by.choice([host, str(number), hex(number), f"0{number:o}", host + "."])
        return self.by.choice([host, self.letters(host, 0.5), host + ".", "sub." + host])

    def path(self, path):
        path, mark, query = path.partition("?")
        path = self.escapes(path, self.by.choice([0, 0.3]))
        cut = path.rfind("/")
        path = path[:cut] + self.by.choice(["", "/.", "/x/..", "/%2e", "/x/%2E%2e", "/"]) + path[cut:]
        return path + mark + query + self.by.choice(["", "", "", "#fragment"])

    def of(self, canonical):
        _, _, rest = canonical.partition("://")
        host, slash, path = rest.partition("/")
        scheme = self.by.choice(["http", "http", "HTTP", "https"])
        user = self.by.choice([""] * 9 + ["user@"])
        port = self.by.choice(["", "", ":80", ":8080", ":"])
        return f"{scheme}://{user}{host if host.startswith('[') else self.host(host)}{port}{self.path(slash + path)}".encode()


class OneVerdict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        by = random.Random(test_seed())
        tables = [row[1:] for row in rows_of(OWN)[1:] if not row[3].endswith("/host")]
        if PUBLISHED.exists():
            tables += rows_of(PUBLISHED)
        else:
            print(f"{PUBLISHED} is not here: its URLs are left out", file=sys.stderr)
        cls.urls = [octets(row[0]) for row in tables if row[0]]
        canonical = sorted({row[1] for row in tables if row[3] == "lookup" and re.fullmatch(r"https?://[!-\[\]-~]+", row[1])})
        listed = by.sample(canonical, len(canonical) // 2)
        hosts = {f"host{i}.test" for i in range(20)} | {row.split("/")[2] for row in by.sample(listed, len(listed) // 4)}
        entries = listed + [host for host in hosts if re.fullmatch(r"[a-z0-9.-]+", host)]
        cls.keys = by.sample(canonical, len(canonical) // 2)
        allowed = [entry for entry in by.sample(listed, len(listed) // 8) if "?" not in entry]
        entries += [f"http://host{i}.test/bad/page?q={i}" for i in range(20, 40)] + [f"http://host{i}.test/bad/" for i in range(40, 60)]
        disguise = Disguise(by)
        sources = listed + [f"http://host{i}.test/bad/page?q={i}" for i in range(60)]
        from_lists, others = sampled_lists(by)
        entries += [re.sub(r"^http://([^/]+)$", r"\1", url) for url in from_lists]
        cls.from_lists = [url.encode() for url in from_lists]
        cls.urls += cls.from_lists + [url.encode() for url in others]
        sources += [url for url in from_lists if re.fullmatch(r"https?://[a-z0-9.-]+(/[!-~]*)?", url)]
        cls.urls += [disguise.of(by.choice(sources)) for _ in range(DISGUISES)]
        cls.urls = list(dict.fromkeys(cls.urls))
        cls.canonical = canonical
        cls.site = Site(entries, allowed, cls.keys)
        cls.addClassCleanup(cls.site.close)
        cls.library = Library([cls.site.listed], cls.site.allow)
        cls.addClassCleanup(cls.library.close)
        cls.set_up_tls(by)
        cls.table = rows_of(ROOT / "tests/data/doors.tsv")[1:]

    @classmethod
    def set_up_tls(cls, by):
        """Each host is asked in connections of its own: of few hosts all that there is."""
        name_of = lambda url: (found := inside_tls(url, 1)) and found[0][0].lower().rstrip(b".").decode()
        names = sorted({name for url in cls.urls if (name := name_of(url))})
        odd = {name for url in cls.urls if kinds(url) & {"control", "backslash before the query"} and (name := name_of(url))}
        names = set(by.sample(names, min(TLS_HOSTS, len(names)))) | odd
        cls.urls_in_tls = [url for url in cls.urls if name_of(url) in names]
        cls.tls = TlsDoors(cls.site.folder, cls.site.listed, cls.site.allow, names)
        cls.addClassCleanup(cls.tls.close)

    def compare(self, door, questions, ask_all=None):
        """`questions`: (what is asked, its kinds, the verdict of the library)."""
        ask_all = ask_all or (lambda asked: map(getattr(self.site, f"ask_{door}"), asked))
        rules = [(of, says) for name, of, says, _ in self.table if name == door]
        self.assertTrue({says for _, says in rules} <= {"reject", "pass", "unseen", "strict"}, rules)
        used, wrong, seen, expected = collections.Counter(), [], collections.Counter(), []
        for asked, found, verdict in questions:
            rule = next((rule for rule in rules if rule[0] in found), None)
            used[rule] += 1
            if rule and rule[1] == "unseen":
                continue
            says = rule[1] if rule else ""
            wanted = {"reject": ["rejected"], "pass": ["allowed"]}.get(says, [verdict])
            if says == "strict":
                wanted = ["blocked", "rejected", *(["allowed"] if verdict == "allowed" else [])]
            expected.append((asked, found, wanted))
        for (asked, found, wanted), said in zip(expected, ask_all([asked for asked, _, _ in expected]), strict=True):
            seen[said] += 1
            if said not in wanted:
                wrong.append(f"{asked!r}: {said}, expected {' or '.join(wanted)}; {sorted(found)}")
        self.assertEqual(wrong, [], "\n".join([f"{len(wrong)} through {door}:", *wrong[:40]]))
        self.assertEqual([rule for rule in rules if not used[rule]], [], "rows of doors.tsv that fit no URL")
        self.assertTrue(seen["blocked"] and seen["allowed"], seen)

    def of_urls(self):
        for url in self.urls:
            yield url, kinds(url), self.library.ask(url)

    def of_hosts(self, pattern=rb"[^\s\x00-\x20\x7f]+"):
        """Targets of CONNECT and hosts."""
        for url in self.urls:
            target, host = target_of_connect(url)
            if target and re.fullmatch(pattern, host):
                yield target, host, self.library.ask(host, HOST)

    def test_lists(self):
        """What the sampled lines say is listed, but for some that name what no list should."""
        missed = [url for url in self.from_lists if self.library.ask(url) != "blocked"]
        self.assertLessEqual(len(missed), len(self.from_lists) // 10, missed)

    def test_sni(self):
        """CONNECT names another host, which is not listed."""
        hosts = {host: (host, kinds_of_name(host), verdict) for _, host, verdict in self.of_hosts()}
        self.compare("sni", hosts.values(), lambda asked: map(self.tls.ask_sni, asked))

    def of_requests_in_tls(self):
        for url in self.urls_in_tls:
            asked, url = inside_tls(url, self.tls.port)
            yield asked, kinds(url), self.library.ask(url)

    def test_https(self):
        self.compare("https", self.of_requests_in_tls(), self.tls.ask_https)

    def test_http2(self):
        self.compare("http2", self.of_requests_in_tls(), self.tls.ask_http2)

    def test_proxy(self):
        self.compare("proxy", self.of_urls())

    def test_connect(self):
        self.compare("connect", ((target, kinds(target), verdict) for target, _, verdict in self.of_hosts()))

    def test_http(self):
        self.compare("http", self.of_urls())

    def test_icap(self):
        self.compare("icap", self.of_urls())

    def test_squid(self):
        self.compare("squid", self.of_urls())

    def test_mail(self):
        """Of mail servers, which ask about names of hosts and addresses as they are written."""
        questions = list({host: (host, kinds_of_key(host, verdict), verdict) for _, host, verdict in self.of_hosts(rb"[a-z0-9.-]+[a-z0-9]")}.values())
        for door in ("socketmap", "tcp_table"):
            with self.subTest(door):
                self.compare(door, questions)

    def test_resp(self):
        """Raw keys alone, of which each octet counts."""
        library = Library([self.site.raw])
        self.addCleanup(library.close)
        keys = [text.encode() for text in self.canonical] + self.urls
        self.compare("resp", ((key, set(), library.ask(key, RAW)) for key in keys if key))


if __name__ == "__main__":
    main()
