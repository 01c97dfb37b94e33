#!/usr/bin/env python3
"""Random lists in every format, read a second time by rules of this file's own, and asked of the linked programs.

    lists_test.py BUILD_DIR [--seed N] [--rounds N]

A round makes a list of each format, with every spelling that people and editors leave in such files, builds it with the
format given and with the format told from the file, and asks `bloomwall-filter query` and the running proxy: what a line
says is listed, its neighbours are clear, and every line stands in the report as what it is. Then fixed cases: lists that look
like another format are refused or read right, never taken for something else. Ranges of addresses are also asked for by
names that the proxy dials there, and changed with `bloomwall-filter update`, each address against a set. Prints its seed.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import gzip
import ipaddress
import json
import lzma
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from ports import free_ports
from seed import test_seed

MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"
LETTERS = "abcdefghijklmnopqrstuvwxyz"
IDN = [("bücher", "xn--bcher-kva"), ("mañana", "xn--maana-pta"), ("例え", "xn--r8jz45g")]


class Line:
    """One line of a list: `stops` and `passes` are URLs; `kind` is the count of the report that it belongs to."""

    def __init__(self, text, stops=(), passes=(), kind="taken", dialled=()):
        self.text, self.stops, self.passes, self.kind = text, list(stops), list(passes), kind
        self.dialled = list(dialled)  # addresses whose names are stopped, too


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.count = 0

    def word(self, low=3, high=9):
        return "".join(self.rng.choice(LETTERS) for _ in range(self.rng.randint(low, high)))

    def name(self):
        """A host nobody else has in this list, as it is asked for."""
        self.count += 1
        labels = [self.word() for _ in range(self.rng.randint(1, 3))]
        return ".".join([*labels, f"{self.word()}{self.count}", self.rng.choice(["com", "org", "net"])])

    def spelt(self, host):
        """The same host as a list may write it."""
        how = self.rng.randrange(6)
        if how == 0:
            return host.upper()
        if how == 1:
            return host.title()
        return host + "." if how == 2 else host

    def host(self):
        """(as written, as asked for)"""
        host = self.name()
        if self.rng.random() < 0.1:
            raw, ascii_form = self.rng.choice(IDN)
            return f"{raw}.{host}", f"{ascii_form}.{host}"
        return self.spelt(host), host

    def address(self):
        self.count += 1
        return f"{self.rng.randint(20, 90)}.{self.rng.randint(0, 255)}.{self.count // 250}.{self.count % 250 + 1}"

    def odd_address(self, address):
        a, b, c, d = map(int, address.split("."))
        return self.rng.choice([f"{a}.{b}.{c * 256 + d}", hex(a << 24 | b << 16 | c << 8 | d), f"{a}.{b}.{c}.0{d:o}"])

    def network(self):
        """A line of a range of addresses that no other line touches, without blanks."""
        self.count += 1
        if self.rng.random() < 0.3:
            block, bits = 0x20010db8 << 96 | self.count << 64, self.rng.randint(1, 48)
            make, whole = ipaddress.IPv6Address, 128
        else:
            block, bits = (100 << 24) + self.count % 100000 * 4096, self.rng.randint(1, 11)
            make, whole = ipaddress.IPv4Address, 32
        if self.rng.random() < 0.5:
            first = block + (1 << bits)  # aligned, and behind the first address of the block
            last = first + (1 << bits) - 1
            text = f"{make(first)}/{whole - bits}"
            if whole == 32 and self.rng.random() < 0.2:
                text = f"{make(first)}/{make((1 << 32) - (1 << bits))}"
        else:
            first = block + self.rng.randint(1, 1000)
            last = first + self.rng.randint(1, 1000)
            text = f"{make(first)}-{make(last)}"
        inside = [first, last, self.rng.randint(first, last)]
        return Line(text, [literal(make(n)) for n in inside], [literal(make(first - 1)), literal(make(last + 1))],
                    dialled=[str(make(n)) for n in inside])

    def path(self):
        return "/" + "/".join(self.word() for _ in range(self.rng.randint(1, 3)))

    def blanks(self):
        return self.rng.choice(["", "", "", " ", "\t", "  \t"])

    def comment(self, marks):
        if self.rng.random() < 0.7:
            return ""
        return self.rng.choice([" ", "\t", "   "]) + self.rng.choice(marks) + " " + self.word()


def literal(address):
    return f"http://[{address}]/" if address.version == 6 else f"http://{address}/"


def suffix(text, host):
    return Line(text, [f"http://{host}/", f"http://www.{host}/x", f"https://{host}:8443/y?z"],
                [f"http://not{host}/", f"http://{host}x.com/"])


def exact(text, *hosts):
    return Line(text, [f"http://{h}/any" for h in hosts], [f"http://sub.{h}/" for h in hosts])


def domain_line(m):
    how = m.rng.randrange(10)
    after = m.comment(["#", ";", "//", "!"])
    if how == 0:
        address = m.address()
        if m.rng.random() < 0.5:  # a number is no address there, however browsers read it
            return Line(m.odd_address(address) + after, passes=[f"http://{address}/"], kind="unusable")
        return Line(address + after, [f"http://{address}/"])
    if how == 1:
        line = m.network()
        line.text += after
        return line
    if how == 2:
        host = m.name()
        wrong = [f"{host} {m.word()}", f"{m.word()}@{host}", f"{host}:99999", f"{m.address()} {m.rng.choice(['US', '7', host])}"]
        return Line(m.rng.choice(wrong), passes=[f"http://{host}/"], kind="unusable")
    if how == 3:
        return Line(f"{m.name()}/{m.word()}", kind="unusable")
    if how == 4:
        host = m.rng.choice(["-", "_", ""]) + m.word() + "." + m.name()
        around = m.rng.choice([("", ":8080"), ("\N{NO-BREAK SPACE}", ""), ("", "\N{IDEOGRAPHIC SPACE}"), ("", ","), ("", "#why")])
        return suffix(around[0] + host + around[1], host)
    text, host = m.host()
    return suffix(m.blanks() + m.rng.choice(["", "", ".", "*."]) + text + m.blanks() + after, host)


def hosts_line(m):
    if m.rng.random() < 0.04:
        host, other = m.name(), m.name()
        wrong = [f"0.0.0.0 {m.word()}", f"{m.address()} {m.rng.choice(['US', '10', '87.5', '- x.y', 'ssh,ftp'])}",
                 f"{m.address()} {m.address()}", f"0.0.0.0 {host}/x {other}"]
        return Line(m.rng.choice(wrong), passes=[f"http://{host}/", f"http://{other}/"], kind="unusable")
    if m.rng.random() < 0.08:
        host, other = m.name(), m.name()
        line = exact(f"0.0.0.0 {host} {m.rng.choice(['->', 'see', 'a,b', '--'])} {other}", host)
        line.passes.append(f"http://{other}/")
        return line
    names = [m.host() for _ in range(m.rng.choice([1, 1, 1, 2, 3]))]
    sink = m.rng.choice(["0.0.0.0", "127.0.0.1", "::", "192.0.2.53"])
    gap = m.rng.choice([" ", "\t", "   "])
    return exact(gap.join([sink, *(t for t, _ in names)]) + m.comment(["#", ";"]), *(h for _, h in names))


def adblock_line(m):
    how = m.rng.randrange(6)
    host, path = m.name(), m.path()
    if how == 0:
        return Line(f"||{host}^$script", passes=[f"http://{host}/"], kind="unusable")
    if how == 1:
        return Line(f"{host}##.ad", passes=[f"http://{host}/"], kind="unusable")
    if how == 2:
        return Line(f"||{host}{path}/", [f"http://{host}{path}/x"], [f"http://{host}/"])
    if how == 3:
        return Line(f"||{host}{path}^", [f"http://{host}{path}", f"http://{host}{path}/x"], [f"http://{host}{path}x"])
    return suffix(f"||{host}^" + m.rng.choice(["", "", "$all", "$document"]), host)


def dnsmasq_line(m):
    text, host = m.host()
    if m.rng.random() < 0.1:
        wrong = [f"server=/{host}/192.0.2.1", f"host-record={host},0.0.0.0", f"cname={host},sink.lan", f"addres=/{host}/#"]
        return Line(m.rng.choice(wrong), passes=[f"http://{host}/"], kind="unusable")
    if m.rng.random() < 0.1:
        return suffix(f"--address=/{host}/", host)
    return suffix(m.rng.choice([f"address=/{text}/#", f"address=/{text}/0.0.0.0", f"server=/{text}/", f"local=/{text}/"]) +
                  m.comment(["#"]), host)


def unbound_line(m):
    host = m.name()
    if m.rng.random() < 0.1:
        wrong = [f'local-zone: "{host}." transparent', f'local-zones: "{host}." static', f'forward-zone: name: "{host}"']
        return Line(m.rng.choice(wrong), passes=[f"http://{host}/"], kind="unusable")
    if m.rng.random() < 0.1:
        other = m.name()
        line = suffix(f'server: local-zone: "{host}" static LOCAL-ZONE: {other} deny', host)
        line.stops.append(f"http://sub.{other}/")
        return line
    return suffix(f'local-zone: "{m.spelt(host)}" always_null' + m.comment(["#"]), host)


def rpz_line(m):
    host = m.name()
    if m.rng.random() < 0.08:  # a parenthesis by mistake
        return Line(f"{host} CNAME (", kind="unusable")
    return exact(f"{host} {m.rng.choice(['', '300 ', 'IN ', '300 IN '])}CNAME {m.rng.choice(['.', '*.'])}" +
                 m.rng.choice(["", " ; why"]), host)


def url_of(m, host):
    """(as written after the scheme, asked for, clear)"""
    path = m.path()
    written = path
    if m.rng.random() < 0.3:
        at = m.rng.randrange(1, len(path))
        if path[at] != "/":
            written = path[:at] + f"%{ord(path[at]):02x}" + path[at + 1:]
    if m.rng.random() < 0.2:
        written = "/./" + m.word() + "/.." + written
    query = m.rng.choice(["", "", "", "?a=" + m.word()])
    port = m.rng.choice(["", "", ":8080", ":443"])
    wants = [f"http://{host}{path}{query}"] + ([] if query else [f"http://sub.{host}{path}?any=1"])
    return f"{port}{written}{query}", wants, [f"http://{host}{path}x", f"http://{host}/"]


def url_line(m):
    how = m.rng.randrange(10)
    if how == 0:
        return Line(f"http://{m.name()}/{m.word()}{m.rng.choice([' ', chr(9)])}{m.word()}", kind="unusable")
    if how == 1:
        return m.network()
    text, host = m.host()
    if how == 2:
        return Line(f"http://{text}/*", [f"http://{host}/x/y"])
    if how == 3:
        return suffix(m.rng.choice(["http://", "https://"]) + text + m.rng.choice(["", "/"]), host)
    rest, stops, passes = url_of(m, host)
    scheme = m.rng.choice(["http://", "HTTPS://", ""])
    if m.rng.random() < 0.2:
        user = f"{m.word()}@"
        if not scheme:
            return Line(user + text + rest, passes=stops + passes, kind="unusable")
    else:
        user = ""
    if m.rng.random() < 0.1:
        asked = f"{m.path()}?{m.word()}=*"  # an octet behind a scheme, else perhaps a wildcard
        if scheme:
            return Line(scheme + text + asked, [f"http://{host}{asked}"], passes)
        return Line(text + asked, passes=passes, kind="unusable")
    return Line(m.blanks() + scheme + user + text + rest + m.blanks() + m.comment(["#", ";"]), stops, passes)


def squidguard_line(m):
    host, path = m.name(), m.path()
    if m.rng.random() < 0.1:
        return m.network()
    if m.rng.random() < 0.1:
        return Line(f"{host}{path} {m.word()}", kind="unusable")
    return Line(m.rng.choice(["", "www."]) + host + path, [f"http://{host}{path}", f"http://www.{host}{path}/x"],
                [f"http://{host}{path}x"])


def csv_line(m, separator=","):
    text, host = m.host()
    rest, stops, passes = url_of(m, host)
    url = f"http://{text}{rest}"
    if m.rng.random() < 0.06:  # a quote by mistake: the line is lost, and nothing else
        return Line(separator.join(["2026-01-01", url, f'"{m.word()}']), kind="unusable")
    if m.rng.random() < 0.4:
        return Line(separator.join(['"2026-01-01"', f'"{url}"', f'"{m.word()}{separator} ""{m.word()}"""']), stops, passes)
    return Line(separator.join(["2026-01-01", url, m.word()]), stops, passes)


