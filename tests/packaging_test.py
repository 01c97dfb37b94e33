#!/usr/bin/env python3
"""What debian/ and container/ say, without building packages (`./dev deb test` does): versions and build dependencies agree with the rest
of the tree, every file that is installed is in a package, the configurations that are shipped can be served.

Usage: packaging_test.py BUILD_DIRECTORY. Exit status 77 (skipped) where the programs are not built.
SPDX-License-Identifier: Apache-2.0
"""
import fnmatch
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
SOURCE = pathlib.Path(__file__).resolve().parent.parent
DEBIAN = SOURCE / "debian"
NOT_FOR_PACKAGES = {"g++", "mold", "curl", "libgtest-dev", "libgmock-dev", "libbenchmark-dev"}  # the compiler is there; a line to try; tests


def run(*command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=100, **more)


def check_versions():
    ours = re.search(r"^project\(bloomwall VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
    packaged = re.match(r"bloomwall \((\S+?)\)", (DEBIAN / "changelog").read_text()).group(1)
    assert packaged == ours, f"debian/changelog says {packaged}, CMakeLists.txt {ours}"
    module = re.search(r'^version = "(.*)"', (SOURCE / "python/pyproject.toml").read_text(), re.M).group(1)
    assert module == ours, f"python/pyproject.toml says {module}, CMakeLists.txt {ours}"
    newest = re.search(r"^## (\d[^ ,]*)", (SOURCE / "CHANGELOG.md").read_text(), re.M).group(1)
    assert newest == ours, f"CHANGELOG.md says {newest}, CMakeLists.txt {ours}"


def check_build_dependencies():
    wanted = set(re.search(r"^build_packages=\((.*?)\)", (SOURCE / "dev").read_text(), re.M | re.S).group(1).split()) - NOT_FOR_PACKAGES
    stanza = re.search(r"^Build-Depends:\n((?: .*\n)+)", (DEBIAN / "control").read_text(), re.M).group(1)
    named = {re.split(r"[ (:,]", line.strip())[0] for line in stanza.splitlines()}
    assert not wanted - named, f"debian/control lacks {sorted(wanted - named)}"


def check_licences():
    """Each file that others wrote is in a paragraph of its own, which names whoever the file or its licence does."""
    assert (SOURCE / ".reuse/dep5").read_text() == (DEBIAN / "copyright").read_text()  # a link
    assert (SOURCE / "LICENSES/Apache-2.0.txt").read_text() == (SOURCE / "LICENSE").read_text()
    paragraphs = (DEBIAN / "copyright").read_text().split("\n\n")
    fields = [dict(re.findall(r"^(\w+):((?:.*\n?)(?: .*\n?)*)", paragraph, re.M)) for paragraph in paragraphs]
    foreign = [(paragraph["Files"].split(), paragraph["Copyright"]) for paragraph in fields if paragraph.get("Files", "*").strip() != "*"]
    vendor, ours = SOURCE / "dashboard/vendor", {"README.md", "SHA256SUMS", "fetch.py"}
    files = [path for path in vendor.rglob("*") if path.is_file() and path.name not in ours]
    assert len(files) >= 20, files
    for path in files:
        name = str(path.relative_to(SOURCE))
        holders = [holder for patterns, holder in foreign if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
        assert len(holders) == 1, f"debian/copyright has {len(holders)} paragraphs for {name}"
        said = re.findall(r"^\W*Copyright (?:\(c\) )?(\d{4}[\w-]*,? .*)", path.read_text(), re.M)
        assert said or path.suffix != ".txt", f"{name} names nobody"
        for holder in said:
            assert re.sub(",|All [Rr]ights [Rr]eserved.*", "", holder).strip() in holders[0], f"debian/copyright lacks {holder} of {name}"


# Headers and sources of others that become part of the programs, as they are included: the name that NOTICE has for each.
COMPILED_IN = {"llhttp": "llhttp", "CLI/": "CLI11", "nlohmann/": "nlohmann/json", "date/": "date", "xxhash": "xxHash", "fmt/": "fmt",
               "spdlog/": "spdlog", "prometheus/": "prometheus-cpp", "tl/": "tl-expected"}
C_LIBRARIES = ("event2/", "openssl/", "yaml-cpp/", "sqlite3", "curl/", "nghttp2/", "ares", "unicode/", "libpsl", "archive", "systemd/", "gssapi",
               "zlib", "lzma", "zstd", "bzlib", "lz4")  # linked at run time, with their own notices


def check_notice():
    """NOTICE has holders and licence of all code that others wrote and that is compiled in."""
    notice = (SOURCE / "NOTICE").read_text()
    rows = {re.split(r" \(", row[0])[0]: row for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", notice, re.M)}
    sources = [path for room in ("base", "filter", "conf", "proxy", "helpers") for path in (SOURCE / room).rglob("*.[ch]*")]
    included = {name for path in sources for name in re.findall(r"^#include <([^>]+)>", path.read_text(errors="replace"), re.M)}
    for start, name in COMPILED_IN.items():
        assert any(each.startswith(start) for each in included), f"nothing includes {start} any more: NOTICE names {name}"
        assert name in rows, f"NOTICE lacks {name}"
        licence = rows[name][2].split(",")[0].strip()
        assert licence == "CC0-1.0" or re.search(rf"^{licence}\n\n\S", notice, re.M), f"NOTICE lacks the text of {licence}"
    unknown = {each for each in included if "/" in each and not each.startswith((*COMPILED_IN, *C_LIBRARIES, "sys/", "net/", "netinet/", "arpa/", "linux/"))}
    assert not unknown, f"of whom are {sorted(unknown)}? NOTICE, or C_LIBRARIES"
    for package in ("bloomwall", "bloomwall-filter"):
        assert "NOTICE" in (DEBIAN / f"{package}.docs").read_text().split(), f"{package} is shipped without NOTICE"
    maintainer = re.search(r"^Maintainer: .*<(.*)>", (DEBIAN / "control").read_text(), re.M)[1]
    said = (SOURCE / "SECURITY.md").read_text()
    assert "debian/control" in said and not set(re.findall(r"[\w.+-]+@[\w.-]+", said)) - {maintainer}, "SECURITY.md names another address"


def check_scripts():
    scripts = [*DEBIAN.glob("bloomwall.p*inst"), DEBIAN / "bloomwall.postrm", *(DEBIAN / "tests").iterdir()]
    for script in scripts:
        if script.name != "control":
            done = run("sh", "-n", str(script))
            assert done.returncode == 0, done.stderr
    tests = " ".join(re.findall(r"^Tests: (.*)$", (DEBIAN / "tests/control").read_text(), re.M)).split()
    executable = sorted(path.name for path in (DEBIAN / "tests").iterdir() if os.access(path, os.X_OK))
    assert sorted(tests) == executable, (tests, executable)


def check_pages(doc):
    """The manual is readable where it is installed: links of its pages, and those of README to them, lead to files there."""
    pages = [*(doc / "docs").rglob("*.md"), doc / "README.md"]
    assert len(pages) > 15, pages
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)", re.sub(r"`[^`]*`", "", page.read_text())):
            if not re.match("[a-z]+:", target) and (page.parent != doc or target.startswith("docs/")):
                assert (page.parent / target).exists(), f"{page.relative_to(doc)} refers to {target}, which is not installed"


def installed_files(folder):
    """As debian/rules leaves them in debian/tmp, without what only the rules make."""
    done = run("cmake", "--install", str(BUILD), "--prefix", "/usr", env={"DESTDIR": folder, "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0, done.stdout + done.stderr
    root = pathlib.Path(folder)
    check_pages(root / "usr/share/doc/bloomwall")
    files = {str(path.relative_to(root)) for path in root.rglob("*") if not path.is_dir()}
    return {path.replace("zsh/site-functions", "zsh/vendor-completions") for path in files}


def check_files():
    with tempfile.TemporaryDirectory() as folder:
        files = installed_files(folder)
    lists = [*DEBIAN.glob("*.install"), *DEBIAN.glob("*.manpages"), DEBIAN / "not-installed"]
    entries = {line.removeprefix("debian/tmp/") for path in lists for line in path.read_text().split()}
    entries = {entry.replace("usr/lib/*/", "usr/lib/") for entry in entries}  # debhelper names the folder of the architecture
    files = {re.sub(r"/libbloomwall\.so\.[0-9.]+$", "/libbloomwall.so.*", file) for file in files}
    if not (BUILD / "docs/man").is_dir():
        entries = {entry for entry in entries if not re.search(r"/man/|completion|/fish/", entry)}
    if not (BUILD / "negotiate-helper").exists():
        entries.discard("usr/lib/bloomwall/negotiate-helper")
    if not (BUILD / "python/bloomwall/_bloomwall.abi3.so").exists():
        entries.discard("usr/lib/python3/dist-packages/bloomwall")
    homeless = {file for file in files if not any(file == entry or file.startswith(entry + "/") for entry in entries)}
    assert not homeless, f"in no package: {sorted(homeless)}"
    absent = {entry for entry in entries if not any(file == entry or file.startswith(entry + "/") for file in files)}
    assert not absent, f"not installed: {sorted(absent)}"


def check_configuration(file, parts):
    """As a package installs it, in a folder of this test."""
    with tempfile.TemporaryDirectory() as folder:
        etc = pathlib.Path(folder) / "etc"
        shutil.copytree(parts, etc)
        shutil.copy(file, etc / "bloomwall.yaml")
        sample = pathlib.Path(folder) / "sample.bwf"
        done = run(str(BUILD / "bloomwall-filter"), "build", "-q", "-o", str(sample), *map(str, sorted((SOURCE / "conf/sample/lists").iterdir())))
        assert done.returncode == 0, done.stderr
        for path in etc.rglob("*.yaml"):
            text = path.read_text().replace("/usr/share/bloomwall/sample.bwf", str(sample))
            path.write_text(text.replace("/var/log/bloomwall", folder).replace("/var/lib/bloomwall", folder))
        done = run(str(BUILD / "bloomwall"), "check", "--config", str(etc / "bloomwall.yaml"))
        assert done.returncode == 0 and "filter sample: block" in done.stdout, done.stdout + done.stderr
        warnings = [line for line in done.stderr.splitlines() if "is held by" not in line]
        assert not warnings, warnings


def main():
    if not (BUILD / "bloomwall").is_file() or not (BUILD / "bloomwall-filter").is_file():
        print("the programs are not built")
        return 77
    check_versions()
    check_build_dependencies()
    check_licences()
    check_notice()
    check_scripts()
    check_files()
    check_configuration(DEBIAN / "conf/bloomwall.yaml", DEBIAN / "conf")
    check_configuration(SOURCE / "container/bloomwall.yaml", DEBIAN / "conf")
    return 0


sys.exit(main())
