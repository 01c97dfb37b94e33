#!/usr/bin/env python3
"""The container recipe without an engine for containers: the same system as container/Dockerfile makes, its commands run in a root of
mmdebstrap's, its program started as process 1 with that root read-only, as its user, without a network but loopback.

Usage: container_test.py FOLDER, which holds the packages. Exit status 77 (skipped, and why) where it cannot run.
SPDX-License-Identifier: Apache-2.0
"""
import fnmatch
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import clean_system
import debian_packages
from clean_system import run

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BOUND = 30
NSPAWN = ["systemd-nspawn", "--quiet", "--private-network", "--register=no", "--keep-unit"]
CLIENT = """
import socket, sys
with socket.create_connection(("127.0.0.1", 3128), timeout=20) as client:
    client.sendall(b"GET http://blocked.example.test/ HTTP/1.1\\r\\nHost: blocked.example.test\\r\\n\\r\\n")
    print(client.recv(100).split(b"\\r\\n")[0].decode())
"""


def recipe():
    """The instructions of the Dockerfile: [(word, rest)]."""
    text = re.sub(r"^#.*\n", "", (SOURCE / "container/Dockerfile").read_text(), flags=re.M).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def value_of(word):
    values = [rest for name, rest in recipe() if name == word]
    assert len(values) == 1, f"{word}: {values}"
    return values[0]


def make_root(root, packages):
    """Runs RUN and COPY, with the packages that apt would fetch already there."""
    (root / "packages").mkdir()
    for package in packages:
        shutil.copy(package, root / "packages")
    steps = [step.strip() for step in re.sub(r"--mount=\S+", "", value_of("RUN")).split("&&")]
    assert any(step.startswith("apt-get install") for step in steps), steps
    steps = ["dpkg -i /packages/*.deb" if step.startswith("apt-get install") else step for step in steps if step != "apt-get update"]
    done = run([*NSPAWN, "-D", str(root), "sh", "-ec", "\n".join(steps)], timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(root / "packages")
    source, target = value_of("COPY").split()
    shutil.copy(SOURCE / source, root / target.lstrip("/"))


def start(root, volume, log):
    user, group = value_of("USER").split(":")
    command = [*json.loads(value_of("ENTRYPOINT")), *json.loads(value_of("CMD"))]
    inside = f"ip link set lo up; exec setpriv --reuid {user} --regid {group} --clear-groups --no-new-privs " \
             f"--bounding-set=-all --inh-caps=-all {' '.join(command)}"
    return subprocess.Popen([*NSPAWN, "-D", str(root), "--read-only", f"--bind={volume}:{value_of('VOLUME')}", "sh", "-c", inside],
                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def process_inside(outer):
    """The proxy: the child of systemd-nspawn's child, which has become it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            parent = int(re.search(r"^PPid:\t(\d+)", status, re.M).group(1))
            if parent == outer and pathlib.Path(f"/proc/{pid}/comm").read_text() == "bloomwall\n":
                return int(pid)
        except (OSError, AttributeError):
            continue
    return None


def within(pid, *command, user=True):
    numbers = value_of("USER").split(":")
    become = ["setpriv", "--reuid", numbers[0], "--regid", numbers[1], "--clear-groups"] if user else []
    return run(["nsenter", "-t", str(pid), "-m", "-n", "-p", "-r", "-w", *become, *command], timeout=60)


def wait_for(what, condition, log):
    end = time.monotonic() + BOUND
    while time.monotonic() < end:
        if got := condition():
            return got
        time.sleep(0.05)
    raise AssertionError(f"not within {BOUND} s: {what}\n{log.read_text()}")


def check(root, folder):
    volume, log = folder / "volume", folder / "log"
    volume.mkdir()
    user, group = (int(number) for number in value_of("USER").split(":"))
    assert user != 0 and group != 0
    image = (root / value_of("VOLUME").lstrip("/")).stat()  # what an engine gives to a new volume
    assert (image.st_uid, image.st_gid) == (user, group), image
    os.chown(volume, image.st_uid, image.st_gid)
    with log.open("w") as output:
        outer = start(root, volume, output)
        try:
            pid = wait_for("the proxy runs", lambda: process_inside(outer.pid), log)
            health = json.loads(value_of("HEALTHCHECK").split("CMD", 1)[1])
            wait_for("it is healthy", lambda: within(pid, *health).returncode == 0, log)
            status = pathlib.Path(f"/proc/{pid}/status").read_text()
            assert re.search(rf"^Uid:\t{user}\t{user}", status, re.M) and re.search(r"^CapEff:\t0+$", status, re.M), status
            assert re.search(r"^NSpid:\t.*\t1$", status, re.M), status  # as engines start it
            asked = run(["nsenter", "-t", str(pid), "-n", sys.executable, "-c", CLIENT], timeout=60)
            assert asked.stdout.startswith("HTTP/1.1 403"), asked.stdout + asked.stderr
            assert within(pid, "touch", "/etc/bloomwall/x", user=False).returncode != 0, "the root can be written to"
            assert (volume / "state.db").is_file() and '"blocked.example.test' in log.read_text().replace("http://", ""), log.read_text()
            os.kill(pid, signal.SIGTERM)
            ended = wait_for("it stops", lambda: outer.poll() is not None and [outer.returncode], log)
            assert ended == [0], f"exit status {ended}\n{log.read_text()}"
            assert "draining" in log.read_text(), log.read_text()
        finally:
            if outer.poll() is None:
                outer.kill()
                outer.wait()


def main():
    packages_folder, packages = debian_packages.named_on_the_command_line()
    wanted = re.findall(r"/packages/(\S+\.deb)", value_of("RUN"))
    packages = [package for package in packages if any(fnmatch.fnmatch(package.name, pattern) for pattern in wanted)]
    assert len(packages) == len(wanted) >= 3, (packages, wanted)
    clean_system.need("nsenter")
    assert value_of("FROM").startswith("debian:12"), "the recipe's Debian is not the one that the packages are for"
    names = {"ca-certificates", "iproute2", "systemd-standalone-sysusers", *debian_packages.depends_of(packages)} - {"systemd"}
    archive = clean_system.base_system(packages_folder, names)
    with tempfile.TemporaryDirectory(dir=packages_folder, prefix="container-root-") as place:
        folder = pathlib.Path(place)
        root = folder / "root"
        clean_system.unpack(archive, root)
        make_root(root, packages)
        check(root, folder)
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
