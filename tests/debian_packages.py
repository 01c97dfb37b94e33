"""The packages that `./dev deb` builds, as tests of clean systems take them.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import shutil
import sys

import clean_system
from clean_system import run

CONTROL = clean_system.HERE.parent / "debian/control"
NAMES = re.findall(r"^Package: (.+)$", CONTROL.read_text(), re.M)


def named_on_the_command_line():
    """The folder that it names, and the newest of each package in it."""
    folder = pathlib.Path(sys.argv[1]).resolve()
    found = [sorted(folder.glob(f"{name}_*.deb"), key=lambda file: file.stat().st_mtime)[-1:] for name in NAMES]
    if [] in found:
        clean_system.skip(f"there are no packages in {folder} (./dev deb builds them)")
    return folder, [package for [package] in found]


def depends_of(packages):
    """Names of packages that these want beside their own kind; of alternatives the first."""
    fields = "".join(run(["dpkg-deb", "-f", str(package), "Pre-Depends", "Depends"]).stdout for package in packages)
    wanted = re.sub(r"^[\w-]+:", ",", fields, flags=re.M).replace("\n", ",").split(",")
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


def put(packages, root):
    """In /packages/old, and in /packages/new with a higher version."""
    for which in ("old", "new"):
        (root / "packages" / which).mkdir(parents=True)
    for package in packages:
        shutil.copy(package, root / "packages/old")
        with_next_version(package, root / "packages/new")
