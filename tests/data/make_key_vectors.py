#!/usr/bin/env python3
"""Writes tests/data/key_vectors.tsv: published vectors of key derivation 1 and of both bit layouts.

An implementation of its own, from the text of the format and not from filter/bits: only XXH3-128 itself comes from the C
library. With --check it compares instead of writing, and ends with 1 where a line differs.

Columns, separated by tabs, after the line of names:
  name         what the row shows
  series_key   32 bytes, hex; bytes 0..7, little-endian, are the seed
  question     S X W: the host; mark-U mark-Q mark-D1..mark-D16: its marks; U Q D R: a key of its own
  host         canonical; R: the raw bytes, with \\xNN for octets that are not printable and \\x5c for a backslash
  path         canonical; the segments between slashes are hashed, so a trailing slash changes nothing; "-" where none
  query        "-" where the question has none
  host_hash path_hash query_hash key   128 bits as written: low half first, little-endian, hex
  pages        of the section
  page fingerprint                     place; 64 bits of the fingerprint for hosts and raw keys, 35 for U, Q, D
  variant      of the bits
  bits_2x8 bits_4x4                    16 offsets in bits from the start of the page, in the order in which they derive
SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import ctypes.util
import pathlib
import sys

OUT = pathlib.Path(__file__).with_name("key_vectors.tsv")
M64 = (1 << 64) - 1
PHI = 0x9E3779B97F4A7C15


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXH = ctypes.CDLL(ctypes.util.find_library("xxhash") or "libxxhash.so.0")
XXH.XXH3_128bits_withSeed.restype = Hash
XXH.XXH3_128bits_withSeed.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]


def h128(seed, data):
    h = XXH.XXH3_128bits_withSeed(data, len(data), seed)
    return h.low.to_bytes(8, "little") + h.high.to_bytes(8, "little")


def mix64(v):
    v = ((v ^ (v >> 30)) * 0xBF58476D1CE4E5B9) & M64
    v = ((v ^ (v >> 27)) * 0x94D049BB133111EB) & M64
    return v ^ (v >> 31)


def words(fingerprint, variant):
    x = mix64((fingerprint + variant * PHI) & M64)
    y = mix64(x ^ PHI)
    return x, y, mix64(y)


def bits_2x8(fingerprint, variant, line_variant):
    lx, ly, _ = words(fingerprint, line_variant)
    x, y, _ = words(fingerprint, variant)
    a = lx >> 58
    b = (a + 1 + (((ly >> 48) * 63) >> 16)) % 64
    return [a * 512 + i * 64 + (x >> 6 * i) % 64 for i in range(8)] + [b * 512 + i * 64 + (y >> 6 * i) % 64 for i in range(8)]


def bits_4x4(fingerprint, variant, line_variant):
    lx = words(fingerprint, line_variant)[0]
    x, y, z = words(fingerprint, variant)
    low36 = (1 << 36) - 1
    w = [x >> 11 & low36, y & low36, z & low36, z >> 36 | (y >> 36) << 28]
    start, step = lx % 64, (lx >> 6) % 32 * 2 + 1
    return [(start + j * step) % 64 * 512 + (w[j] >> 9 * i) % 512 for j in range(4) for i in range(4)]


def path_hash(seed, path):
    h = h128(seed, b"")
    for segment in path.strip("/").split("/") if path.strip("/") else []:
        h = h128(seed, segment.encode() + h)
    return h


def unescape(text):
    return text.encode().decode("unicode_escape").encode("latin-1")


def row(name, key, question, host, path="-", query="-", pages=1):
    seed = int.from_bytes(key[:8], "little")
    hh = h128(seed, host.encode())
    ph = path_hash(seed, path) if path != "-" else None
    qh = h128(seed, query.encode()) if query != "-" else None
    if question == "R":
        full, hh = h128(seed, b"R" + unescape(host)), None
    elif question == "U":
        full = h128(seed, b"U" + hh + ph)
    elif question == "D":
        full = h128(seed, b"D" + hh + ph)
    elif question == "Q":
        full = h128(seed, b"Q" + hh + ph + qh)
    else:
        full = hh
    about_host = question not in ("U", "D", "Q", "R")
    if question.startswith("mark-D"):
        base = 4 + int(question[6:])
    else:
        base = {"S": 0, "X": 1, "W": 2, "mark-U": 3, "mark-Q": 4}.get(question, 0)
    variant = base
    line_variant = 0 if about_host else variant
    low, high = int.from_bytes(full[:8], "little"), int.from_bytes(full[8:], "little")
    page = high * pages >> 64
    fingerprint = low if about_host or question == "R" else low >> 29
    shown = [h.hex() if h is not None else "-" for h in (hh, ph, qh, full)]
    return [name, key.hex(), question, host, path, query, *shown, str(pages), str(page), str(fingerprint), str(variant), ",".join(map(str, bits_2x8(fingerprint, variant, line_variant))),
            ",".join(map(str, bits_4x4(fingerprint, variant, line_variant)))]


def rows():
    zero, counting = bytes(32), bytes(range(32))
    only_first_eight_count = bytes(range(8)) + bytes([255]) * 24
    small, wide, odd, huge = 1, 1000, 7007, 1 << 36
    out = []

    def add(*args, **kwargs):
        out.append(row(*args, **kwargs))

    for key, label in ((zero, "seed 0"), (counting, "seed 0x0706050403020100"), (only_first_eight_count, "same seed")):
        add(f"suffix, {label}", key, "S", "example.com", pages=wide)
    for question in ("X", "W", "mark-U", "mark-Q", *(f"mark-D{depth}" for depth in range(1, 17))):
        add(f"{question} shares the lines of S", counting, question, "example.com", pages=wide)
    for host in ("intranet", "a.b.c.d.e.f.example.co.uk", "xn--mnchen-3ya.de", "192.0.2.1", "[2001:db8::1]", "[::1]",
                 "a" * 63 + "." + "b" * 63 + "." + "c" * 63 + "." + "d" * 61):
        add("exact host" if host[0] in "1[" else "host", counting, "X" if host[0] in "1[" else "S", host, pages=odd)
    for path in ("/", "/a", "/a/b.html", "/a/b/c/d/e/f/g", "/%C3%A9%20", "/" + "s" * 250, "/" + "t" * 600 + "/u"):
        add("URL", counting, "U", "example.com", path, pages=odd)
    add("URL, trailing slash, the same key", counting, "U", "example.com", "/a/", pages=odd)
    for path in ("/", "/a/", "/a/b/", "/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/"):
        add("directory", counting, "D", "example.com", path, pages=wide)
    for path, query in (("/", "q"), ("/a/b.html", "x=1&y=2"), ("/a/b.html", ""), ("/s", "u=http://example.net/?z")):
        add("URL with query", counting, "Q", "example.com", path, query, pages=huge)
    add("URL on an address", counting, "U", "[2001:db8::1]", "/x", pages=huge)
    for raw in ("", "a", "user@example.com", "\\x00\\xff\\x0a\\x5c", "r" * 300, "r" * 600):
        add("raw", counting, "R", raw, pages=small)
    add("one page", counting, "S", "example.com", pages=small)
    add("2^45 pages", counting, "S", "example.org", pages=((1 << 32) - 1) << 13)
    return out


def main():
    names = ("name series_key question host path query host_hash path_hash query_hash key pages "
             "page fingerprint variant bits_2x8 bits_4x4").split()
    text = "\n".join("\t".join(r) for r in [names, *rows()]) + "\n"
    if "--check" in sys.argv:
        same = OUT.read_text(encoding="utf-8") == text
        print(f"{len(rows())} vectors", "agree" if same else "differ")
        return 0 if same else 1
    OUT.write_text(text, encoding="utf-8")
    print(f"{len(rows())} vectors written")
    return 0


sys.exit(main())
