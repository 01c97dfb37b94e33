"""A clean Debian to install into, for tests: made once by mmdebstrap and kept, booted by systemd-nspawn without a network. What happens
inside is a script of steps (service_steps.py, package_steps.py), which writes one JSON object a step: {"step", "ok", "seconds",
"detail"}; the last step is "the end".
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import os
import platform
import shutil
import subprocess

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


def cannot_run(tools=()):
    """Why a test must be skipped; None where it can run."""
    if os.geteuid() != 0:
        return "only root can boot a system"
    absent = [tool for tool in ("mmdebstrap", "systemd-nspawn", "dpkg", *tools) if not shutil.which(tool)]
    if absent:
        return f"absent: {', '.join(absent)}"
    if platform.freedesktop_os_release().get("ID") != "debian":
        return "the programs were not built on Debian, whose packages the system is made of"
    return None


def base_system(folder, names, variant="minbase"):
    """An archive of a clean system, made once for each set of packages. None where there is no network."""
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    name = hashlib.sha256(" ".join([suite, variant, *names]).encode()).hexdigest()[:16]
    archive = folder / f"service-root-{name}.tar"
    if archive.is_file():
        return archive
    unfinished = archive.with_suffix(f".{os.getpid()}.tar")
    done = run(["mmdebstrap", "--quiet", f"--variant={variant}", f"--include={','.join(names)}", suite, str(unfinished)], timeout=500)
    if done.returncode != 0:
        unfinished.unlink(missing_ok=True)
        print(done.stderr[-2000:])
        return None
    unfinished.rename(archive)
    return archive


def unpack(archive, root):
    root.mkdir()
    done = run(["tar", "-xf", str(archive), "-C", str(root)], timeout=100)
    assert done.returncode == 0, done.stderr


def add_steps(root, steps):
    """The script that is run once the system is up."""
    shutil.copy(steps, root / "steps.py")
    units = root / "etc/systemd/system"
    (units / "steps.service").write_text(UNIT)
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(exist_ok=True)
    (wanted / "steps.service").symlink_to("/etc/systemd/system/steps.service")


def boot(root):
    """False where systemd-nspawn cannot run here."""
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
