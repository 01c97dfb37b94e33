#!/usr/bin/env python3
"""A second reader of .bwf files, written from filter/FORMAT.md alone: standard library, slow, no code in common with the first.

  second_reader.py BUILD_DIR           builds filters with BUILD_DIR/bloomwall-filter, asks both readers 10,000 questions, and
                                       ends with 1 where one answer differs, a digest does not fit, or an entry is missed
  second_reader.py --ask FILE [--delta DELTA] < QUESTIONS     canonical URLs, one a line: "listed" or "clear"

URLs are canonical already (canonical_url.h is a contract of its own). SPDX-License-Identifier: Apache-2.0
"""
import bisect
import hashlib
import ipaddress
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


# ---- XXH3-128, from its specification

def r32(b, at):
    return int.from_bytes(b[at:at + 4], "little")


def r64(b, at):
    return int.from_bytes(b[at:at + 8], "little")


def swapped(value, size):
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def avalanche(h):
    h = (h ^ h >> 37) * 0x165667919E3779F9 & M64
    return h ^ h >> 32


def avalanche64(h):
    h = (h ^ h >> 33) * P64[1] & M64
    h = (h ^ h >> 29) * P64[2] & M64
    return h ^ h >> 32


def folded(a, b):
    product = a * b
    return (product ^ product >> 64) & M64


def mixed(low, high, a, b, at, seed):
    def half(data):
        return folded(r64(data, 0) ^ (r64(SECRET, at[0]) + seed & M64), r64(data, 8) ^ (r64(SECRET, at[0] + 8) - seed & M64))
    low = (low + half(a) & M64) ^ (r64(b, 0) + r64(b, 8) & M64)
    at[0] += 16
    high = (high + half(b) & M64) ^ (r64(a, 0) + r64(a, 8) & M64)
    return low, high


def finish_middle(low, high, size, seed):
    total = (low * P64[0] + high * P64[3] + (size - seed) * P64[1]) & M64
    return avalanche(low + high & M64), -avalanche(total) & M64


def hash_up_to_16(d, seed):
    n = len(d)
    if n > 8:
        low_flip = (r64(SECRET, 32) ^ r64(SECRET, 40)) - seed & M64
        high_flip = (r64(SECRET, 48) ^ r64(SECRET, 56)) + seed & M64
        first, last = r64(d, 0), r64(d, n - 8)
        product = (first ^ last ^ low_flip) * P64[0]
        low, high = (product & M64) + (n - 1 << 54) & M64, product >> 64
        last ^= high_flip
        high = high + last + (last & M32) * (P32[1] - 1) & M64
        low ^= swapped(high, 8)
        product = low * P64[1]
        return avalanche(product & M64), avalanche((product >> 64) + high * P64[1] & M64)
    if n >= 4:
        seed ^= swapped(seed & M32, 4) << 32
        keyed = (r32(d, 0) | r32(d, n - 4) << 32) ^ ((r64(SECRET, 16) ^ r64(SECRET, 24)) + seed & M64)
        product = keyed * (P64[0] + (n << 2))
        low, high = product & M64, product >> 64
        high = high + (low << 1) & M64
        low ^= high >> 3
        low = (low ^ low >> 35) * 0x9FB21C651E98DF25 & M64
        return low ^ low >> 28, avalanche(high)
    if n > 0:
        low = d[0] << 16 | d[n >> 1] << 24 | d[n - 1] | n << 8
        high = swapped(low, 4)
        high = (high << 13 | high >> 19) & M32
        return (avalanche64(low ^ ((r32(SECRET, 0) ^ r32(SECRET, 4)) + seed & M64)),
                avalanche64(high ^ ((r32(SECRET, 8) ^ r32(SECRET, 12)) - seed & M64)))
    return (avalanche64(seed ^ r64(SECRET, 64) ^ r64(SECRET, 72)), avalanche64(seed ^ r64(SECRET, 80) ^ r64(SECRET, 88)))


