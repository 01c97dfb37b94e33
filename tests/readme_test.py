#!/usr/bin/env python3
"""README's tour, pasted line by line: its code blocks run in one shell, against the programs of this build.

Usage: readme_test.py BUILD_DIR. Exit status 77 (skipped) where curl is absent.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from ports import free_ports

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What a reader is told they will see.
SHOWN = ["listed\thttp://img.ads.example.test/x.gif\tads.example.test", "clear\thttp://files.example.test/good.txt",
         "status 1: something is listed", "status 1: blocked", "\n403\n", "bloomwall_filter_entries", "HTTP/1.1 403 Blocked by filter lists", "ads.example.test\ntracker.example.test\n",
         "files.example.test/bad/\",\"decision_id"]


def pasted():
    """The code blocks of the tour, as they stand."""
    text = (ROOT / "README.md").read_text()
    section = text[text.index("\n## A tour"):]
    section = section[:section.index("\n## ", 1)]
    script = "\n".join(re.findall(r"```bash\n(.*?)```", section, re.S))
    assert script.count("\n") > 20, "the tour has lost its code blocks"
    return script


def tour(build, folder, ports):
    script = pasted()
    # The build under test instead of a fresh one, a folder and ports of the test's own instead of the reader's.
    for old, new in [("./dev build", ":"), ("$PWD/build/release", str(build)), ("/tmp/bloomwall-tour", folder),
                     ("127.0.0.1:3129", f"127.0.0.1:{ports[0]}"), ("127.0.0.1:9129", f"127.0.0.1:{ports[1]}"),
                     ("8129", str(ports[2]))]:
        assert old in script, old
        script = script.replace(old, new)
    return "set -e\n" + script


def main():
    if not shutil.which("curl") or not shutil.which("python3"):
        print("curl or python3 is absent")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        script = tour(pathlib.Path(sys.argv[1]).resolve(), folder, free_ports(3))
        done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "no_proxy": "", "NO_PROXY": ""})
        output = done.stdout + done.stderr
        missing = [text for text in SHOWN if text not in output]
        if done.returncode != 0 or missing:
            print(output)
            print(f"exit status {done.returncode}; missing: {missing}")
            return 1
    print("the tour works")
    return 0


if __name__ == "__main__":
    sys.exit(main())
