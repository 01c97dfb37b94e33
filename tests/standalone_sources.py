#!/usr/bin/env python3
"""Every source includes what it needs, and so does every header without a source of its name; the compiler is clang.

    standalone_sources.py BUILD_FOLDER

The builds join sources and precompile headers, so they would not notice. BUILD_FOLDER was configured for a build that joins
sources without precompiled headers; no source of it needs to be compiled, what it generates must be there.
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("base", "conf", "filter", "proxy")
COMPILER = ["clang++-19", "-fsyntax-only", "-Wno-unknown-warning-option", "-Wno-deprecated-declarations"]
HEADER = ["-Wno-pragma-once-outside-header", "-Wno-unused", "-x", "c++"]


def flags_of_rooms(build):
    """The options that the sources of each folder are compiled with."""
    rooms = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        match = re.fullmatch(re.escape(f"{build}/") + r"(.*)/CMakeFiles/.*/unity_\d+_cxx\.cxx", entry["file"])
        if match:
            words = shlex.split(entry["command"])
            rooms.setdefault(match.group(1), words[1:words.index("-o")])
    return rooms


def sources():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", *FOLDERS], cwd=ROOT, capture_output=True, text=True,
                            check=True).stdout.split("\n")
    files = {f for f in listed if f.endswith((".cc", ".h")) and (ROOT / f).is_file()}
    return sorted(f for f in files if f.endswith(".cc") or f[:-2] + ".cc" not in files)


def errors_in(source, rooms):
    room = str(pathlib.PurePosixPath(source).parent)
    flags = rooms.get(room) or rooms[next(r for r in sorted(rooms) if r.startswith(room))]  # a folder of headers alone
    command = [*COMPILER, *flags, *(HEADER if source.endswith(".h") else []), str(ROOT / source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stderr if done.returncode or done.stderr else ""


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    rooms, files = flags_of_rooms(build), sources()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [text for text in pool.map(lambda f: errors_in(f, rooms), files) if text]
    print("\n".join(found), end="")
    print(f"{len(files)} sources compiled by themselves, {len(found)} with errors")
    return 1 if found or len(files) < 100 else 0


sys.exit(main())