def hash_up_to_240(d, seed):
    n = len(d)
    low, high = n * P64[0] & M64, 0
    if n <= 128:
        for i in reversed(range((n - 1) // 32 + 1)):
            low, high = mixed(low, high, d[16 * i:], d[n - 16 * (i + 1):], [32 * i], seed)
        return finish_middle(low, high, n, seed)
    for i in range(n // 32):
        if i == 4:
            low, high = avalanche(low), avalanche(high)
        low, high = mixed(low, high, d[32 * i:], d[32 * i + 16:], [32 * i if i < 4 else 3 + 32 * (i - 4)], seed)
    if n // 32 == 4:
        low, high = avalanche(low), avalanche(high)
    low, high = mixed(low, high, d[n - 16:], d[n - 32:], [103], -seed)
    return finish_middle(low, high, n, seed)


def hash_long(d, seed):
    n = len(d)
    secret = b"".join(((r64(SECRET, i) + seed) & M64).to_bytes(8, "little") + ((r64(SECRET, i + 8) - seed) & M64).to_bytes(8, "little")
                      for i in range(0, 192, 16))
    keys = [r64(secret, i) for i in range(185)]
    acc = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]

    def accumulate(at, key):
        for i, value in enumerate(struct.unpack_from("<8Q", d, at)):
            word = value ^ keys[key + 8 * i]
            acc[i ^ 1] = acc[i ^ 1] + value & M64
            acc[i] = acc[i] + (word & M32) * (word >> 32) & M64

    blocks = (n - 1) // 1024
    for block in range(blocks):
        for stripe in range(16):
            accumulate(1024 * block + 64 * stripe, 8 * stripe)
        for i in range(8):
            acc[i] = (acc[i] ^ acc[i] >> 47 ^ keys[128 + 8 * i]) * P32[0] & M64
    for stripe in range((n - 1 - 1024 * blocks) // 64):
        accumulate(1024 * blocks + 64 * stripe, 8 * stripe)
    accumulate(n - 64, 121)

    def merged(key, start):
        return avalanche(start + sum(folded(acc[2 * i] ^ keys[key + 16 * i], acc[2 * i + 1] ^ keys[key + 16 * i + 8])
                                     for i in range(4)) & M64)
    return merged(11, n * P64[0] & M64), merged(117, ~(n * P64[1]) & M64)


def xxh3(data, seed=0):
    if len(data) <= 16:
        low, high = hash_up_to_16(data, seed)
    elif len(data) <= 240:
        low, high = hash_up_to_240(data, seed)
    else:
        low, high = hash_long(data, seed)
    return low.to_bytes(8, "little") + high.to_bytes(8, "little")


# ---- bits

PHI = 0x9E3779B97F4A7C15


def mix64(v):
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9 & M64
    v = (v ^ v >> 27) * 0x94D049BB133111EB & M64
    return v ^ v >> 31


def positions(layout, own_lines, fingerprint, variant):
    """The 16 bits of a key in its page."""
    def words(v):
        x = mix64(fingerprint + v * PHI & M64)
        y = mix64(x ^ PHI)
        return x, y, mix64(y)
    x, y, z = words(variant)
    lx, ly, _ = (x, y, z) if own_lines else words(0)
    if layout == 1:
        a = lx >> 58
        b = (a + 1 + ((ly >> 48) * 63 >> 16)) & 63
        return [line * 512 + 64 * i + (word >> 6 * i & 63) for line, word in ((a, x), (b, y)) for i in range(8)]
    lines = [(lx & 63) + j * ((lx >> 6 & 31) * 2 + 1) & 63 for j in range(4)]
    word = (x >> 11, y, z, z >> 36 | y >> 36 << 28)
    return [lines[j] * 512 + (word[j] >> 9 * i & 511) for j in range(4) for i in range(4)]


CRC32C = []
for octet in range(256):
    for _ in range(8):
        octet = octet >> 1 ^ (0x82F63B78 if octet & 1 else 0)
    CRC32C.append(octet)


def crc32c(data):
    crc = M32
    for octet in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ octet) & 255]
    return crc ^ M32


# ---- the file

H, P, R, E, INFO, LEAVES, SKETCHES, SUMS, SIGNATURES, NETWORKS = range(1, 11)
KINDS = "SXWUQDR"
LEAF = 4 << 20


class Refused(Exception):
    pass


def need(holds, what):
    if not holds:
        raise Refused(what)


class Section:
    def __init__(self, head, at, file):
        self.type, self.flags, self.offset, self.length = struct.unpack_from("<IIQQ", head, at)
        self.layout, self.segments, self.pages = struct.unpack_from("<HxxIQ", head, at + 24)
        self.xxh, self.sha = head[at + 40:at + 56], head[at + 56:at + 88]
        self.data = file[self.offset:self.offset + self.length]

    def test(self, key, variant=0):
        low, high = r64(key, 0), r64(key, 8)
        page = high * self.pages >> 64
        fingerprint = low >> 29 if self.type == P else low
        base = page * 32768
        return all(self.data[(base + bit) // 8] >> (bit & 7) & 1
                   for bit in positions(self.layout, self.type != H, fingerprint, variant))


def read_networks(data):
    """Ranges as (first, last) by version of the address, ascending."""
    magic, four, six, zero = struct.unpack_from("<4sIII", data)
    need(magic == b"BWN1" and zero == 0 and 1 <= four + six <= 1 << 22 and len(data) == 16 + 8 * four + 32 * six, "networks")
    numbers = struct.unpack_from(f"<{2 * four}I", data, 16)
    rest = data[16 + 8 * four:]
    out = {4: list(zip(numbers[::2], numbers[1::2])),
           6: [(int.from_bytes(rest[i:i + 16], "big"), int.from_bytes(rest[i + 16:i + 32], "big")) for i in range(0, 32 * six, 32)]}
    for ranges in out.values():
        need(all(first <= last for first, last in ranges), "a range that ends before it begins")
        need(all(before[1] + 1 < after[0] for before, after in zip(ranges, ranges[1:])), "ranges out of order, or that meet")
    return out


def address_of(host):
    """Of a host in canonical form: version and number, or None for a name. IPv4 that IPv6 carries is IPv4."""
    if not host.startswith("[") and not host.replace(".", "").isdigit():
        return None
    address = ipaddress.ip_address(host.strip("[]"))
    number = int(address)
    if address.version == 6 and number >> 32 in (0xFFFF, 0x64FF9B << 64):
        return 4, number & M32
    return address.version, number


def plain_query(text):
    """Section 13."""
    out = []
    for parameter in text.replace(";", "&").replace("%20", "+").split("&"):
        name, equals, value = parameter.lstrip("+").partition("=")
        name = name.split("%00")[0]
        for octet in "+.[":
            name = name.replace(octet, "_")
        out.append(name + equals + value if value else name)
    return "&".join(p for p in out if p)


class Filter:
    def __init__(self, path):
        file = pathlib.Path(path).read_bytes()
        head = file[:4096]
        need(head[:8] == b"\x89BWF\r\n\x1a\n" and len(head) == 4096, "magic")
        major, self.minor, length, total, incompatible = struct.unpack_from("<HHIQQ", head, 8)
        need(major == 1 and length == 4096 and total == len(file) and incompatible == 0, "version, length or features")
        need(struct.unpack_from("<HHH", head, 128) == (1, 1, 1), "hash, key derivation or canonical form")
        need(r32(head, 136) in (0, 1), "canonical options")
        self.by_parameters = r32(head, 136) == 1
        need(xxh3(head[:4080] + bytes(16)) == head[4080:], "digest of the header")
        self.id = head[40:56].hex()
        self.seed = r64(head, 72)
        need(self.h(b"bloomwall hash self-test 1") == head[160:176], "self-test of the hash")
        self.entries = {}
        for i in range(16):
            entries, keys, sets = struct.unpack_from("<QQB", head, 176 + 24 * i)
            need(sets == (1 if i < 7 else 0) and (i < 8 or entries == keys == 0), "kinds")
            if i < 7:
                self.entries[KINDS[i]] = entries or keys
            if i == 7:
                ranges = keys
        self.marks, self.labels, self.depth = r32(head, 576), (head[580], head[581]), r32(head, 580) >> 16
        count = r32(head, 148)
        need(1 <= count <= 18, "number of sections")
        self.sections = [Section(head, 1024 + 128 * i, file) for i in range(count)]
        self.by_type = {s.type: s for s in self.sections}
        need(len(self.by_type) == count, "two sections of one type")
        self.check(file)
        self.exceptions = {}
        if E in self.by_type:
            data = self.by_type[E].data
            magic, size, number = struct.unpack_from("<4sIQ", data)
            need(magic == b"BWE1" and size == 24 and len(data) == 16 + 24 * number, "exceptions")
            for i in range(number):
                high, low, kinds, zero = struct.unpack_from("<QQII", data, 16 + 24 * i)
                need(zero == 0, "reserved bytes of an exception")
                self.exceptions[low.to_bytes(8, "little") + high.to_bytes(8, "little")] = kinds
        self.networks = read_networks(self.by_type[NETWORKS].data) if NETWORKS in self.by_type else {4: [], 6: []}
        need(len(self.networks[4]) + len(self.networks[6]) == ranges, "number of ranges")

    def check(self, file):
        end, records = 4096, self.by_type[LEAVES].data
        for s in sorted(self.sections, key=lambda s: s.offset):
            alignment = 2 << 20 if s.length >= 32 << 20 else 4096
            need(s.offset == -(-end // alignment) * alignment and s.length > 0, "arrangement")
            need(not any(file[end:s.offset]), "bytes between sections")
            end = s.offset + s.length
            need(s.flags & ~1 == 0 and (s.type <= NETWORKS or not s.flags), "flags, or a critical section that is not known")
            has_pages = s.type in (H, P, R)
            need((s.layout in (1, 2) and s.segments == 1 and s.pages * 4096 == s.length) if has_pages
                 else s.layout == s.segments == s.pages == 0, "geometry")
        need(end == len(file), "end of the file")
        at = 0
        for s in self.sections:
            leaves = [s.data[i:i + LEAF] for i in range(0, s.length, LEAF)]
            xxh, sha = b"".join(map(xxh3, leaves)), b"".join(hashlib.sha256(leaf).digest() for leaf in leaves)
            need(xxh3(xxh) == s.xxh and hashlib.sha256(sha).digest() == s.sha, f"roots of section {s.type}")
            if s.type in (LEAVES, SIGNATURES):
                continue
            for i in range(len(leaves)):
                need(records[at:at + 48] == xxh[16 * i:16 * i + 16] + sha[32 * i:32 * i + 32], f"leaves of section {s.type}")
                at += 48
        need(at == len(records), "number of leaves")
        if SUMS in self.by_type:
            sums, at = self.by_type[SUMS].data, 0
            for kind in (H, P, R):
                for page in range(self.by_type[kind].pages if kind in self.by_type else 0):
                    need(crc32c(self.by_type[kind].data[4096 * page:4096 * page + 4096]) == r32(sums, at), "sum of a page")
                    at += 4
            need(at == len(sums), "number of sums")

    def content_id(self):
        text = b"bloomwall content 1\n"
        for s in (self.by_type[t] for t in (H, P, R, E, NETWORKS) if t in self.by_type):
            text += struct.pack("<IQ", s.type, s.length) + s.sha
        return hashlib.sha256(text).hexdigest()[:32]

    def h(self, data):
        return xxh3(data, self.seed)

    def hit(self, section, key, kind, variant=0):
        return self.by_type[section].test(key, variant) and not self.exceptions.get(key, 0) >> KINDS.index(kind) & 1

    def in_networks(self, address, delta):
        """Whether a range holds it. Of a delta's ranges the last line about the address counts."""
        version, number = address
        for sign, first, last in reversed(delta.get("networks", [])):
            if first[0] == version and first[1] <= number <= last[1]:
                return sign == "+"
        ranges = self.networks[version]
        at = bisect.bisect_right(ranges, (number, 1 << 128)) - 1
        return at >= 0 and ranges[at][1] >= number

    def raw(self, line):
        return R in self.by_type and self.hit(R, self.h(b"R" + line), "R")

    def query(self, text):
        return (plain_query(text) if self.by_parameters else text).encode()

    def listed(self, url, delta=None):
        """The expression that a canonical URL without its scheme matches, or None."""
        rest, _, query = url.partition("?")
        host, _, path = rest.partition("/")
        segments = [s for s in path.split("/") if s]
        address = host.startswith("[") or host.replace(".", "").isdigit()
        names = [host] if address else [host.split(".", i)[i] for i in range(host.count(".") + 1)]
        delta = delta or {}
        if address and self.in_networks(address_of(host), delta):
            return "N " + host
        for added in (True, False):
            answer = self.walk(names, segments, query, address, delta, added)
            if answer:
                return answer
        return None

    def walk(self, names, segments, query, address, delta, added):
        """The delta's additions, or the bits of what it does not remove."""
        prefixes = ["".join("/" + s for s in segments[:d]) for d in range(len(segments) + 1)]
        hashes = [self.h(b"")]
        for segment in segments:
            hashes.append(self.h(segment.encode() + hashes[-1]))

        def asked(kind, text, question):
            if added:
                return delta.get((kind, text)) == "+"
            return delta.get((kind, text)) != "-" and question()

        marked = []
        for i, name in enumerate(names):
            host = self.h(name.encode())
            labels = 0 if address else len(names) - i
            in_range = address or self.labels == (0, 0) or self.labels[0] <= labels <= self.labels[1]
            kinds = "X" if address else "SX" if i == 0 else "SW"
            for kind in kinds:
                def in_bits(kind=kind):
                    return (H in self.by_type and in_range and self.entries[kind]
                            and self.hit(H, host, kind, "SXW".index(kind)))
                if asked(kind, name, in_bits):
                    return kind + " " + name
            marks = 0
            if not added and in_range and H in self.by_type and P in self.by_type:
                marks = sum(1 << v for v in range(3, 21) if self.marks >> v & 1 and self.by_type[H].test(host, v))
            marked.append((name, host, marks))
        last = len(segments)
        for name, host, marks in marked:
            def bits(key, kind, mark):
                return marks >> mark & 1 and self.hit(P, self.h(key), kind)
            text = name + (prefixes[last] or "/")
            if asked("U", text, lambda: bits(b"U" + host + hashes[last], "U", 3)):
                return "U " + text
            if query and asked("Q", text + "?" + query, lambda: bits(b"Q" + host + hashes[last] + self.h(self.query(query)), "Q", 4)):
                return "Q " + text + "?" + query
            for d in range(1, last + 1):
                text = name + prefixes[d] + "/"
                if asked("D", text, lambda d=d: (d <= self.depth or self.depth == 65535)
                         and bits(b"D" + host + hashes[d], "D", 4 + min(d, 16))):
                    return "D " + text
        return None


def range_of(text):
    """"192.0.2.0/24", "192.0.2.1-192.0.2.9" or an address, as pairs of version and number of its ends."""
    first, _, last = text.partition("-")
    if "/" in text:
        network = ipaddress.ip_network(text.replace("[", "").replace("]", ""))
        first, last = str(network[0]), str(network[-1])
    ends = [first, last or first]
    return tuple(address_of(end if "." in end else "[" + end.strip("[]") + "]") for end in ends)


def read_delta(path):
    """Lines whose kind is given, as the program writes them; the last one about an entry wins. An address that is added behind
    a line that took it out of the networks is in them again."""
    out = {}
    text = pathlib.Path(path).read_text(encoding="utf-8")
    lines = text.split("\n")
    head = re.fullmatch(r"bloomwall-delta 1 base=[0-9a-f]{32}(?: sequence=([1-9]\d*))?(?: changes=(\d+))?", lines[0])
    need(head, "first line of the delta")
    if head[2] is not None:
        count = sum(line[:1] in ("+", "-") for line in lines[1:])
        need(text.endswith("\n") and count == int(head[2]), "the delta is cut")
    for line in lines[1:]:
        if line[:1] in "+-" and line:
            kind, text = line[1:].split(" ", 1)
            if kind == "N":
                out.setdefault("networks", []).append((line[0], *range_of(text)))
                continue
            out[kind, text] = line[0]
            address = address_of(text) if kind == "X" and line[0] == "+" else None
            if address is not None:
                said = [sign for sign, first, last in out.get("networks", [])
                        if first[0] == address[0] and first[1] <= address[1] <= last[1]]
                if said and said[-1] == "-":
                    out["networks"].append(("+", address, address))
    return out


# ---- the comparison

WORDS = ["a", "b", "login", "index.html", "x" * 15, "y" * 16, "z" * 17, "w" * 33, "v" * 100, "u" * 230, "%C3%A9", "1", "dir"]
HOSTS = ["listed", "other", "www", "mail", "deep.er", "a.b.c.d", "intra", "xn--mnchen-3ya"]


def random_url(random_, hosts=None):
    host = f"{random_.choice(HOSTS)}{random_.randrange(60)}.{random_.choice(['example', 'test', 'co.uk'])}"
    if random_.randrange(12) == 0:
        host = f"192.0.2.{random_.randrange(256)}"
    if hosts and random_.randrange(2):
        host = random_.choice(hosts)
        if not host[0].isdigit() and random_.randrange(3) == 0:
            host = "sub." + host
    depth = random_.choice([0, 1, 1, 2, 2, 3, 4, 17])
    path = "".join("/" + random_.choice(WORDS) for _ in range(depth)) or "/"
    if depth and random_.randrange(3) == 0:
        path += "/"
    query = "" if random_.randrange(3) else f"?q={random_.randrange(9)}"
    return host + path + query


def run(*command, text=None, codes=(0,)):
    done = subprocess.run([str(c) for c in command], input=text, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(f"{command}: {done.returncode}\n{done.stderr}")
    return done.stdout


def compare(program, name, file, questions, must, options=(), ask=None):
    reader = Filter(file)
    ask = ask or reader.listed
    out = run(program, "query", *options, file, text="".join(q + "\n" for q in questions), codes=(0, 1)).splitlines()
    wrong = 0
    answers = [line.split("\t")[0] for line in out]
    for question, theirs in zip(questions, answers):
        mine = "listed" if ask(question) else "clear"
        missed = question in must and mine != "listed"
        if mine != theirs or missed:
            wrong += 1
            print(f"{name}: {question!r}: {theirs} by the program, {mine} by the second reader", file=sys.stderr)
    if len(answers) != len(questions):
        raise SystemExit(f"{name}: {len(answers)} answers to {len(questions)} questions")
    layouts = {s.type: s.layout for s in reader.sections if s.type in (H, P, R)}
    print(f"{name}: {len(questions)} questions, {answers.count('listed')} listed, {wrong} differ, layouts {layouts}")
    return len(questions), wrong


def check_hash():
    """The published vectors: every length class of the hash but the longest is in them."""
    rows = (pathlib.Path(__file__).parent / "data" / "key_vectors.tsv").read_text(encoding="utf-8").splitlines()
    names = rows[0].split("\t")
    for line in rows[1:]:
        row = dict(zip(names, line.split("\t")))
        seed = r64(bytes.fromhex(row["series_key"]), 0)
        own = row["question"] in "UQDR"
        if row["question"] == "R":
            text = b"R" + row["host"].encode().decode("unicode_escape").encode("latin-1")
            assert xxh3(text, seed).hex() == row["key"], row["name"]
        else:
            assert xxh3(row["host"].encode(), seed).hex() == row["host_hash"], row["name"]
        for layout, column in ((1, "bits_2x8"), (2, "bits_4x4")):
            bits = positions(layout, own, int(row["fingerprint"]), int(row["variant"]))
            assert ",".join(map(str, bits)) == row[column], row["name"]


def check_golden():
    """The frozen files: whole, and with the keys of their table."""
    data = pathlib.Path(__file__).parent / "data"
    for file in sorted(data.glob("golden_v1_*.bwf")):
        reader = Filter(file)
        if not file.name.startswith("golden_v1_hosts"):
            continue
        for line in (data / "golden_v1.tsv").read_text(encoding="utf-8").split("\n")[1:-1]:
            kind, host, path, query, listed = line.split("\t")
            hashed = reader.h(host.encode())
            chain = reader.h(b"")
            for segment in path.split("/"):
                chain = reader.h(segment.encode() + chain) if segment else chain
            if kind in ("S", "X", "W") or kind.startswith("mark"):
                variant = ("SXW".index(kind) if len(kind) == 1 else {"U": 3, "Q": 4}.get(kind[5]) or 4 + int(kind[6:]))
                found = reader.by_type[H].test(hashed, variant)
            elif kind == "R":
                found = reader.by_type[R].test(reader.h(b"R" + host.encode()))
            else:
                tail = reader.h(query.encode()) if kind == "Q" else b""
                found = reader.by_type[P].test(reader.h(kind.encode() + hashed + chain + tail))
            assert found == (listed == "yes"), (file.name, line)
    reader = Filter(data / "golden_v1_networks.bwf")
    need(len(reader.networks[4]) == 5 and len(reader.networks[6]) == 4, "ranges of the golden file")
    for host, listed in (("0.255.255.255", True), ("1.10.32.0", True), ("1.10.48.0", False), ("192.0.2.7", True), ("[::ffff:192.0.2.7]", True),
                         ("192.0.2.8", False), ("255.255.255.255", True), ("[::]", True), ("[::1]", False), ("[2001:db9::100]", False)):
        assert (reader.listed(host + "/x") is not None) == listed, host
    reader, delta = Filter(data / "golden_v1_exact.bwf"), read_delta(data / "golden_v1_exact.delta")
    need((data / "golden_v1_exact.delta").read_text(encoding="utf-8").split("=")[1].startswith(reader.content_id()), "base of the delta")
    counted = read_delta(data / "golden_v1_counted.delta")
    need(counted["S", "added.example"] == "+" and counted["S", "listed.example"] == "-" and len(counted) == 3, "the delta that counts its changes")
    for url, alone, changed in (("www.listed.example/x", True, False), ("added.example/", False, True), ("urls.example/a", True, True),
                                ("urls.example/s?q=1&r=2", True, False), ("urls.example/dir/", True, True)):
        assert (reader.listed(url) is not None, reader.listed(url, delta) is not None) == (alone, changed), url


def random_address(random_, near):
    """At the ends of ranges, beside them, in them, or anywhere, as the host of a URL."""
    version, first, last = random_.choice(near)
    number = random_.choice([first, last, first - 1, last + 1, random_.randint(first, last), random_.randrange(1 << (32 if version == 4 else 128))])
    number = max(0, min(number, (1 << (32 if version == 4 else 128)) - 1))
    if version == 4 and random_.randrange(8) == 0:
        return f"[{ipaddress.IPv6Address(0xFFFF << 32 | number)}]", (4, number)
    text = str(ipaddress.IPv4Address(number)) if version == 4 else f"[{ipaddress.IPv6Address(number)}]"
    return text, (version, number)


def networks(program, at, build, random_):
    """A list of networks, whole and with a delta, beside what a naive walk over its lines says."""
    lines, near = [], []
    for _ in range(400):
        version = random_.choice([4, 4, 6])
        bits = 32 if version == 4 else 128
        prefix = random_.randint(8, 32) if version == 4 else random_.randint(16, 128)
        first = random_.getrandbits(bits) >> (bits - prefix) << (bits - prefix)
        last = first + (1 << (bits - prefix)) - 1
        make = ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address
        lines.append(f"{make(first)}/{prefix}" if random_.randrange(2) else f"{make(first)}-{make(last)}")
        near.append((version, first, last))
    file = build("networks", ["; networks"] + lines)
    reader = Filter(file)
    need(reader.networks[4] and reader.networks[6], "networks of both kinds")
    questions, must = [], set()
    for _ in range(1500):
        host, (version, number) = random_address(random_, near)
        host = "[" + str(ipaddress.ip_address(host.strip("[]"))) + "]" if host.startswith("[") else host
        questions.append(f"{host}/x")
        naive = address_of(host)
        if any(v == naive[0] and first <= naive[1] <= last for v, first, last in near):
            must.add(questions[-1])
        need((reader.listed(questions[-1]) is not None) == (questions[-1] in must), f"ranges as they were listed: {host}")
    total, wrong = compare(program, "networks", file, questions, must)
    (at / "less.txt").write_text("".join(f"{line}\n" for line in random_.sample(lines, 60)), encoding="utf-8")
    (at / "more.txt").write_text("1.0.0.0-1.255.0.9\n2001:db8::/32\n", encoding="utf-8")
    run(program, "update", "-q", file, "--delta", at / "n.delta", "--add", at / "more.txt", "--remove", at / "less.txt")
    delta = read_delta(at / "n.delta")
    count, bad = compare(program, "networks and delta", file, questions, set(), ("--delta", at / "n.delta"),
                         lambda q: reader.listed(q, delta))
    return total + count, wrong + bad


def main(program):
    seed = 20260101
    random_ = random.Random(seed)
    print(f"seed {seed}")
    check_hash()
    check_golden()
    total = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)

        def build(name, entries, *options):
            (at / f"{name}.txt").write_text("".join(e + "\n" for e in entries), encoding="utf-8")
            run(program, "build", "-q", "--allow-unsupported", *options, "-o", at / f"{name}.bwf", at / f"{name}.txt")
            return at / f"{name}.bwf"

        entries = sorted({"http://" + random_url(random_) for _ in range(1500)})
        hosts = sorted({e[7:].partition("/")[0] for e in entries})
        must = {e[7:] for e in entries}
        asked = [random_url(random_, hosts) for _ in range(3000)] + random_.sample(sorted(must), 500)
        extra = [f"http://filler{i}.example/p/{i}" for i in range(4000)]
        for name, more, options in (("urls", [], ()), ("more", extra, ("--fpr", "1e-4")), ("loose", extra, ("--fpr", "0.05"))):
            count, bad = compare(program, name, build(name, entries + more, *options), asked, must)
            total, wrong = total + count, wrong + bad
        spelt = [f"{q.partition('?')[0]}?{random_.choice(('&', '', ';', '+'))}q={random_.randrange(9)}{random_.choice(('&', '', ';x=', '%00'))}"
                 for q in asked[:1500]]
        spellings = build("spellings", [f"http://{q}" for q in spelt[:500]] + extra, "--query-spellings")
        count, bad = compare(program, "spellings", spellings, spelt + asked[:500], set(spelt[:500]))
        total, wrong = total + count, wrong + bad
        names = [f"{random_.choice(HOSTS)}{i}.test" for i in range(3000)] + ["192.0.2.9"]
        domains = build("domains", names, "--fpr", "1e-8")
        about = [("sub." if i % 3 == 0 else "") + random_.choice(names) + "/x" for i in range(500)] + asked[:500]
        about = [q.removeprefix("sub.") if "192.0.2.9" in q else q for q in about]
        count, bad = compare(program, "domains", domains, about, set(about[:500]))
        total, wrong = total + count, wrong + bad
        known = [f"http://{random_url(random_)}" for _ in range(300)]
        (at / "good.txt").write_text("".join(k + "\n" for k in known), encoding="utf-8")
        excepted = build("excepted", extra, "--fpr", "0.09", "--known-good", at / "good.txt")
        count, bad = compare(program, "exceptions", excepted, [k[7:] for k in known] + asked[:700], set())
        total, wrong = total + count, wrong + bad
        urls = at / "urls.bwf"
        changes = random_.sample(entries, 100)
        (at / "remove.txt").write_text("".join(e + "\n" for e in changes), encoding="utf-8")
        (at / "add.txt").write_text("".join(f"http://{q}\n" for q in asked[:200]), encoding="utf-8")
        run(program, "update", "-q", urls, "--delta", at / "d.delta", "--add", at / "add.txt", "--remove", at / "remove.txt")
        delta = read_delta(at / "d.delta")
        reader = Filter(urls)
        count, bad = compare(program, "delta", urls, asked[:1000] + [c[7:] for c in changes], set(asked[:200]),
                             ("--delta", at / "d.delta"), lambda q: reader.listed(q, delta))
        total, wrong = total + count, wrong + bad
        count, bad = networks(program, at, build, random_)
        total, wrong = total + count, wrong + bad
        lines = [f"user{i}@example.com" + "x" * (i * 7 % 700) for i in range(2000)]
        raw = build("raw", lines[:1000], "--raw", "--fpr", "1e-9")
        keys = Filter(raw)
        count, bad = compare(program, "raw", raw, lines, set(lines[:1000]), ("--raw",), lambda q: keys.raw(q.encode()))
        total, wrong = total + count, wrong + bad
    print(f"{total} questions, {wrong} differ")
    return 0 if wrong == 0 and total >= 10_000 else 1


if __name__ == "__main__":
    if sys.argv[1] == "--ask":
        changes_ = read_delta(sys.argv[4]) if len(sys.argv) > 4 else None
        filter_ = Filter(sys.argv[2])
        for question_ in sys.stdin.read().splitlines():
            print("listed" if filter_.listed(question_, changes_) else "clear")
        sys.exit(0)
    sys.exit(main(pathlib.Path(sys.argv[1]) / "bloomwall-filter"))
