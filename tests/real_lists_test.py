#!/usr/bin/env python3
"""Lists as they are published, built and asked by the linked program: what each line says by a rule of one line here is
listed, or the line is one of those that the report counts as left out.

    real_lists_test.py BUILD_DIR [--every-rate] [NAME...]

At the rate that `build` takes by itself; --every-rate: at 1e-6 and 1e-7 as well, and at 1e-8 where a list has names alone.

The lists are looked for in BLOOMWALL_LISTS, else beside the source tree in ../shared/lists. Exit status 77 (skipped) where
they or zstd are absent.
SPDX-License-Identifier: Apache-2.0
"""
import csv
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = pathlib.Path(os.environ.get("BLOOMWALL_LISTS", ROOT.parent / "shared/lists"))


def by_pattern(pattern):
    known = re.compile(pattern)

    def read(line):
        match = known.match(line)
        return f"http://{match.group(1)}" if match else None
    return read


def csv_url(line):
    for field in next(csv.reader([line]), []):
        if re.match(r"(https?|ftp)://", field):
            return field
    return None


READ = {  # folder: what a line says, as a URL; None where it says nothing that can be asked
    "domains": by_pattern(r"([^\s#]+)\s*(?:#.*)?$"),
    "wildcard": by_pattern(r"(?:\*\.)?([^\s#]+)\s*(?:#.*)?$"),
    "hosts": by_pattern(r"(?:0\.0\.0\.0|127\.0\.0\.1)\s+([^\s#]+)"),
    "adblock": by_pattern(r"\|\|([\w.-]+(?=\^$)|[\w.-]+/[\w./-]*/$)"),
    "dnsmasq": by_pattern(r"(?:address|server|local)=/([^/]+)/#?$"),
    "unbound": by_pattern(r'local-zone: "([^"]+)" always_null'),
    "rpz": by_pattern(r"(?:\*\.)?([\w.-]+?)\.?\s+CNAME\s+\.$"),
    "urls": csv_url,
    "benign-urls": lambda line: line if re.match(r"https?://", line) else None,
    "allow": by_pattern(r"([^\s#]+)$"),
    "benign-domains": by_pattern(r"([\w.-]+)$"),
    "privoxy": lambda line: None,  # sections; read by the tests of the parser
}

NAMES_ALONE = ("domains", "wildcard", "hosts", "dnsmasq", "unbound", "rpz")


def lines_of(path):
    """The lines of a list, those of domains and urls of an archive of categories, and what says of one what it lists."""
    if not path.name.endswith(".tar.zst"):
        text = subprocess.run(["zstd", "-qdc", path], capture_output=True, check=True).stdout
        return [line.strip() for line in text.decode("utf-8", "replace").split("\n")], READ[path.parent.name]
    archive = subprocess.run(["zstd", "-qdc", path], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as members:
        texts = [members.extractfile(member).read() for member in members if member.name.endswith(("/domains", "/urls"))]
    lines = [line.strip() for text in texts for line in text.decode("utf-8", "replace").split("\n")]
    return lines, by_pattern(r"(\S+)$")


def check(program, path, folder, *rate):
    """What is wrong with one list, built with the options of rate; None where nothing is."""
    lines, read = lines_of(path)
    asked = [(line, read(line)) for line in lines if line and line[0] not in "#!;"]
    asked = [(line, url) for line, url in asked if url]
    out = folder / "out.bwf"
    done = subprocess.run([program, "build", "--json", "--allow-unsupported", "--white", "block", *rate, "-o", out, path],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if not asked and "--format" not in done.stderr:
            return None  # a list of names that are not to be stopped
        return f"not built: {done.stderr[-300:]}"
    report = json.loads(done.stdout)
    files = report["files"]
    answers = subprocess.run([program, "query", out], input="\n".join(u for _, u in asked) + "\n", capture_output=True, text=True,
                             check=False).stdout.splitlines()
    if len(answers) != max(1, len(asked)):
        return f"{len(asked)} questions, {len(answers)} answers"
    missed = [line for (line, _), answer in zip(asked, answers) if not answer.startswith("listed\t")]
    left_out = sum(counts[why] for counts in files for why in ("unusable", "boilerplate", "allowed", "cancelled"))
    for counts in files:
        shown = sum(reason["count"] for kind in ("unsupported", "malformed") for reason in counts[kind])
        if shown != counts["unusable"]:
            return f"{counts['path']}: {counts['unusable']} lines unusable, {shown} with a reason"
    if len(missed) > left_out:
        return f"{len(missed)} of {len(asked)} lines are not listed, {left_out} left out: {missed[:5]}"
    if not asked and path.parent.name != "privoxy":
        return "no line is understood here"
    print(f"{' '.join([str(path.relative_to(LISTS)), *rate])}: {', '.join(dict.fromkeys(counts['format'] for counts in files))}, {len(lines)} lines, {len(asked)} asked, "
          f"{len(missed)} left out of {left_out} counted")
    return None


def main():
    program = pathlib.Path(sys.argv[1]).resolve() / "bloomwall-filter"
    if not LISTS.is_dir() or not shutil.which("zstd"):
        print(f"skipped: needs zstd and a collection of lists in {LISTS}")
        return 77
    wrong, names = 0, sys.argv[2:]
    every = "--every-rate" in names
    names = [name for name in names if name != "--every-rate"]
    paths = sorted(LISTS.rglob("*.zst"))
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            if names and not any(name in str(path) for name in names):
                continue
            rates = [(), ("--fpr", "1e-6"), ("--fpr", "1e-7")] + [("--fpr", "1e-8")] * (path.parent.name in NAMES_ALONE)
            for rate in rates if every else rates[:1]:
                what = check(program, path, pathlib.Path(folder), *rate)
                if what:
                    wrong += 1
                    print(f"{' '.join([str(path.relative_to(LISTS)), *rate])}: {what}")
    return 1 if wrong or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