def privoxy_line(m):
    host = m.name()
    if m.rng.random() < 0.1:
        return Line(f".{host}/ads/.*", kind="unusable")
    return suffix(f".{host}", host) if m.rng.random() < 0.5 else exact(host, host)


def mixed_line(m):
    how = m.rng.randrange(5)
    host = m.name()
    if how == 0:
        return exact(f"0.0.0.0 {host}", host)
    if how == 1:
        return Line(f"{host}/a", [f"http://{host}/a"], [f"http://{host}/ab"])
    return suffix([f"||{host}^", f"address=/{host}/#", host][how - 2], host)


def network_line(m):
    how = m.rng.randrange(10)
    after = m.comment(["#", ";"])
    if how == 0:
        wrong = ["0.0.0.0/0", "::/0", "224.0.0.0/3", "2000::/3", "10.0.0.0/33", "10.0.0.9-10.0.0.1", "10/8", m.name()]
        return Line(m.rng.choice(wrong) + after, kind="unusable")
    if how == 1:
        address = m.address()
        return Line(address + m.rng.choice(["", "/32"]) + after, [f"http://{address}/"], dialled=[address])
    line = m.network()
    if "-" in line.text and m.rng.random() < 0.3:
        line.text = line.text.replace("-", " - ")
    line.text = m.blanks() + line.text + m.blanks() + after
    return line


