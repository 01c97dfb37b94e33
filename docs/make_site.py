#!/usr/bin/env python3
"""The pages of the repository as a site that can be searched: build/docs/index.html, by mkdocs. Ends with 1 where mkdocs warns.

Usage: make_site.py
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
PAGES = SOURCE / "build/docs-pages"
OF_OTHERS = ("dashboard/vendor/", "tests/")
WANTED = ["*.md", "docs/pictures/*", "LICENSE", "NOTICE"]


def main():
    shutil.rmtree(PAGES, ignore_errors=True)
    listed = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "-co", "--exclude-standard", "--", *WANTED],
                            capture_output=True, text=True, check=True).stdout.splitlines()
    for name in listed:
        if not name.startswith(OF_OTHERS) and (SOURCE / name).is_file():
            (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, PAGES / name)
    done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "--clean", "-f", str(SOURCE / "docs/mkdocs.yml")], check=False)
    return done.returncode


sys.exit(main())
