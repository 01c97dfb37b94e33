#!/usr/bin/env python3
"""The packages that `./dev deb` builds, on a clean Debian: installed, put through their own tests (debian/tests), upgraded, removed,
purged and installed again (package_steps.py). The upgrade is to the same packages with a higher version.

Usage: package_test.py FOLDER, which holds the packages; what is fetched is kept there. Exit status 77 (skipped, and why) where it cannot
run.
SPDX-License-Identifier: Apache-2.0
"""
import shutil
import sys

import clean_system
import debian_packages

TOOLS = ["ca-certificates", "cmake", "curl", "gcc", "libc6-dev", "make", "openssl", "pkg-config", "procps", "wget"]  # of the tests in debian/tests


def main():
    folder, packages = debian_packages.named_on_the_command_line()
    clean_system.need("dpkg-deb")

    def fill(root):
        debian_packages.put(packages, root)
        shutil.copytree(clean_system.HERE.parent / "debian/tests", root / "package-tests")
        clean_system.add_steps(root, clean_system.HERE / "package_steps.py")

    return clean_system.test(folder, [*TOOLS, *debian_packages.depends_of(packages)], fill)


if __name__ == "__main__":
    sys.exit(main())