FORMATS = {  # name: (maker of a line, lines before, marks of comments, told from the file under that name)
    "domains": (domain_line, [], "#;!", False),
    "hosts": (hosts_line, [], "#;!", True),
    "adblock": (adblock_line, ["[Adblock Plus 2.0]"], "!", True),
    "dnsmasq": (dnsmasq_line, [], "#", True),
    "unbound": (unbound_line, ["server:"], "#", True),
    "rpz": (rpz_line, ["$TTL 300", "@ SOA a. b. (", " 1 2 3", " 4 5 )"], ";", True),
    "urls": (url_line, [], "#;!", False),
    "squidguard-urls": (squidguard_line, [], "#", False),
    "csv": (csv_line, ["date,URL,note"], "#", True),
    "csv;": (lambda m: csv_line(m, ";"), ["date;url;note"], "#", False),
    "csv\t": (lambda m: csv_line(m, "\t"), ["date\turl\tnote"], "#", False),
    "privoxy": (privoxy_line, ["{+block{x}}"], "#", True),
    "mixed": (mixed_line, [], "#;!", False),
    "networks": (network_line, [], "#;", False),
}


class Failure(Exception):
    pass


def require(holds, what):
    if not holds:
        raise Failure(what)


class Programs:
    def __init__(self, build, folder):
        self.filter, self.proxy, self.folder = build / "bloomwall-filter", build / "bloomwall", folder

    def build(self, path, *options):
        """(status, report of its only file or None, standard error)"""
        out = self.folder / "out.bwf"
        out.unlink(missing_ok=True)
        done = subprocess.run([self.filter, "build", "--json", "-o", out, *options, path], capture_output=True, text=True,
                              timeout=120)
        report = json.loads(done.stdout) if done.returncode == 0 else None
        return done.returncode, report, done.stderr

    def query(self, urls, *options):
        done = subprocess.run([self.filter, "query", self.folder / "out.bwf", *options], input="\n".join(urls) + "\n",
                              capture_output=True, text=True, timeout=120)
        answers = [line.split("\t")[0] for line in done.stdout.splitlines()]
        require(len(answers) == len(urls), f"{len(urls)} questions, {len(answers)} answers: {done.stderr}")
        return dict(zip(urls, answers))


