#!/usr/bin/env python3
"""README's first commands on the system that it promises they work on: Debian with git and bash alone, as root and as a user with sudo, in
a clone of the project's files as they are. What a developer's machine has anyway (python3, curl, certificates) is absent there.

    bare_test.py BUILD          in the time that CI has: packages are installed, CMake configures, and in the place of the compiler the
                                programs of BUILD are put; these must start with what was installed. `./dev deb` up to its compiler.
                                README's tour, and as root the commands of docs/migration.md for Debian's squid.conf and a ufdbGuard.conf
    bare_test.py FOLDER whole [SUITE]   everything, compiled (`./dev bare`), on this machine's release of Debian or another;
                                FOLDER keeps the system and the packages that were fetched

apt reaches its servers as it does on this machine. Exit status 77 (skipped, and why) where it cannot run.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile

import clean_system
import originals
import readme_test
from clean_system import run, skip

ROOT = clean_system.HERE.parent
PORTS = (3128, 9128,  # of conf/sample/bloomwall.yaml
         3129, 9129, 8129)  # of README's tour
USER = "someone"
# Instead of a compiler: cmake's own trials and tools of ninja pass.
STAND_IN = """#!/bin/sh
case "$PWD $*" in
*CMakeScratch*|*CMakeTmp*|*--version*|*" -t "*) exec /usr/bin/ninja "$@" ;;
*"/build/release "*) exec cp /built/bloomwall /built/bloomwall-filter /built/build.ninja "$PWD" ;;
esac
echo "here the compiler would begin: $PWD" >&2
exit 99
"""
TRUST = "Acquire::https::CAInfo"


def promised():
    """The commands of README's first block, and that which makes the packages: ./dev run, ./dev test, ./dev deb."""
    text = (ROOT / "README.md").read_text()
    commands = re.findall(r"^    (\./dev [a-z]+)  +#", text, re.M)
    assert commands == ["./dev run", "./dev test", "./dev deb"], commands
    return commands


def check_tour(system):
    """README's tour as it stands, `./dev build` included."""
    (system.root / "pasted.sh").write_text("set -e\n" + readme_test.pasted())
    status, output = system.step("pasted", 600, [f"--bind-ro={system.built}:/built"])
    missing = [text for text in readme_test.SHOWN if text not in output]
    return told(system.user, "the tour", status, f"{output}\nmissing: {missing}", status == 0 and not missing)


LESSON = "2026-11-23T09:10"  # a Monday
# With Debian's squid.conf, its clients of private networks let in: what is asked of the result, and what `explain` ends with.
DECIDED = [("http://good.adult.test/", "10.9.9.9", 0), ("http://plain.test/", "10.9.9.9", 1), ("http://www.adult.test/", "10.1.1.1", 1),
           ("http://news.test/", "10.1.1.1", 0), ("http://news.test/", "10.1.7.7", 1)]


def check_import(system):
    """The commands of docs/migration.md, at the paths that stand there."""
    root = system.root
    system.must("sh", "-ec", "cd /tmp && apt-get -qq download squid && dpkg-deb --fsys-tarfile squid_*.deb | tar -x -C / ./etc/squid")
    rules = root / "etc/squid/conf.d/debian.conf"
    rules.write_text(rules.read_text().replace("#http_access allow localnet", "http_access allow localnet"))
    (root / "etc/ufdbguard").mkdir()
    (root / "etc/ufdbguard/ufdbGuard.conf").write_text(originals.UFDBGUARD.format(folder="/etc/ufdbguard"))
    originals.put_lists(root / "etc/ufdbguard/db")
    page = (ROOT / "docs/migration.md").read_text()
    pasted = re.findall(r"^    (bloomwall (?:import|update) .*)$", page, re.M)
    assert [line.split()[1] for line in pasted] == ["import", "update"], pasted
    asked = [f"status=0; bloomwall explain {url} --client {client} --at {LESSON} --config /tmp/new/bloomwall.yaml || status=$?; "
             f"[ $status -eq {wanted} ]" for url, client, wanted in DECIDED]
    (root / "pasted.sh").write_text("\n".join(["set -ex", "PATH=$PWD/build/release:$PATH", *pasted, *asked, ""]))
    status, output = system.step("pasted", 120)
    return told(system.user, "import of squid.conf and ufdbGuard.conf", status, output, status == 0)


def let_apt_out(root):
    """What apt of this machine knows of proxies and certificates is told that of the system."""
    said = [line for line in run(["apt-config", "dump"]).stdout.splitlines() if re.match(r"Acquire::(https?|Check|Retries)[^ ]* \"[^\"]", line)]
    (root / "etc/apt/apt.conf.d/00as-outside").write_text("\n".join(said) + "\n")
    for line in said:
        name, value = line.split(" ", 1)
        file = pathlib.Path(value.strip('";'))
        if name.lower() == TRUST.lower() and file.is_file():
            (root / file.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / file.relative_to("/"))
    (root / "var/cache/apt/archives").mkdir(parents=True, exist_ok=True)


def working_tree():
    """The files of it, committed or not, packed."""
    names = run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]).stdout.splitlines()
    names = [name for name in names if (ROOT / name).is_file() or (ROOT / name).is_symlink()]
    return subprocess.run(["tar", "-C", str(ROOT), "--hard-dereference", "-cT", "-"], input="\n".join(names).encode(),
                          stdout=subprocess.PIPE, check=True).stdout


