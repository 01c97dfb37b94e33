#!/usr/bin/env python3
"""No symbol of the project has two definitions that differ: the linker would take one of them and say nothing.

    symbols_test.py BUILD_FOLDER C++_COMPILER

Looks at every object in every static library of the build, with nm, and finds
  a strong definition beside any other one, strong or weak (a function here, an inline function of the same name there);
  weak definitions in the project's namespace that come from different lines of source, or from one line of different files with
  different code, or have different sizes where the compiler did not optimise (an optimiser may make two of one);
  tables of classes of different sizes.
Skipped (77) where link-time optimisation hides the symbols; there -Werror=odr says the same.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import fnmatch
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
OWN_NAMES = "_ZN9bloomwall*", "_ZN[VKRO]9bloomwall*"  # as the compiler spells what is in the namespace

Definition = collections.namedtuple("Definition", "archive object strength size line optimised")


def listed(archive, *options):
    """What nm prints: (symbol, member, strength, size, line)."""
    text = subprocess.run(["nm", "-S", "--defined-only", *options, archive], capture_output=True, text=True, check=True).stdout
    member = archive.name
    for line in text.splitlines():
        head = MEMBER.match(line)
        if head:
            member = head.group(1)
            continue
        match = LINE.match(line)
        if match and match.group(2) in STRONG + WEAK:
            yield match.group(3), member, match.group(2), int(match.group(1), 16), match.group(4) or ""


def definitions(archive, optimised):
    """Of one archive, compiled with optimisation or without: (symbol, Definition)."""
    with tempfile.TemporaryDirectory() as folder:
        # nm looks lines up one symbol at a time, which takes most of a minute for all those of the standard library.
        own = pathlib.Path(folder) / "own.a"
        subprocess.run(["objcopy", "--wildcard", *(f"--keep-global-symbol={name}" for name in OWN_NAMES), archive, own], check=True)
        lines = {(symbol, member): line for symbol, member, _, _, line in listed(own, "-lg")}
    for symbol, member, strength, size, _ in listed(archive):
        where = archive.name if member == archive.name else f"{archive.name}({member})"
        yield symbol, Definition(archive, where, strength, size, lines.get((symbol, member), ""), optimised)


def is_own(symbol):
    return any(fnmatch.fnmatchcase(symbol, name) for name in OWN_NAMES)


def code_of(symbol, archive):
    """The different codes of a weak function, each of which has a section of its own, that of the base constructor or destructor
    for both; what the linker fills in stands there as zeros."""
    section = ".text." + re.sub(r"([CD])1(E)", r"\g<1>2\2", symbol)
    text = subprocess.run(["objdump", "-s", "-j", section, archive], capture_output=True, text=True, check=False).stdout
    rows = [part.splitlines()[1:] for part in text.split("Contents of section")[1:]]
    return {tuple(row for row in part if row.startswith(" ")) for part in rows}


def differ_in_size(found):
    return len({d.size for d in found}) > 1


def from_different_lines(symbol, found):
    """nm gives an inline member's line with the name of the wrong file at times: where only the file differs, code decides."""
    lines = {d.line.rpartition(":")[2] for d in found if d.line}
    files = {d.line.rpartition(":")[0] for d in found if d.line}
    if len(lines) > 1 or len(files) < 2:
        return len(lines) > 1
    plain = {d.archive for d in found if not d.optimised}
    return len(set().union(*(code_of(symbol, archive) for archive in plain))) > 1


def breaches(archives):
    """Of a dictionary: each archive, and whether it was compiled with optimisation."""
    known = collections.defaultdict(list)
    for archive, optimised in archives.items():
        for symbol, definition in definitions(archive, optimised):
            if not symbol.startswith(("__odr_asan", "__asan", "__tsan")):
                known[symbol].append(definition)
    for symbol, found in sorted(known.items()):
        if len(found) == 1:
            continue
        strong = [d for d in found if d.strength in STRONG]
        if strong:
            yield f"{symbol}: defined in {strong[0].object} and again", found
        elif is_own(symbol) and from_different_lines(symbol, found):
            yield f"{symbol}: defined by different lines of source", found
        elif differ_in_size([d for d in found if symbol.startswith(TABLE) or (is_own(symbol) and not d.optimised)]):
            yield f"{symbol}: definitions of different sizes", found
    if len(known) < 2:
        yield "no symbols: nothing was looked at", []


def optimised_folders(build):
    """Whose sources are compiled with optimisation."""
    commands = [c["command"] for c in json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))]
    outputs = [re.search(r" -o (\S+)/CMakeFiles/", c).group(1) for c in commands if re.search(r" -O([1-9sgz]|fast)\b", c)]
    return {build / output for output in outputs}


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
            found = list(breaches({archive_of(compiler, folder, row, [one, two]): False}))
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
    optimised = optimised_folders(build)
    found = list(breaches({archive: archive.parent in optimised for archive in archives}))
    for what, where in found:
        print(what)
        for d in where:
            print(f"    {d.strength} {d.size:6} {d.object} {d.line}")
    print(f"{len(archives)} libraries, {len(found)} symbols with definitions that differ")
    return 1 if found or len(archives) < 10 else 0


sys.exit(main())
