#!/usr/bin/env python3
"""No symbol of the project has two definitions that differ: the linker would take one of them and say nothing.

    symbols_test.py BUILD_FOLDER C++_COMPILER

Looks at every object in every static library of the build, with nm, and finds
  a strong definition beside any other one, strong or weak (a function here, an inline function of the same name there);
  weak definitions that come from different lines of source, or from one line of different files with different code;
  weak definitions of different sizes, where nothing was optimised (an optimiser may make two of one), and tables of
  classes of different sizes anywhere.
Skipped (77) where link-time optimisation hides the symbols; there -Werror=odr says the same.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
LINE = re.compile(r"^[0-9a-f]+ ([0-9a-f]+) ([A-Za-z]) (\S+)(?:\t(.*))?$")
STRONG, WEAK, TABLE = "TDBRG", "WVu", ("_ZTV", "_ZTI", "_ZTS")
MEMBER = re.compile(r"^(?:.*:)?(\S+\.o):$")

Definition = collections.namedtuple("Definition", "archive object strength size line")


def definitions(archive):
    """Of one archive: (symbol, Definition)."""
    text = subprocess.run(["nm", "-lS", "--defined-only", archive], capture_output=True, text=True, check=True).stdout
    member = archive.name
    for line in text.splitlines():
        head = MEMBER.match(line)
        if head:
            member = f"{archive.name}({head.group(1)})"
            continue
        match = LINE.match(line)
        if match and match.group(2) in STRONG + WEAK:
            yield match.group(3), Definition(archive, member, match.group(2), int(match.group(1), 16), match.group(4) or "")


def is_ours(symbol):
    return "9bloomwall" in symbol


def code_of(symbol, archive):
    """The different codes of a weak function, each of which has a section of its own, that of the base constructor or destructor
    for both; what the linker fills in stands there as zeros."""
    section = ".text." + re.sub(r"([CD])1(E)", r"\g<1>2\2", symbol)
    text = subprocess.run(["objdump", "-s", "-j", section, archive], capture_output=True, text=True, check=False).stdout
    rows = [part.splitlines()[1:] for part in text.split("Contents of section")[1:]]
    return {tuple(row for row in part if row.startswith(" ")) for part in rows}


def from_different_lines(symbol, found, optimised):
    """nm gives an inline member's line with the name of the wrong file at times: where only the file differs, code decides."""
    lines = {d.line.rpartition(":")[2] for d in found if d.line}
    files = {d.line.rpartition(":")[0] for d in found if d.line}
    if len(lines) > 1 or len(files) < 2:
        return len(lines) > 1
    if len({d.size for d in found}) > 1:
        return True
    return not optimised and len(set().union(*(code_of(symbol, archive) for archive in {d.archive for d in found}))) > 1


def breaches(archives, optimised):
    known = collections.defaultdict(list)
    for archive in archives:
        for symbol, definition in definitions(archive):
            if not symbol.startswith(("__odr_asan", "__asan", "__tsan")):
                known[symbol].append(definition)
    for symbol, found in sorted(known.items()):
        if len(found) == 1:
            continue
        strong = [d for d in found if d.strength in STRONG]
        if strong:
            yield f"{symbol}: defined in {strong[0].object} and again", found
        elif is_ours(symbol) and from_different_lines(symbol, found, optimised):
            yield f"{symbol}: defined by different lines of source", found
        elif is_ours(symbol) and (symbol.startswith(TABLE) or not optimised) and len({d.size for d in found}) > 1:
            yield f"{symbol}: definitions of different sizes", found
    if len(known) < 2:
        yield "no symbols: nothing was looked at", []


def is_optimised(build):
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    return any(re.search(r" -O([1-9sgz]|fast)\b", c["command"]) for c in commands)


def archive_of(compiler, folder, name, sources):
    objects = []
    for i, source in enumerate(sources):
        path = folder / f"{name}{i}.cc"
        path.write_text(source, encoding="utf-8")
        subprocess.run([compiler, "-g", "-std=c++20", "-c", path, "-o", path.with_suffix(".o")], check=True)
        objects.append(path.with_suffix(".o"))
    archive = folder / f"lib{name}.a"
    subprocess.run(["ar", "rcs", archive, *objects], check=True)
    return archive


def self_test(compiler):
    """The test finds what it is there for: each row is a pair of sources, and whether they may stand together."""
    inline = "namespace bloomwall { inline int f(int x) { return %s; } }\nint use%d() { return bloomwall::f(1); }\n"
    header = '#include "one.h"\nint use%d() { return bloomwall::f(1); }\n'
    conditional = "#define BODY %s\n" + header
    rows = {
        "inline_and_not": (inline % ("x + 1", 0), "namespace bloomwall { int f(int x) { return x; } }\n", False),
        "twice": ("int f() { return 1; }\n", "int f() { return 2; }\n", False),
        "two_lines": (inline % ("x + 1", 0), "\n" + inline % ("x + 1", 1), False),
        "two_files": (inline % ("x + 1", 0), inline % ("x + 2", 1), False),
        "one_text": (inline % ("x + 1", 0), inline % ("x + 1", 1), True),
        "two_bodies": (conditional % ("x", 0), conditional % ("x * x * x / 7", 1), False),
        "one_header": (header % 0, header % 1, True),
        "hidden": ("static int f() { return 1; }\nint a() { return f(); }\n",
                   "static int f() { return 2; }\nint b() { return f(); }\n", True),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "one.h").write_text("#ifndef BODY\n#define BODY x + 1\n#endif\n"
                                      "namespace bloomwall { inline int f(int x) { return BODY; } }\n", encoding="utf-8")
        for row, (one, two, fine) in rows.items():
            found = list(breaches([archive_of(compiler, folder, row, [one, two])], False))
            if bool(found) == fine:
                print(f"self test {row}: {found}")
                return False
    return True


def main():
    build, compiler = pathlib.Path(sys.argv[1]), sys.argv[2]
    if re.search(r"^BLOOMWALL_LTO:BOOL=(ON|1|TRUE)", (build / "CMakeCache.txt").read_text(encoding="utf-8"), re.M):
        print("skipped: symbols can't be seen under link-time optimisation; the linker checks them with -Werror=odr")
        return SKIPPED
    if not self_test(compiler):
        return 1
    archives = sorted(p for p in build.rglob("*.a") if "_deps" not in p.parts)
    found = list(breaches(archives, is_optimised(build)))
    for what, where in found:
        print(what)
        for d in where:
            print(f"    {d.strength} {d.size:6} {d.object} {d.line}")
    print(f"{len(archives)} libraries, {len(found)} symbols with definitions that differ")
    return 1 if found or len(archives) < 10 else 0


sys.exit(main())
