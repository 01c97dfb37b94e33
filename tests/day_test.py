#!/usr/bin/env python3
"""A day with bloomwall on a clean Debian, with nothing but its packages: installed, two lists chosen, a browser told of it by its PAC
file, a page blocked and reported, the report decided on the dashboard, the list mended by who makes it, the packages upgraded while
requests come, and purged (day_steps.py).

Usage: day_test.py FOLDER, which holds the packages; what is fetched is kept there. Exit status 77 (skipped, and why) where it cannot
run.
SPDX-License-Identifier: Apache-2.0
"""
import sys

import clean_system
import debian_packages

AROUND = ["ca-certificates", "chromium", "fonts-dejavu-core", "openssl"]


def main():
    folder, packages = debian_packages.named_on_the_command_line()
    clean_system.need("dpkg-deb")

    def fill(root):
        debian_packages.put(packages, root)
        here = clean_system.HERE
        clean_system.add_steps(root, here / "day_steps.py", here / "browsers.py", here / "dashboard_browser.py")

    return clean_system.test(folder, [*AROUND, *debian_packages.depends_of(packages)], fill)


if __name__ == "__main__":
    sys.exit(main())
