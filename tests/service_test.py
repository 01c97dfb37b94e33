#!/usr/bin/env python3
"""The service as it ships, on a clean Debian whose first process is systemd: installed by `cmake --install` into a root of its own,
booted by systemd-nspawn without a network, and put through tests/service_steps.py, which says what came out of each step.

Usage: service_test.py BUILD_DIRECTORY. The root's packages are fetched once and kept there (a minute); each run takes some 20 s.
Exit status 77 (skipped, and why) where it cannot run.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import sys

import clean_system
from clean_system import run

BUILD = pathlib.Path(sys.argv[1]).resolve()
STEPS = pathlib.Path(__file__).resolve().parent / "service_steps.py"


def packages():
    """What the programs are linked to, and what the steps need."""
    libraries = set()
    for program in ("bloomwall", "bloomwall-filter"):
        libraries.update(re.findall(r"=> (/\S+)", run(["ldd", str(BUILD / program)]).stdout))
    found = set()
    for library in libraries:
        # Debian's lists name files below /usr or as they were before the merge of /lib into it.
        for path in (library, "/usr" + library, os.path.realpath(library)):
            owner = run(["dpkg", "-S", path])
            if owner.returncode == 0:
                found.add(owner.stdout.split(":")[0])
                break
    return found


def install_programs(root):
    done = run(["cmake", "--install", str(BUILD), "--prefix", "/usr"], env={"DESTDIR": str(root), "PATH": os.environ["PATH"]}, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def install(root):
    install_programs(root)
    clean_system.add_steps(root, STEPS)


def need_programs():
    """Ends the test where they cannot run in a system of their own."""
    programs = [BUILD / "bloomwall", BUILD / "bloomwall-filter"]
    if not all(program.is_file() for program in programs):
        clean_system.skip("the programs are not built")
    if "BLOOMWALL_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        clean_system.skip("programs with sanitizers map memory as the sandbox of the unit forbids")
    clean_system.need("cmake")


def main():
    need_programs()
    return clean_system.test(BUILD, packages(), install)


if __name__ == "__main__":
    sys.exit(main())