def files_of(report):
    for value in report.values():
        if isinstance(value, list) and value and isinstance(value[0], dict) and "unusable" in value[0]:
            return value
    raise Failure(f"no files in the report: {report}")


def text_of(m, lines):
    """The file: line ends, byte order marks, no last line end."""
    end = m.rng.choice(["\n", "\r\n"])
    text = MARK if m.rng.random() < 0.3 else ""
    for line in lines:
        if m.rng.random() < 0.02:
            text += MARK
        text += line.text + end
    cut = lines[-1].text and m.rng.random() < 0.3
    return (text[:-len(end)] if cut else text).encode()


def packed(m, data, path):
    how = m.rng.randrange(5)
    if how == 0:
        data = gzip.compress(data[:len(data) // 2]) + gzip.compress(data[len(data) // 2:])
    elif how == 1:
        data = lzma.compress(data)
    elif how == 2 and shutil.which("zstd"):
        data = subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout
    path.write_bytes(data)


def one_list(programs, m, name, proxy_questions):
    make, head, marks, told = FORMATS[name]
    lines = [Line(text, kind="other") for text in head]
    unusable = 0  # where a tenth can't be read, detection asks
    for _ in range(120):
        line = make(m)
        while line.kind == "unusable" and unusable == 9:
            line = make(m)
        unusable += line.kind == "unusable"
        lines.append(line)
        if m.rng.random() < 0.1:
            lines.append(Line(m.rng.choice(["", " ", f"{m.rng.choice(marks)} {m.word()}"]), kind="other"))
    path = programs.folder / "list"
    packed(m, text_of(m, lines), path)
    for options in [["--format", name.rstrip(";\t")]] + ([[]] if told else []):
        where = f"{name} {options}"
        status, report, errors = programs.build(path, "--allow-unsupported", *options)
        require(status == 0, f"{where}: {errors}")
        counts = files_of(report)[0]
        for kind in ("taken", "unusable"):
            wanted = sum(line.kind == kind for line in lines)
            require(counts[kind] == wanted, f"{where}: {kind} {counts[kind]}, not {wanted}: {errors}")
        require(counts["lines"] == len(lines), f"{where}: {counts['lines']} lines, not {len(lines)}")
        stops = [u for line in lines for u in line.stops]
        passes = [u for line in lines for u in line.passes]
        answers = programs.query(stops + passes)
        missed = [u for u in stops if answers[u] != "listed"]
        wrong = [u for u in passes if answers[u] != "clear"]
        require(not missed, f"{where}: not listed: {missed[:5]}")
        require(not wrong, f"{where}: listed: {wrong[:5]}")
    kept = programs.folder / f"{len(proxy_questions)}.bwf"
    shutil.copy(programs.folder / "out.bwf", kept)
    # What plain names of networks are asked for at the end; entries of addresses in other formats are for literals alone.
    dialled = [address for line in lines for address in line.dialled]
    proxy_questions.append((kept, m.rng.sample(stops, min(20, len(stops))), m.rng.sample(dialled, min(4, len(dialled)))))


def status_of(port, url):
    """What the proxy answers to a GET of `url`."""
    host = url.split("/")[2]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as peer:
        peer.sendall(f"GET {url} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while b"\r\n" not in answer:
            data = peer.recv(4096)
            if not data:
                break
            answer += data
    return int(answer.split()[1])


def ask_proxy(programs, questions):
    port = free_ports(1)[0]
    filters = ", ".join(f"{{name: f{i}, file: {path}}}" for i, (path, _, _) in enumerate(questions))
    dialled = {f"n{i}.dialled.test": address for i, address in enumerate(a for _, _, some in questions for a in some)}
    hosts = ", ".join(["clear.test: 127.0.0.1", *(f'{name}: "{address}"' for name, address in dialled.items())])
    config = programs.folder / "proxy.yaml"
    config.write_text(f"""listeners: [{{address: "127.0.0.1:{port}"}}]
filters: [{filters}]
dns: {{servers: ["127.0.0.1:9"], hosts: {{{hosts}}}}}
access: {{deny_destinations: []}}
state_dir: {programs.folder}
admin: {{address: null, control_socket: {programs.folder}/control.sock}}
log: {{access: {{file: {programs.folder}/access.log}}}}
""")
    # The others' entries may stop what one list lets pass: only what must be stopped is asked for, and one name of no list.
    child = subprocess.Popen([programs.proxy, "run", "--config", config], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                             env={k: v for k, v in os.environ.items() if k != "NOTIFY_SOCKET"})
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=5).close()
                break
            except OSError:
                require(child.poll() is None, f"the proxy ended: {child.stderr.read().decode() if child.poll() else ''}")
                require(time.monotonic() < deadline, "the proxy does not listen")
                time.sleep(0.05)
        for _, urls, _ in questions:
            for url in urls:
                if url.startswith("http:"):
                    require(status_of(port, url) == 403, f"the proxy lets {url} pass")
        for name, address in dialled.items():
            require(status_of(port, f"http://{name}/") == 403, f"the proxy dials {address}")
        require(status_of(port, f"http://clear.test:{free_ports(1)[0]}/") != 403, "the proxy stops everything")
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stderr.close()


def lines(pattern, count=20):
    return "".join(pattern.format(i) + "\n" for i in range(1, count + 1))


# Lists that have been taken for something else: name of the file, text, what must be listed if it is taken at all, and what
# must never be listed.
CONFUSING = [
    ("drop", "; DROP\n1.10.16.0/20 ; SBL1\n1.19.0.0/16 ; SBL2\n",
     ["http://1.10.16.0/20", "http://1.10.31.255/", "http://1.19.7.7/"],
     ["http://1.10.15.255/", "http://1.10.32.0/", "http://1.20.0.0/", "http://20/"]),
    ("netset", "# firehol\n224.0.0.0/3\n0.0.0.0/0\n" + lines("9.8.{}.0/24", 60) + "1.2.3.4\n",
     ["http://1.2.3.4/", "http://9.8.7.6/"], ["http://225.0.0.1/", "http://9.9.0.1/", "http://1.2.3.5/"]),
    ("hosts and ranges", lines("d{}.example") + "1.10.16.0/20\n2001:db8::/32\n",
     ["http://d1.example/", "http://1.10.17.1/", "http://[2001:db8::5]/"], ["http://1.10.32.1/", "http://[2001:db9::5]/"]),
    ("ranges", lines("1.2.3.{}/32"), ["http://1.2.3.4/"], []),
    ("tabs", lines("http://e{}.example/x\tphishing"), ["http://e1.example/x"], ["http://e1.example/xphishing"]),
    ("words", lines("http://e{}.example/x 2020-01-01 phishing"), ["http://e1.example/x"], []),
    ("mixture", lines("u{}.example/x") + lines("0.0.0.0 h{}.example\n||a{0}.example^\naddress=/d{0}.example/#".replace("{}", "{0}"), 6),
     ["http://u1.example/x", "http://h1.example/", "http://a1.example/", "http://d1.example/"], []),
    ("c.csv", lines("http://e{}.example/x,2020-01-01,online"), ["http://e1.example/x"], []),
    ("noname", lines("http://e{}.example/x,2020-01-01,online"), ["http://e1.example/x"], []),
    ("header", "phish_url,date\n" + lines("http://e{}.example/x,2020"), ["http://e1.example/x"], []),
    ("semicolons", lines("http://e{}.example/x;2020;online"), ["http://e1.example/x"], []),
    ("bars", lines("http://e{}.example/x|2020|online"), ["http://e1.example/x"], []),
    ("bare", "url,date\n" + lines("evil{}.example/a,2020"), ["http://evil1.example/a"], ["http://url/"]),
    ("urls", "2019/01/02 10:00,http://evil1.example/x,Brand\n", ["http://evil1.example/x"], ["http://0.0.7.227/"]),
    ("marks", f"http://a.example/x\n{MARK}http://c.example/x\n", ["http://a.example/x", "http://c.example/x"],
     ["http://http/c.example/x"]),
    ("returns", "a.example\rb.example\rc.example\r", ["http://a.example/", "http://b.example/", "http://c.example/"],
     ["http://a.exampleb.examplec.example/"]),
    ("hash", "# url,date\nhttp://e.example/x,y\nhttp://e2.example/x\n", ["http://e.example/x,y", "http://e2.example/x"],
     ["http://e.example/x"]),
    ("byhand", "a.test\n||b.test^\nc.test/x/\n", ["http://a.test/", "http://b.test/", "http://c.test/x/y"],
     ["http://c.test/"]),
    ("references", lines("evil{}.example # kit {}, https://ref.test/".replace("{}", "{0}")), ["http://evil1.example/"],
     ["https://ref.test/"]),
    ("paths and references", lines("evil{}.example/x ; kit; https://ref.test/, x"), ["http://evil1.example/x"],
     ["https://ref.test/"]),
    ("addresses and references", lines("192.0.2.{} # scan, https://ref.test/"), ["http://192.0.2.1/"], ["https://ref.test/"]),
    ("cloaked", lines("evil{}.example # CNAME cloaking") + "evil.example # SOA seized\n",
     ["http://evil1.example/", "http://evil.example/"], []),
    ("domains.csv", lines("evil{}.example,kit,https://ref.test/"), ["http://evil1.example/"], ["https://ref.test/"]),
    ("named.csv", "domain,seen,reference\n" + lines("evil{}.example,2026,https://ref.test/"), ["http://evil1.example/"],
     ["https://ref.test/"]),
    ("two.csv", lines("https://ref.test/,http://evil{}.example/x"), ["http://evil1.example/x"], ["https://ref.test/"]),
    ("cell.csv", "date,url,type\n" + lines("2026,http://evil{}.example/x,url") + "2026,evil.example/x,url\n" +
     lines("2026,http://late{}.example/x,url"), ["http://evil1.example/x", "http://evil.example/x", "http://late9.example/x"],
     ["http://url/"]),
    ("prose.csv", "# Verdicts, one URL a line, newest first\n" + lines("shared.test,http://evil{}.example/x,kit"),
     ["http://evil1.example/x"], ["http://shared.test/"]),
    ("wide.csv", "date,url,status\n" + lines("2026,http://evil{}.example/x,on", 60) + "2026,http://shared.test/,q/evil,on\n",
     ["http://evil1.example/x"], ["http://shared.test/"]),
    ("torn.csv", "id,url,note\n" + lines("{},http://evil{}.example/x,n".replace("{}", "{0}"), 60) +
     '1,http://evil.example/x,"lures:\nlogin, http://shared.test/, more\nend"\n',
     ["http://evil1.example/x", "http://evil.example/x"], ["http://shared.test/"]),
    ("none.csv", "date,url\n" + lines("2026,http://evil{}.example/x", 90) + "2026,None\n2026,unknown\n2026,0\n",
     ["http://evil1.example/x"], ["http://none/", "http://unknown/", "http://0.0.0.0/"]),
    ("zone", "$TTL 60\n@ SOA localhost. root.localhost. 1 1 1 1 1\n" + lines("evil{}.com.rpz.corp.test. CNAME ."),
     ["http://evil1.com/"], []),
    ("nbsp", "e4.de\N{NO-BREAK SPACE}\n" + lines("ok{}.example"), ["http://e4.de/", "http://ok1.example/"], []),
    ("paths without a scheme", lines("p{}.example/login", 30) + "www.bigsite.example/\n",
     ["http://p1.example/login", "http://www.bigsite.example/"],
     ["http://bigsite.example/", "http://mail.bigsite.example/", "http://p1.example/login/x"]),
    ("south africa", "za\n*.za\n" + lines("x{}.co.za", 60), ["http://x1.co.za/"], ["http://good.za/", "http://good.co.za/"]),
    ("diff", "--- a\n+++ b\n" + lines("-0{0}.h.example\n+1{0}.h.example"), [], ["http://01.h.example/"]),
    ("stars", lines("http://s{}.example/a/*3mail@b.c"), ["http://s1.example/a/*3mail@b.c", "http://s1.example/a/%2A3mail@b.c"],
     ["http://s1.example/a/", "http://s1.example/a/3mail@b.c"]),
    ("segments", "http://a.example/x/,a\nhttp://b.example/;x\nhttp://c.example/|x\n",
     ["http://a.example/x/,a", "http://b.example/;x", "http://c.example/|x"], ["http://a.example/x/", "http://b.example/"]),
    ("ipsum", lines("1.2.3.{}\t10"), ["http://1.2.3.4/"], ["http://0.0.0.10/"]),
    ("rdns", lines("1.2.3.{0} host{0}.isp.example"), ["http://1.2.3.4/"], ["http://host4.isp.example/"]),
    ("dshield", lines("80.94.{0}.0\t80.94.{0}.255\t24\t5212\tX LTD\tGB\tabuse@x.example"),
     ["http://80.94.3.7/"], ["http://80.95.0.1/", "http://x.example/"]),
    ("startend", lines("1.2.{0}.0 1.2.{0}.255"), ["http://1.2.3.4/"], []),
    ("masks", lines("1.2.{0}.0 255.255.255.0"), ["http://1.2.3.4/"], ["http://255.255.255.0/"]),
    ("bot", lines("1.2.3.{0} - mirai.x{0}"), ["http://1.2.3.4/"], ["http://mirai.x4/"]),
    ("mails", lines("u{}@gmail.example"), [], ["http://gmail.example/"]),
    ("forbidden", "Forbidden\n", [], ["http://forbidden/"]),
    ("sums", lines("5d41402abc4b2a76b9719d911017c5{:02d}"), [], []),
    ("versions", lines("1.{}.0"), [], ["http://1.4.0.0/"]),
    ("prose", lines("0.0.0.0 e{}.example") + "0.0.0.0 evil.example -> www.good.example\n",
     ["http://evil.example/"], ["http://www.good.example/"]),
    ("urls and rules", lines("http://u{}.example/x") + "||a1.example/ads/\naddress=/d1.example/#\n0.0.0.0 h1.example\n",
     ["http://u1.example/x", "http://a1.example/ads/y", "http://d1.example/", "http://h1.example/"], []),
    ("rules behind urls", lines("http://u{}.example/x", 200) + "||a1.example/ads/\naddress=/d1.example/#\n",
     ["http://u1.example/x", "http://a1.example/ads/y", "http://d1.example/"], ["http://address=/d1.example/"]),
    ("titled names", "! Title: x\n" + lines("d{}.example # why") + "*.w.example\nplainly.example\n0.0.0.0 h.example\n",
     ["http://d1.example/", "http://x.w.example/", "http://h.example/"], []),
    ("titled resolver", "! Title: x\n" + lines("address=/d{}.example/#"), ["http://d1.example/", "http://d20.example/"], []),
    ("titled zones", "! Title: x\nserver:\n" + lines('local-zone: "d{}.example." always_null'),
     ["http://d1.example/", "http://d20.example/"], []),
    ("titled urls", "! Title: x\n" + lines("http://u{}.example/x"), ["http://u1.example/x", "http://u20.example/x"], []),
    ("comments", lines("d{}.example") + "evil.example  # ticket 7\n.a.example # c\n*.b.example ; d\n",
     ["http://evil.example/", "http://a.example/", "http://x.b.example/"], []),
]


def confusing(programs):
    for name, text, stops, never in CONFUSING:
        path = programs.folder / name
        path.write_bytes(text.encode())
        status, report, errors = programs.build(path)
        if status == 0:
            counts = files_of(report)[0]
            answers = programs.query(stops + never + ["http://nothing.test/"])
            missed = [u for u in stops if answers[u] != "listed"]
            require(not missed, f"{name} was taken ({counts['format']}), and {missed} pass")
            require(not [u for u in never if answers[u] == "listed"], f"{name} was taken, and stops {never}")
        else:
            require(status == 2 and errors.strip(), f"{name}: {status} without a word")
        path.unlink()


def folders(programs):
    top = programs.folder / "folder"
    for path, text in {"cat/domains": "a.example\n", "cat/sub/domains": "b.example\n", "a/b/c/d/urls": "c.example/x\n",
                       "cat/domains.gz": "", "notes.txt": "z.example\n"}.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    status, report, errors = programs.build(top)
    require(status == 0, errors)
    left_out = sum((f["left_out"] for f in files_of(report)), [])
    require(len(left_out) == 2 and all(any(n in line for line in left_out) for n in ("notes.txt", "domains.gz")), left_out)
    answers = programs.query(["http://a.example/", "http://b.example/", "http://c.example/x"])
    require(set(answers.values()) == {"listed"}, answers)
    for make in (lambda p: p.symlink_to("gone"), os.mkfifo):
        make(top / "cat/urls")
        status, _, errors = programs.build(top)
        require(status == 2 and "urls" in errors, f"{status} {errors}")
        (top / "cat/urls").unlink()


def range_line(rng, base, size):
    """(text, the numbers in it) of a range in `size` addresses from `base`"""
    if rng.random() < 0.5:
        bits = rng.randint(0, 6)
        first = base + (rng.randrange(size) >> bits << bits)
        return f"{ipaddress.IPv4Address(first)}/{32 - bits}", range(first, first + (1 << bits))
    first = rng.randrange(size)
    last = rng.randint(first, min(first + 40, size - 1))
    text = f"{ipaddress.IPv4Address(base + first)}-{ipaddress.IPv4Address(base + last)}"
    return text, range(base + first, base + last + 1)


def changed_networks(programs, m):
    """A filter of networks, changed and changed again, against a set of addresses."""
    base, size = 198 << 24 | 18 << 16, 512
    listed = set()

    def a_list(name, act):
        chosen = [range_line(m.rng, base, size) for _ in range(m.rng.randint(1, 12))]
        for _, numbers in chosen:
            act(numbers)
        path = programs.folder / name
        path.write_text("".join(f"{text}\n" for text, _ in chosen))
        return path

    path = a_list("base", listed.update)
    status, _, errors = programs.build(path, "--format", "networks")
    require(status == 0, errors)
    urls = [literal(ipaddress.IPv4Address(base + n)) for n in range(size)]
    delta = programs.folder / "out.delta"
    delta.unlink(missing_ok=True)
    for step in range(5):
        if step > 0:
            remove = a_list("remove", listed.difference_update)
            add = a_list("add", listed.update)
            done = subprocess.run([programs.filter, "update", programs.folder / "out.bwf", "--delta", delta, "--format",
                                   "networks", "--remove", remove, "--add", add], capture_output=True, text=True, timeout=120)
            require(done.returncode == 0, f"update: {done.stderr}")
        answers = programs.query(urls, *(["--delta", delta] if step > 0 else []))
        wrong = [url for n, url in enumerate(urls) if (answers[url] == "listed") != (base + n in listed)]
        require(not wrong, f"after {step} updates: {wrong[:5]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else test_seed()
    with tempfile.TemporaryDirectory() as folder:
        programs = Programs(options.build.resolve(), pathlib.Path(folder))
        maker = Maker(random.Random(seed))
        try:
            confusing(programs)
            folders(programs)
            questions = []
            for _ in range(options.rounds):
                changed_networks(programs, maker)
                for name in FORMATS:
                    one_list(programs, maker, name, questions)
            ask_proxy(programs, questions)
        except Failure as failure:
            print(f"FAILED: {failure}; again with --seed {seed}")
            return 1
    print(f"{options.rounds} lists of each of {len(FORMATS)} formats, {len(CONFUSING)} confusing ones and a folder agree")
    return 0


sys.exit(main())
