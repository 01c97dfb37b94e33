#!/usr/bin/env python3
"""Rules of this repository that a program can check; ARCHITECTURE.md gives their reasons.

Prints every breach as file:line: what, and ends with 1 if there is one.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import subprocess
import sys

import class_rules

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_LINES = 400
MAX_TEST_LINES = 600  # tables of cases read well when they are long
MAX_README_LINES = 160  # what is longer belongs into docs/
FREE_FUNCTION = re.compile(r"^(?!return|else|using|static_assert)(?:[\w:<>,*&]+ )+[*&]*(\w+)\((?!.*;$)", re.MULTILINE)
MAX_COLUMNS = 120     # of lines with a comment; clang-format breaks all other lines

# Who may include whom. A folder may always include itself and base/; what is not listed is forbidden.
FILTER_BELOW = {
    "filter": [],
    "filter/url": ["filter"],
    "filter/bits": ["filter"],
    "filter/keys": ["filter", "filter/url", "filter/bits"],
    "filter/file": ["filter", "filter/url", "filter/bits"],
    "filter/policy": ["filter", "filter/url", "filter/bits", "filter/keys", "filter/file"],
    "filter/lists": ["filter", "filter/url"],
    "filter/builder": ["filter", "filter/url", "filter/bits", "filter/keys", "filter/file", "filter/policy", "filter/lists"],
    "filter/seen": ["filter", "filter/url", "filter/bits", "filter/file"],
    "filter/dedup": ["filter", "filter/bits", "filter/seen", "filter/lists"],
    "filter/update": ["filter", "filter/url", "filter/bits", "filter/keys", "filter/file", "filter/policy", "filter/lists",
                      "filter/builder"],
    "filter/release": ["filter", "filter/url", "filter/file", "filter/policy", "filter/update"],
    "filter/slices": ["filter", "filter/url", "filter/bits", "filter/file", "filter/policy", "filter/builder"],
    "filter/cli": ["filter/update", "filter/release", "filter/slices", "filter", "filter/url", "filter/bits", "filter/file", "filter/policy", "filter/lists", "filter/builder",
                   "filter/seen", "filter/dedup"],
}
FILTER_FOR_PROXY = ["filter", "filter/url", "filter/file", "filter/policy"]  # what the proxy sees of filter/
# What a connection of a client passes, each room above those before it.
ROOMS = ["proxy/upstream", "proxy/decision", "proxy/tunnel", "proxy/exchange", "proxy/client", "proxy/answers", "proxy/worker"]
BELOW_ROOMS = ["conf", "proxy/http", "proxy/http2", "proxy/access", "proxy/auth", "proxy/reply", "proxy/telemetry", "proxy/log",
               "proxy/query_log", "proxy/tls", "proxy/io", "proxy/dns"]
BELOW_API = ["conf", "proxy/http", "proxy/access", "proxy/auth", "proxy/reply", "proxy/telemetry", "proxy/log", "proxy/query_log",
             "proxy/state", "proxy/tls", "proxy/io", "proxy/dns", "proxy/update", *ROOMS] + FILTER_FOR_PROXY
ALLOWED = {
    "base": [],
    **FILTER_BELOW,
    "library": ["include", "filter/seen", *FILTER_FOR_PROXY],  # the filter for other programs
    "conf": [],
    "helpers": [],
    "proxy/http": ["conf"],
    "proxy/http2": ["proxy/http"],
    "proxy/access": ["conf", "proxy/http"] + FILTER_FOR_PROXY,
    "proxy/auth": ["conf", "proxy/access", "proxy/log", "proxy/state"],
    "proxy/reply": ["conf", "proxy/http"] + FILTER_FOR_PROXY,
    "proxy/telemetry": ["conf", "proxy/http", "proxy/access"] + FILTER_FOR_PROXY,
    "proxy/log": ["conf"],
    "proxy/state": ["proxy/access", "proxy/log"] + FILTER_FOR_PROXY,
    "proxy/query_log": ["conf", "proxy/access", "proxy/telemetry", "proxy/log", "proxy/state"] + FILTER_FOR_PROXY,
    "proxy/tls": ["filter/url"],  # public suffixes: what a wildcard may stand for
    "proxy/io": ["proxy/tls"],
    "proxy/dns": ["conf", "proxy/io"],
    **{room: BELOW_ROOMS + ROOMS[:floor] + FILTER_FOR_PROXY for floor, room in enumerate(ROOMS)},
    "proxy/update": ["conf", "filter/lists", "filter/builder", "proxy/tls"] + FILTER_FOR_PROXY,
    "proxy/check": ["conf", "proxy/io", "proxy/decision", "proxy/state", "proxy/update"] + FILTER_FOR_PROXY,
    "proxy/reload": ["conf", "proxy/access", "proxy/io", "proxy/decision", "proxy/check", "proxy/state"] + FILTER_FOR_PROXY,
    "proxy/explain": ["conf", "proxy/access", "proxy/auth", "proxy/check", "proxy/reload", "proxy/state", "proxy/update", *ROOMS,
                      "filter/builder"] + FILTER_FOR_PROXY,
    "proxy/import": ["conf", "filter/url"],
    "proxy/doctor": ["conf", "proxy/access", "proxy/check", "proxy/reload", "proxy/io", "proxy/state", "proxy/update"] + FILTER_FOR_PROXY,
    "proxy/api": BELOW_API + ["proxy/check", "proxy/reload", "proxy/explain"],
    "proxy/daemon": ["conf", "proxy/io", "proxy/log", "proxy/telemetry", "proxy/check", "proxy/reload", "proxy/explain", "proxy/api", *ROOMS],
    "proxy/cli": BELOW_API + ["proxy/check", "proxy/reload", "proxy/explain", "proxy/doctor", "proxy/import", "proxy/api", "proxy/daemon",
                               "filter/cli"],  # the commands of the other program that this one has as well
}
# Packages that only some folders may include.
PACKAGES = {
    "yaml-cpp/": ["conf"],
    "event2/": ["proxy/io", "proxy/cli"],
    "ares": ["proxy/dns"],
    "crypt.h": ["proxy/auth"],
    "gssapi": ["helpers"],
    "sqlite3.h": ["proxy/state"],
    "curl/": ["proxy/update", "proxy/api"],
    "llhttp": ["proxy/http"],
    "nghttp2/": ["proxy/http2"],
    "xxhash": ["filter/bits", "filter/file"],
    "unicode/": ["filter/url", "conf", "proxy/access"],
    "libpsl": ["filter/url"],
    "archive": ["filter/lists"],
    "prometheus/": ["proxy/api"],
    "systemd/": ["proxy/io"],
    "date/": ["base"],
}
RELEASE_CALL = re.compile(r"\b(event|event_base|evbuffer|bufferevent|evconnlistener|evhttp|SSL|SSL_CTX|EVP_MD_CTX|EVP_PKEY|BIO|ares_destroy|"
                          r"psl|ZSTD|LZ4F|archive_read|archive_write|archive_entry)_free\w*\(|\bares_destroy\(|\buidna_close\(")
HANDLES = ("handles.h",)
CODED_BY_HAND = re.compile(r'^(?!\s*//).*(\b(EVP_EncodeBlock|EVP_DecodeBlock|EVP_EncodeUpdate|RAND_(priv_)?bytes|getrandom|getentropy)\(|'
                           r'/dev/u?random|"0123456789(abcdef|ABCDEF)"|xyz0123456789(\+/|-_)")')
COMMENT = re.compile(r"(^|\s)//(\s|$)")
CLOSE_CALL = re.compile(r"(?<![\w>.])(::)?close\([a-z_.]*(fd|file|socket)")
# Where an exception would end the process, and where advice about memory that is not whole pages would be ignored.
THREAD = re.compile(r"\bstd::j?thread\s*(\w+\s*)?[({]|\bhelpers\.(emplace|push)_back\(")
ADVICE = re.compile(r"\b(madvise|mlock|mincore)\((?!.*MADV_HUGEPAGE)")  # that is about memory of our own, all of it


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True,
                         check=True).stdout
    return [p for p in out.splitlines() if (ROOT / p).is_file()]


def check_includes(path, lines):
    folder = str(pathlib.PurePosixPath(path).parent)
    if folder not in ALLOWED:
        return
    for number, line in enumerate(lines, 1):
        match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
        if not match:
            continue
        target = match.group(2)
        if match.group(1) == '"':
            wanted = str(pathlib.PurePosixPath(target).parent)
            if target.startswith("tl/"):
                yield number, f"<{target}> is a package: angle brackets"
            elif wanted not in (folder, "base") and wanted not in ALLOWED[folder]:
                yield number, f"{folder} must not include {target}"
        for prefix, owners in PACKAGES.items():
            if target.startswith(prefix) and folder not in owners:
                yield number, f"<{target}> belongs to {', '.join(owners)}"


def functions_of_base():
    """Names of the free functions of base/. A source whose own function has such a name would hide it from the sources that are joined
    with it, which then call another function and compile."""
    names = set()
    for header in sorted((ROOT / "base").glob("*.h")):
        names.update(FREE_FUNCTION.findall(header.read_text(encoding="utf-8")))
    return names


def check_names(path, lines, of_base):
    if not path.endswith(".cc") or path.startswith(("base/", "tests/base/")):
        return
    for number, line in enumerate(lines, 1):
        found = FREE_FUNCTION.match(line)
        if found and found.group(1) in of_base:
            yield number, f"base/ has a function {found.group(1)}: use it, or take another name"


def check_text(path, lines):
    code = path.endswith((".cc", ".h"))
    if code and "// SPDX-License-Identifier: Apache-2.0" not in lines[:60]:
        yield 1, "no line that is exactly: // SPDX-License-Identifier: Apache-2.0"
    if path == "README.md" and len(lines) > MAX_README_LINES:
        yield len(lines), f"{len(lines)} lines; what goes beyond {MAX_README_LINES} belongs into docs/"
    limit = MAX_TEST_LINES if path.startswith("tests/") else MAX_LINES
    if code and len(lines) > limit:
        yield len(lines), f"{len(lines)} lines; split files over {limit}"
    for number, line in enumerate(lines, 1):
        if code and len(line) > MAX_COLUMNS and COMMENT.search(line):
            yield number, f"{len(line)} columns; wrap comments at {MAX_COLUMNS}"
        if path.endswith(".h") and re.match(r"\s*using namespace\b", line):
            yield number, "using namespace in a header"
        if code and re.search(r"\b(TODO|FIXME|XXX)\b", line) and not path.startswith("tests/data"):
            yield number, "an unfinished thought: do it or write it down where users see it"
        if code and RELEASE_CALL.search(line) and not path.endswith(HANDLES) and "FreeWith<" not in line and \
                "void operator()(" not in line:
            yield number, "release through an owning alias, not by hand"
        if code and not path.startswith(("tests/", "bench/")) and path != "base/handles.h" and CLOSE_CALL.search(line):
            yield number, "close descriptors through UniqueFd (base/handles.h), not by hand"
        if code and not path.startswith(("tests/", "bench/")) and re.search(r"\binet_(pton|ntop|aton|ntoa)\(", line):
            yield number, "read and write addresses by base/ip.h"
        if code and not path.startswith(("tests/", "bench/", "base/", "helpers/", "proxy/tls/")) and CODED_BY_HAND.search(line):
            yield number, "base64 and hexadecimal digits are base/encoding.h's, random octets base/random.h's"
        if path.startswith("filter/") and path != "filter/parallel.h" and THREAD.search(line):
            yield number, "begin threads by add_thread (filter/parallel.h), which says where the system gives none"
        if path.startswith("filter/") and path.endswith(".cc") and ADVICE.search(line) and \
                '#include "filter/file/mapped_pages.h"' not in lines:
            yield number, "advice to the kernel is about pages of the system (filter/file/mapped_pages.h)"


def check_column_rule():
    """Breaches if the rule about columns misses a long comment or takes a long string for one."""
    licence, long = "// SPDX-License-Identifier: Apache-2.0", MAX_COLUMNS + 1
    examples = [("// ".ljust(MAX_COLUMNS, "x"), 0), ("// ".ljust(long, "x"), 1), ("  int a = 0;  // ".ljust(long, "x"), 1),
                ('  R"(https://'.ljust(long, "x") + ')"', 0)]
    for line, wanted in examples:
        found = sum("columns" in what for _, what in check_text("example.cc", [licence, line]))
        if found != wanted:
            yield f"repository_rules.py: the rule about columns finds {found} breaches in: {line[:20]}"


def main():
    breaches, checked, of_base = [*check_column_rule()], 0, functions_of_base()
    for path in tracked():
        if not path.endswith((".cc", ".h", ".py", ".sh", ".cmake", ".md", ".yaml")) or path.startswith("tests/data/"):
            continue
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        checked += 1
        for number, what in [*check_includes(path, lines), *check_names(path, lines, of_base), *check_text(path, lines)]:
            breaches.append(f"{path}:{number}: {what}")
    breaches += class_rules.check(ROOT, tracked())
    print("\n".join(breaches))
    print(f"{checked} files checked, {len(breaches)} breaches")
    return 1 if breaches or checked < 20 else 0


sys.exit(main())
