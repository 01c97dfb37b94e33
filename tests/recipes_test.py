#!/usr/bin/env python3
"""The recipes of docs/guide, pasted as they stand into a clean Debian whose first process is systemd: the programs of this build with the
configuration of the package, the lists of the catalogue served on the machine itself (recipes_steps.py says what came out of each).

Usage: recipes_test.py BUILD_DIRECTORY. The root's packages are fetched once and kept there (a minute). Exit status 77 (skipped, and
why) where it cannot run.
SPDX-License-Identifier: Apache-2.0
"""
import shutil
import sys

import clean_system
import service_test

ROOT = clean_system.HERE.parent
AROUND = ["iproute2", "nftables", "openssl", "tzdata"]


def install(root):
    service_test.install_programs(root)
    clean_system.add_steps(root, clean_system.HERE / "recipes_steps.py")
    shutil.copytree(ROOT / "debian/conf", root / "etc/bloomwall", dirs_exist_ok=True)
    shutil.copytree(ROOT / "docs/guide", root / "guide")


if __name__ == "__main__":
    service_test.need_programs()
    sys.exit(clean_system.test(service_test.BUILD, service_test.packages() | set(AROUND), install))
