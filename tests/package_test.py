#!/usr/bin/env python3
"""The packages that `./dev deb` builds, on a clean Debian: installed, put through their own tests (debian/tests), upgraded, removed,
purged and installed again (package_steps.py). The upgrade is to the same packages with a higher version.

Usage: package_test.py FOLDER, which holds the packages; what is fetched is kept there. Exit status 77 (skipped, and why) where it cannot
run.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import shutil
import sys
import tempfile

import clean_system
from clean_system import run

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["bloomwall", "bloomwall-filter", "bloomwall-helpers"]


def newest(folder, name):
    found = sorted(folder.glob(f"{name}_*.deb"), key=lambda file: file.stat().st_mtime)
    return found[-1] if found else None


def depends_of(package):
    """Names of packages that a package wants beside its own kind; of alternatives the first."""
    fields = run(["dpkg-deb", "-f", str(package), "Pre-Depends", "Depends"]).stdout
    wanted = re.sub(r"^[\w-]+:", ",", fields, flags=re.M).split(",")
    names = {re.split(r"[\s(|:]", name.strip())[0] for name in wanted}
    return names - {""} - set(NAMES)


def with_next_version(package, folder):
    """The same package as the version behind it."""
    tree = folder / (package.stem + ".tree")
    done = run(["dpkg-deb", "-R", str(package), str(tree)])
    assert done.returncode == 0, done.stderr
    control = tree / "DEBIAN/control"
    text = control.read_text()
    version = re.search(r"^Version: (.*)$", text, re.M).group(1)
    control.write_text(text.replace(version, version + "+next"))
    done = run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", str(tree), str(folder)], timeout=200)
    assert done.returncode == 0, done.stderr
    shutil.rmtree(tree)


def put_packages(packages, root):
    for which in ("old", "new"):
        (root / "packages" / which).mkdir(parents=True)
    for package in packages:
        shutil.copy(package, root / "packages/old")
        with_next_version(package, root / "packages/new")
    shutil.copytree(HERE.parent / "debian/tests", root / "package-tests")
    clean_system.add_steps(root, HERE / "package_steps.py")


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    packages = [newest(folder, name) for name in NAMES]
    if None in packages:
        print(f"skipped: there are no packages in {folder} (./dev deb builds them)")
        return 77
    if why := clean_system.cannot_run(["dpkg-deb"]):
        print(f"skipped: {why}")
        return 77
    names = set(clean_system.BASE) | {"ca-certificates", "curl", "openssl", "procps", "wget"}.union(*map(depends_of, packages))
    archive = clean_system.base_system(folder, sorted(names))
    if archive is None:
        print("skipped: the packages of a clean system cannot be fetched")
        return 77
    with tempfile.TemporaryDirectory(dir=folder, prefix="package-root-") as place:
        root = pathlib.Path(place) / "root"
        clean_system.unpack(archive, root)
        put_packages(packages, root)
        if not clean_system.boot(root):
            return 77
        return 0 if clean_system.judge(root) else 1


if __name__ == "__main__":
    sys.exit(main())
