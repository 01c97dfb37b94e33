#!/usr/bin/env python3
"""The service is rated 2.0 or better and says what the daemon needs; systemd takes both units; logrotate takes the log rule.

Exit status 77 (skipped) where systemd-analyze is absent.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SYSTEMD = pathlib.Path(__file__).resolve().parent.parent / "systemd"
UNIT = SYSTEMD / "bloomwall.service"
UPDATE = SYSTEMD / "bloomwall-update.service"
WANTED = ["Type=notify", "ExecReload=/usr/bin/bloomwall reload --config /etc/bloomwall/bloomwall.yaml", "RestartPreventExitStatus=78",
          "ExecStop=-/bin/sh -c ", "LimitNOFILE=", "StateDirectory=bloomwall", "RuntimeDirectory=bloomwall", "NotifyAccess=",
          "ExecStartPre=-/usr/bin/timeout 50s /usr/bin/bloomwall update --missing --config /etc/bloomwall/bloomwall.yaml"]
UPDATE_WANTED = ["Type=oneshot", "ExecStart=/usr/bin/bloomwall update --config /etc/bloomwall/bloomwall.yaml", "Nice=19",
                 "IOSchedulingClass=idle", "CPUWeight=10", "MemoryMax=4G", "User=bloomwall", "StateDirectory=bloomwall", "SocketBindDeny=any"]


def exposure(unit):
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", str(unit)], capture_output=True, text=True,
                          timeout=60)
    found = re.search(r"Overall exposure level for bloomwall[-a-z]*\.service: ([0-9.]+)", done.stdout)
    assert found, done.stdout + done.stderr
    return float(found.group(1))


def check_restarts(unit):
    """Attempts end: so many of them fit into the interval, each taking as long as a start may."""
    number = {key: int(re.search(rf"^{key}=(\d+)", unit, re.M).group(1)) for key in
              ("StartLimitIntervalSec", "StartLimitBurst", "RestartSec", "TimeoutStartSec")}
    assert "StartLimitIntervalSec=45min\n" in unit
    before = int(re.search(r"^ExecStartPre=-/usr/bin/timeout (\d+)s ", unit, re.M).group(1))
    assert before < number["TimeoutStartSec"], "else systemd would end it, and the start with it"
    seconds = number["StartLimitBurst"] * (number["RestartSec"] + number["TimeoutStartSec"] + before)
    assert seconds <= 60 * number["StartLimitIntervalSec"], number


def check_logrotate():
    if not shutil.which("logrotate"):
        print("logrotate is absent: its rule was not tried")
        return
    with tempfile.TemporaryDirectory() as folder:
        rule = pathlib.Path(folder) / "rule"
        # The service's user need not be here.
        rule.write_text((SYSTEMD / "bloomwall.logrotate").read_text().replace("su bloomwall adm", ""))
        rule.chmod(0o644)
        done = subprocess.run(["logrotate", "--debug", "--state", f"{folder}/state", str(rule)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0 and "error:" not in done.stderr, done.stderr


def check_units():
    """systemd-analyze reads both as systemd would; the socket is where a listener of the shipped configuration is."""
    socket = (SYSTEMD / "bloomwall.socket").read_text()
    address = re.search(r"^ListenStream=(.*)$", socket, re.M).group(1)
    shipped = (SYSTEMD.parent / "conf" / "bloomwall.yaml").read_text()
    assert re.search(rf"^- address: {re.escape(address)}\s", shipped, re.M), address
    with tempfile.TemporaryDirectory() as folder:
        units = pathlib.Path(folder)
        (units / "bloomwall.socket").write_text(socket)
        # The program need not be installed here.
        (units / "bloomwall.service").write_text(UNIT.read_text().replace("/usr/bin/bloomwall ", f"{sys.executable} "))
        (units / UPDATE.name).write_text(UPDATE.read_text().replace("/usr/bin/bloomwall ", f"{sys.executable} "))
        for name in ("bloomwall-update.timer", "bloomwall-update.path"):
            shutil.copy(SYSTEMD / name, units)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *map(str, sorted(units.iterdir()))], capture_output=True, text=True,
                              timeout=60)
        ours = [line for line in done.stderr.splitlines() if "bloomwall" in line]
        assert not ours, done.stderr


def main():
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is absent")
        return 77
    unit = UNIT.read_text()
    for line in WANTED:
        assert line in unit, line
    check_restarts(unit)
    update = UPDATE.read_text()
    for line in UPDATE_WANTED:
        assert line in update, line
    for each in (UNIT, UPDATE):
        rating = exposure(each)
        print(f"{each.name}: exposure {rating}")
        assert rating <= 2.0, rating
    check_units()
    check_logrotate()
    return 0


sys.exit(main())
