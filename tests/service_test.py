#!/usr/bin/env python3
"""The service as it ships, on a clean Debian whose first process is systemd: installed by `cmake --install` into a root of its own,
booted by systemd-nspawn without a network, and put through tests/service_steps.py, which says what came out of each step.

Usage: service_test.py BUILD_DIRECTORY. The root's packages are fetched once and kept there (a minute); each run takes some 20 s.
Exit status 77 (skipped, and why) where it cannot run.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
STEPS = pathlib.Path(__file__).resolve().parent / "service_steps.py"
BASE = ["systemd", "systemd-sysv", "dbus", "logrotate", "python3"]
BOOT_SECONDS = 240  # all steps on a machine with much else to do

UNIT = """[Unit]
Description=The steps of the test
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 /steps.py /results
ExecStopPost=/usr/bin/systemctl poweroff --no-block
StandardOutput=file:/output
StandardError=inherit
[Install]
WantedBy=multi-user.target
"""


def run(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **more)


def cannot_run():
    """Why the test must be skipped; None where it can run."""
    programs = [BUILD / "bloomwall", BUILD / "bloomwall-filter"]
    if not all(program.is_file() for program in programs):
        return "the programs are not built"
    if "BLOOMWALL_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
        return "programs with sanitizers map memory as the sandbox of the unit forbids"
    if os.geteuid() != 0:
        return "only root can boot a system"
    absent = [tool for tool in ("mmdebstrap", "systemd-nspawn", "cmake", "dpkg") if not shutil.which(tool)]
    if absent:
        return f"absent: {', '.join(absent)}"
    if platform.freedesktop_os_release().get("ID") != "debian":
        return "the programs were not built on Debian, whose packages the system is made of"
    return None


def packages():
    """What the programs are linked to, and what the steps need."""
    libraries = set()
    for program in ("bloomwall", "bloomwall-filter"):
        libraries.update(re.findall(r"=> (/\S+)", run(["ldd", str(BUILD / program)]).stdout))
    found = set(BASE)
    for library in libraries:
        # Debian's lists name files below /usr or as they were before the merge of /lib into it.
        for path in (library, "/usr" + library, os.path.realpath(library)):
            owner = run(["dpkg", "-S", path])
            if owner.returncode == 0:
                found.add(owner.stdout.split(":")[0])
                break
    return sorted(found)


def base_system(names):
    """An archive of a clean system, made once for each set of packages. None where there is no network."""
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    name = hashlib.sha256(" ".join([suite, *names]).encode()).hexdigest()[:16]
    archive = BUILD / f"service-root-{name}.tar"
    if archive.is_file():
        return archive
    unfinished = archive.with_suffix(f".{os.getpid()}.tar")
    done = run(["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(names)}", suite, str(unfinished)], timeout=500)
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        print(done.stderr[-2000:])
        return None
    unfinished.rename(archive)
    return archive


def install(root):
    done = run(["cmake", "--install", str(BUILD), "--prefix", "/usr"], env={"DESTDIR": str(root), "PATH": os.environ["PATH"]}, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.copy(STEPS, root / "steps.py")
    units = root / "etc/systemd/system"
    (units / "steps.service").write_text(UNIT)
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "steps.service").symlink_to("/etc/systemd/system/steps.service")


def boot(root):
    nspawn = ["systemd-nspawn", "--quiet", "-D", str(root), "--private-network", "--register=no", "--keep-unit"]
    tried = run([*nspawn, "true"], timeout=60)
    if tried.returncode != 0:
        print(f"skipped: systemd-nspawn cannot run here: {tried.stderr.strip()}")
        return False
    try:
        run([*nspawn, "-b"], timeout=BOOT_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the system was not done within {BOOT_SECONDS} s")
    return True


def judge(root):
    """Every step must have ended well, the last one included."""
    results = root / "results"
    lines = [json.loads(line) for line in results.read_text().splitlines()] if results.is_file() else []
    failed = 0
    for line in lines:
        print(f"{'ok    ' if line['ok'] else 'FAILED'} {line['seconds']:5.1f} s  {line['step']}")
        if not line["ok"]:
            failed += 1
            print(line["detail"])
    whole = bool(lines) and lines[-1]["step"] == "the end"
    if not whole:
        output = root / "output"
        print("the steps did not come to their end\n" + (output.read_text()[-4000:] if output.is_file() else "nothing was booted"))
    return whole and failed == 0


def main():
    if why := cannot_run():
        print(f"skipped: {why}")
        return 77
    archive = base_system(packages())
    if archive is None:
        print("skipped: the packages of a clean system cannot be fetched")
        return 77
    with tempfile.TemporaryDirectory(dir=BUILD, prefix="service-root-") as folder:
        root = pathlib.Path(folder) / "root"
        root.mkdir()
        unpacked = run(["tar", "-xf", str(archive), "-C", str(root)], timeout=100)
        assert unpacked.returncode == 0, unpacked.stderr
        install(root)
        if not boot(root):
            return 77
        return 0 if judge(root) else 1


if __name__ == "__main__":
    sys.exit(main())
