#!/usr/bin/env python3
"""Two builds of the packages are equal, octet for octet, although they were made in different folders; where they are not, the files
in them that differ are named.

Usage: same_packages.py FOLDER FOLDER, each with the packages of one build. SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import pathlib
import subprocess
import sys
import tempfile


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def packages(folder):
    return {path.name: path for path in sorted(pathlib.Path(folder).glob("*.deb"))}


def contents(package, folder):
    """What is in it, its control files included: name to digest."""
    subprocess.run(["dpkg-deb", "--raw-extract", str(package), str(folder)], check=True)
    return {str(path.relative_to(folder)): path.readlink() if path.is_symlink() else digest(path)
            for path in sorted(folder.rglob("*")) if path.is_symlink() or path.is_file()}


def differences(one, other):
    with tempfile.TemporaryDirectory() as place:
        here, there = (contents(package, pathlib.Path(place) / name) for package, name in ((one, "one"), (other, "other")))
    return [name for name in sorted(here.keys() | there.keys()) if here.get(name) != there.get(name)] or ["times, owners or modes of files"]


def main():
    one, other = packages(sys.argv[1]), packages(sys.argv[2])
    if not one or one.keys() != other.keys():
        print(f"there are not the same packages in both: {sorted(one)}, {sorted(other)}")
        return 1
    failed = 0
    for name, package in one.items():
        if digest(package) == digest(other[name]):
            print(f"{name}: equal")
            continue
        failed += 1
        print(f"{name}: the two builds differ in {', '.join(differences(package, other[name]))}")
    return 1 if failed else 0


sys.exit(main())
