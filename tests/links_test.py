#!/usr/bin/env python3
"""Every relative link of a Markdown file of this repository leads to a file of it and, with an anchor, to a heading there; README's
figures are those of bench/README.md, and its pictures are small.

Usage: links_test.py. Prints every breach as file:line: what, and ends with 1 if there is one.
SPDX-License-Identifier: Apache-2.0
"""
import functools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OF_OTHERS = ("dashboard/vendor/", "tests/data/")
LINK = re.compile(r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)")
MOST_OF_PICTURES = 200_000


def tracked():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {path for path in out.splitlines() if (ROOT / path).is_file()}


def prose(text):
    """Its lines with code left out: (number, line)."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith("    "):
            yield number, re.sub(r"`[^`]*`", lambda code: "`" * len(code[0]), line)


@functools.lru_cache(None)
def anchors(path):
    """Of its headings, as GitHub and mkdocs name them: lower case, without punctuation, "-" for a blank; a second one gets "-1"."""
    found = set()
    for line in re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.S | re.M).splitlines():
        heading = re.match(r"#{1,6} (.*)", line)
        if heading:
            name = re.sub(r"[^\w\- ]", "", heading[1].strip().lower()).replace(" ", "-")
            number = 0
            while (each := name if not number else f"{name}-{number}") in found:
                number += 1
            found.add(each)
    return found


def breaches_of(path, text, files, folders):
    """(line, what) of each link that leads nowhere."""
    for number, line in prose(text):
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            place = (ROOT / path).parent / name if name else ROOT / path
            if not place.resolve().is_relative_to(ROOT):
                yield number, f"{target} leads out of the repository"
                continue
            relative = str(place.resolve().relative_to(ROOT))
            if relative not in files and relative not in folders:
                yield number, f"{target} is not there"
            elif anchor and (relative in folders or anchor not in anchors(place.resolve())):
                yield number, f"{target}: no heading is named so"


def check_itself(files, folders):
    """Breaches if it misses a link that leads nowhere."""
    for text, wanted in [("[a](docs/lists.md)", 0), ("[a](docs/nothing.md)", 1), ("[a](docs/lists.md#no-such)", 1), ("`[a](nothing)`", 0),
                         ("[a](#why) [b](#nowhere)", 1), ("[a](https://example.com/x)", 0), ("![a](nothing.png)", 1), ("[a](../../x)", 1)]:
        found = len([*breaches_of("README.md", text, files, folders)])
        if found != wanted:
            yield f"links_test.py finds {found} breaches in {text}, not {wanted}"


def check_figures():
    """Each measured row of README stands in bench/README.md, with the same ratio."""
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \| ([^|]+) \| ([\d.]+) \| \d{4}-\d\d-\d\d \|$", (ROOT / "README.md").read_text(), re.M)
    measured = (ROOT / "bench/README.md").read_text()
    if len(rows) != 4:
        yield f"README.md: {len(rows)} measured rows, not 4"
    for ours, theirs, ratio in rows:
        number = re.escape(theirs.split()[0])
        if not any(ours in line for line in measured.splitlines()) or not re.search(rf"squid.* {number} .*\| \**{re.escape(ratio)}\** \|", measured):
            yield f"README.md: {ours} beside {theirs}, {ratio} is no row of bench/README.md"


def check_pictures():
    """README is read over slow lines, too."""
    octets = sum(path.stat().st_size for path in (ROOT / "docs/pictures").iterdir())
    if octets > MOST_OF_PICTURES:
        yield f"docs/pictures: {octets} octets, more than {MOST_OF_PICTURES}"


def main():
    files = tracked()
    folders = {str(parent) for path in files for parent in pathlib.PurePosixPath(path).parents}
    breaches = [*check_itself(files, folders), *check_figures(), *check_pictures()]
    pages = sorted(path for path in files if path.endswith(".md") and not path.startswith(OF_OTHERS))
    links = 0
    for path in pages:
        text = (ROOT / path).read_text()
        links += len(LINK.findall(text))
        breaches += [f"{path}:{number}: {what}" for number, what in breaches_of(path, text, files, folders)]
    print("\n".join(breaches))
    print(f"{len(pages)} pages, {links} links, {len(breaches)} breaches")
    return 1 if breaches or len(pages) < 15 or links < 50 else 0


sys.exit(main())
