#!/usr/bin/env python3
"""Writes what stands beside it: the libraries of the dashboard, from the npm registry, and their digests.

Only for whoever changes a version below; needs npm and the network. An archive that differs from its recorded digest is refused.
Served: *.mjs, *.css and the licences (*.txt). Not served: source/, of which the minified files are made.
Usage: fetch.py
SPDX-License-Identifier: Apache-2.0
"""
import base64
import hashlib
import io
import pathlib
import shutil
import subprocess
import tarfile
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Name, version, the registry's SHA-512 of the archive, and which files of it go where; a folder ends in a slash.
PACKAGES = [
    ("preact", "11.2.0", "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
     {"dist/preact.mjs": "preact.mjs", "hooks/dist/hooks.mjs": "hooks.mjs", "LICENSE": "preact.txt",
      "src/": "source/preact/src/", "hooks/src/": "source/preact/hooks/src/"}),
    ("htm", "3.1.1", "983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
     {"dist/htm.mjs": "htm.mjs", "LICENSE": "htm.txt", "src/": "source/htm/src/"}),
    ("uplot", "1.6.32", "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
     {"dist/uPlot.esm.js": "uplot.mjs", "dist/uPlot.min.css": "uplot.css", "LICENSE": "uplot.txt"}),
]
# A browser resolves no bare name without an import map, and an inline one would need a hash in the policy for scripts.
REWRITTEN = {"hooks.mjs": (b'from"preact"', b'from"./preact.mjs"')}


def archive(name, version, digest):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", f"{name}@{version}"], cwd=folder, stdout=subprocess.DEVNULL, check=True)
        octets = next(pathlib.Path(folder).glob("*.tgz")).read_bytes()
    if base64.b64encode(hashlib.sha512(octets).digest()).decode() != digest:
        raise SystemExit(f"{name} {version}: the archive is not the recorded one")
    return tarfile.open(fileobj=io.BytesIO(octets))


def write(target, octets):
    if target in REWRITTEN:
        old, new = REWRITTEN[target]
        if octets.count(old) != 1:
            raise SystemExit(f"{target}: {old.decode()} is not in it once")
        octets = octets.replace(old, new)
    # The archives bring maps of sources that nobody is served.
    octets = b"".join(line for line in octets.splitlines(keepends=True) if not line.startswith(b"//# sourceMappingURL="))
    (HERE / target).parent.mkdir(parents=True, exist_ok=True)
    (HERE / target).write_bytes(octets)
    return f"{hashlib.sha256(octets).hexdigest()}  {target}\n"


def main():
    shutil.rmtree(HERE / "source", ignore_errors=True)
    sums = []
    for name, version, digest, files in PACKAGES:
        with archive(name, version, digest) as tar:
            for member in tar.getmembers():
                path = member.name.removeprefix("package/")
                for source, target in files.items():
                    if member.isfile() and (path == source or (source.endswith("/") and path.startswith(source)
                                                                and path.endswith((".js", ".mjs")))):
                        sums.append(write(target + path.removeprefix(source), tar.extractfile(member).read()))
    (HERE / "SHA256SUMS").write_text("".join(sorted(sums, key=lambda line: line.split()[1])))
    print(f"{len(sums)} files written")


main()