def clone(tree, root, home):
    """As a repository, in the home."""
    place = root / home.relative_to("/") / "bloomwall"
    place.mkdir(parents=True)
    subprocess.run(["tar", "-C", str(place), "-x", "--no-same-owner"], input=tree, check=True)
    return home / "bloomwall"


class System:
    """A bare Debian with the project in it, and who works there."""

    def __init__(self, archive, place, user, kept, tree, built):
        self.root, self.user, self.built = place / "root", user, built
        clean_system.unpack(archive, self.root)
        let_apt_out(self.root)
        self.kept = kept
        tried = run(self.command(["true"], "root"), timeout=60)
        if tried.returncode != 0:
            skip(f"systemd-nspawn cannot run here: {tried.stderr.strip()}")
        home = pathlib.Path("/root")
        if user != "root":
            home = pathlib.Path("/home") / user
            self.must("apt-get", "-qq", "update")
            self.must("apt-get", "-qq", "-y", "--no-install-recommends", "install", "sudo")
            self.must("useradd", "-m", "-s", "/bin/bash", user)
            (self.root / "etc/sudoers.d/someone").write_text(f"{user} ALL=(ALL) NOPASSWD: ALL\n")
        self.folder = clone(tree, self.root, home)
        self.must("chown", "-R", user, str(home))
        self.must("git", "init", "-q", str(self.folder), user=user)

    def command(self, words, user, extra=()):
        nspawn = ["systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--resolv-conf=copy-host",
                  "--timezone=off", f"--bind={self.kept}:/var/cache/apt/archives", *extra, "-D", str(self.root), f"--user={user}"]
        for name in ("http_proxy", "https_proxy", "no_proxy"):
            if name in os.environ:
                nspawn.append(f"--setenv={name}={os.environ[name]}")
        return [*nspawn, *words]

    def must(self, *words, user="root"):
        done = run(self.command(words, user), timeout=600)
        assert done.returncode == 0, done.stdout + done.stderr

    def step(self, command, bound, extra=()):
        """Exit status and output of one of README's commands."""
        words = ["/bin/bash", "/bare_steps.sh", str(self.folder), *command.split()]
        shutil.copy(clean_system.HERE / "bare_steps.sh", self.root)
        with tempfile.TemporaryFile() as output:  # not a pipe: what outlives the command would keep it open
            try:
                status = subprocess.run(self.command(words, self.user, extra), stdin=subprocess.DEVNULL, stdout=output,
                                        stderr=subprocess.STDOUT, timeout=bound, check=False).returncode
            except subprocess.TimeoutExpired:
                status = f"not done within {bound} s"
            output.seek(0)
            return status, output.read().decode(errors="replace").replace("\r\n", "\n")  # a console's


def told(user, command, status, output, is_good):
    print(f"{'ok    ' if is_good else 'FAILED'} as {user}: {command}: status {status}", flush=True)
    if not is_good:
        print(output[-6000:], flush=True)
    return is_good


def check_quick(system):
    """In the place of the compiler the programs that are there."""
    wrapper = system.root / "usr/local/bin/ninja"
    wrapper.write_text(STAND_IN)
    wrapper.chmod(0o755)
    extra = [f"--bind-ro={system.built}:/built"]
    run_command, _, deb = promised()
    status, output = system.step("./dev test NothingIsNamedSo", 60)
    good = told(system.user, "./dev test NothingIsNamedSo", status, output, status == 2 and "no test is named" in output and "installing" not in output)
    status, output = system.step(run_command, 1000, extra)
    good = told(system.user, run_command, status, output, status == 0) and good
    good = check_tour(system) and good
    if system.user != "root":  # which installs as `run` does
        return good
    good = check_import(system) and good
    status, output = system.step(deb, 600, extra)
    began = status != 0 and "here the compiler would begin" in output
    return told(system.user, f"{deb} up to its compiler", status, output, began) and good


def check_whole(system):
    run_command, test, deb = promised()
    good = True
    for command in (run_command, f"{test} base", deb):
        status, output = system.step(command, 3 * 3600)
        good = told(system.user, command, status, output, status == 0) and good
    for made in ("build/release", "build/dev", "build/deb"):
        size = run(["du", "-sm", str(system.root / str(system.folder / made)[1:])]).stdout.split()
        print(f"       {made}: {size[0] if size else '?'} MB")
    whole = run(["du", "-smx", str(system.root)]).stdout.split()
    print(f"       the system: {whole[0]} MB")
    return good


def is_free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    is_whole = sys.argv[2:3] == ["whole"]
    suite = sys.argv[3] if is_whole and len(sys.argv) > 3 else None
    clean_system.need("git")
    taken = [port for port in PORTS if not is_free(port)]
    if taken:
        skip(f"a program holds port {taken[0]}, which README's first command wants")
    if not is_whole and not (folder / "bloomwall").is_file():
        skip(f"{folder} holds no programs")
    kept = folder / "-".join(["bare-archives", *([suite] if suite else [])])
    (kept / "partial").mkdir(parents=True, exist_ok=True)
    good, tree = True, working_tree()
    archive = clean_system.base_system(folder, ["git"], suite=suite)
    for user in ("root", USER):
        with tempfile.TemporaryDirectory(dir=folder, prefix="bare-") as place:
            system = System(archive, pathlib.Path(place), user, kept, tree, folder)
            good = (check_whole(system) if is_whole else check_quick(system)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
