"""A clean Debian to install into, for tests: made once by mmdebstrap and kept, booted by systemd-nspawn without a network. What happens
inside is a script of steps (service_steps.py, package_steps.py, day_steps.py), with what system_steps.py has for all of them. Where a
test cannot run it ends with exit status 77 (skipped) and says why.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BASE = ["systemd", "systemd-sysv", "dbus", "logrotate", "python3"]
BOOT_SECONDS = 600  # all steps on a machine with much else to do

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


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def need(*tools):
    """Ends the test where it cannot run."""
    if os.geteuid() != 0:
        skip("only root can boot a system")
    absent = [tool for tool in ("mmdebstrap", "systemd-nspawn", "dpkg", *tools) if not shutil.which(tool)]
    if absent:
        skip(f"absent: {', '.join(absent)}")
    if platform.freedesktop_os_release().get("ID") != "debian":
        skip("the programs were not built on Debian, whose packages the system is made of")


def base_system(folder, names, variant="minbase", suite=None):
    """An archive of a clean system, of this machine's release of Debian unless said otherwise; made once for each set of packages."""
    suite = suite or platform.freedesktop_os_release()["VERSION_CODENAME"]
    names = sorted(set(names))
    name = hashlib.sha256(" ".join([suite, variant, *names]).encode()).hexdigest()[:16]
    archive = folder / f"service-root-{name}.tar"
    if archive.is_file():
        return archive
    unfinished = archive.with_suffix(f".{os.getpid()}.tar")
    done = run(["mmdebstrap", "--quiet", f"--variant={variant}", f"--include={','.join(names)}", suite, str(unfinished)], timeout=1500)
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        skip(f"the packages of a clean system cannot be fetched: {done.stderr[-2000:]}")
    unfinished.rename(archive)
    return archive


def unpack(archive, root):
    root.mkdir()
    done = run(["tar", "-xf", str(archive), "-C", str(root)], timeout=100)
    assert done.returncode == 0, done.stderr


def add_steps(root, steps, *modules):
    """The script that is run once the system is up, and what it imports."""
    shutil.copy(steps, root / "steps.py")
    for module in (HERE / "system_steps.py", *modules):
        shutil.copy(module, root)
    units = root / "etc/systemd/system"
    (units / "steps.service").write_text(UNIT)
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "steps.service").symlink_to("/etc/systemd/system/steps.service")


def boot(root):
    nspawn = ["systemd-nspawn", "--quiet", "-D", str(root), "--private-network", "--register=no", "--keep-unit"]
    tried = run([*nspawn, "true"], timeout=60)
    if tried.returncode != 0:
        skip(f"systemd-nspawn cannot run here: {tried.stderr.strip()}")
    try:
        run([*nspawn, "-b"], timeout=BOOT_SECONDS)
    except subprocess.TimeoutExpired:
        print(f"the system was not done within {BOOT_SECONDS} s")


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


def test(folder, names, fill):
    """Boots a system with these packages of Debian, kept in `folder`, into which fill(root) puts what is tested and its steps. The exit
    status."""
    archive = base_system(folder, [*BASE, *names])
    with tempfile.TemporaryDirectory(dir=folder, prefix="root-") as place:
        root = pathlib.Path(place) / "root"
        unpack(archive, root)
        fill(root)
        boot(root)
        return 0 if judge(root) else 1
