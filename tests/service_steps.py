#!/usr/bin/env python3
"""What service_test.py does inside the system that it boots. As root; nothing but this runs there.

Usage: service_steps.py RESULTS. One JSON object a step, as system_steps.py says.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import time

import system_steps
from system_steps import PROXY, journal, more, must, run, run_steps, serve_origin, slow_download, state, step, wait_for

CONFIG = pathlib.Path("/etc/bloomwall/bloomwall.yaml")
FILTERS = pathlib.Path("/var/lib/bloomwall")
LISTS = pathlib.Path("/root/lists")
DROP_IN = pathlib.Path("/run/systemd/system/bloomwall.service.d/test.conf")


# ---- the system

def said(text, since):
    run("journalctl", "--sync")
    return text in journal(since)


def systemctl(*arguments):
    return run("systemctl", *arguments)


# ---- the proxy

def build(name, *entries, umask=0o022):
    LISTS.mkdir(exist_ok=True)
    (LISTS / f"{name}.txt").write_text("".join(f"{entry}\n" for entry in entries))
    return must("bloomwall-filter", "build", "-q", "-o", f"{FILTERS}/{name}.bwf", f"{LISTS}/{name}.txt", umask=umask)


def configure(text="", drain="1s"):
    CONFIG.write_text("filters: [{name: ads, file: /var/lib/bloomwall/ads.bwf}]\n"
                      "access: {deny_destinations: []}\n"
                      "dns: {hosts: {" + ", ".join(f"{host}: 127.0.0.1" for host in ("good.test", "ads.test", "new.test")) + "}}\n"
                      f"timeouts: {{announce: 0, drain: {drain}}}\n" + text)


def get(host):
    """Status line of the origin's page under that name."""
    return system_steps.get(f"{host}:8080")


def passes(host):
    assert get(host).startswith("HTTP/1.1 200"), f"{host}: {get(host)!r}\n{journal()}"


def is_blocked(host):
    assert get(host).startswith("HTTP/1.1 403"), f"{host}: {get(host)!r}\n{journal()}"


def drop_in(text):
    """Settings of the unit for one step; empty: as it ships."""
    if text:
        DROP_IN.parent.mkdir(parents=True, exist_ok=True)
        DROP_IN.write_text(text)
    else:
        DROP_IN.unlink(missing_ok=True)
    must("systemctl", "daemon-reload")


QUICK = "[Service]\nRestartSec=50ms\n"  # the number of attempts stays the unit's own


def afresh():
    """The service runs with a filter of ads.test, as after an installation."""
    systemctl("stop", "bloomwall.socket", "bloomwall.service")
    drop_in("")
    systemctl("reset-failed", "bloomwall.socket", "bloomwall.service")
    configure()
    build("ads", "ads.test")
    must("systemctl", "start", "bloomwall")
    is_blocked("ads.test")


def forget_what_was_served():
    """Without it the service starts with the last good files, whatever has become of the filter."""
    shutil.rmtree(FILTERS / "last_good")


def fails_in_the_end(reason, since):
    """It was tried again, said why, and rests where monitors see it."""
    wait_for("the unit is failed", lambda: state()["ActiveState"] == "failed")
    now = state()
    assert int(now["NRestarts"]) >= 5, now
    assert "bloomwall.service" in must("systemctl", "--failed", "--no-legend", "--plain")
    assert said(reason, since), journal(since)
    pid = now["MainPID"]
    assert pid == "0", now


# ---- the steps

@step
def the_installation_has_made_user_and_folder():
    account = pwd.getpwnam("bloomwall")
    folder = FILTERS.stat()
    assert (folder.st_uid, folder.st_gid) == (account.pw_uid, account.pw_gid), folder
    assert folder.st_mode & 0o7777 == 0o2750, oct(folder.st_mode)


@step
def a_filter_that_root_built_is_served():
    configure()
    build("ads", "ads.test", umask=0o027)
    must("systemctl", "start", "bloomwall")
    assert state()["ActiveState"] == "active"
    uid = pathlib.Path(f"/proc/{state()['MainPID']}").stat().st_uid
    assert uid == pwd.getpwnam("bloomwall").pw_uid, uid
    is_blocked("ads.test")
    passes("good.test")
    assert FILTERS.stat().st_mode & 0o7777 == 0o2750, "the service manager changed the folder"


@step
def every_rebuild_is_served_after_a_reload():
    afresh()
    for umask in (0o022, 0o027):
        for entries in (("ads.test", "new.test"), ("ads.test",)):
            build("ads", *entries, umask=umask)
            must("systemctl", "reload", "bloomwall")
            is_blocked("ads.test")
            (is_blocked if "new.test" in entries else passes)("new.test")


@step
def a_rebuild_is_served_after_a_restart():
    afresh()
    build("ads", "new.test", umask=0o027)
    must("systemctl", "restart", "bloomwall")
    is_blocked("new.test")
    passes("ads.test")


@step
def a_refused_reload_fails_and_says_why():
    afresh()
    for spoil, reason in [(lambda: CONFIG.write_text("filtres: []\n"), "unknown key"),
                          (lambda: (FILTERS / "ads.bwf").chmod(0), "Permission denied"),
                          (lambda: (FILTERS / "ads.bwf").unlink(), "No such file")]:
        since = time.time()
        spoil()
        status, _ = systemctl("reload", "bloomwall")
        assert status != 0, "a refused reload must not look like one that went well"
        wait_for(f"the journal says {reason}", lambda: said(reason, since))
        assert state()["ActiveState"] == "active", state()
        is_blocked("ads.test")
        configure()
        build("ads", "ads.test")
        (FILTERS / "ads.bwf").chmod(0o640)
    must("systemctl", "reload", "bloomwall")
    (FILTERS / "ads.bwf").unlink()
    systemctl("kill", "--signal=HUP", "--kill-whom=main", "bloomwall")
    wait_for("systemctl status says so", lambda: "the last reload was refused: " in state()["StatusText"])
    assert "ads.bwf" in state()["StatusText"], state()


@step
def check_says_what_the_service_cannot_read():
    afresh()
    _, output = run("bloomwall", "check")
    assert "bloomwall cannot read" not in output, output
    (FILTERS / "ads.bwf").chmod(0o600)
    os.chown(FILTERS / "ads.bwf", 0, 0)
    status, output = run("bloomwall", "check")
    assert status == 0 and "ads.bwf: the user bloomwall cannot read it: Permission denied" in output, output
    status, output = run("bloomwall", "check", "--as-user", "bloomwall")
    assert status == 1 and "ads.bwf: the user bloomwall cannot read it: Permission denied" in output, output
    (FILTERS / "ads.bwf").unlink()


@step
def a_missing_filter_is_no_endless_loop():
    afresh()
    systemctl("stop", "bloomwall")
    drop_in(QUICK)
    forget_what_was_served()
    (FILTERS / "ads.bwf").unlink()
    since = time.time()
    status, _ = systemctl("start", "bloomwall")
    assert status != 0
    fails_in_the_end("No such file", since)


@step
def a_missing_filter_that_was_served_is_served_again():
    afresh()
    systemctl("stop", "bloomwall")
    (FILTERS / "ads.bwf").unlink()
    since = time.time()
    must("systemctl", "start", "bloomwall")
    is_blocked("ads.test")
    assert "last good files" in state()["StatusText"], state()
    assert said("No such file", since), journal(since)


@step
def an_unreadable_filter_is_no_endless_loop():
    afresh()
    systemctl("stop", "bloomwall")
    drop_in(QUICK)
    forget_what_was_served()
    (FILTERS / "ads.bwf").chmod(0)
    since = time.time()
    systemctl("start", "bloomwall")
    fails_in_the_end("Permission denied", since)
    (FILTERS / "ads.bwf").chmod(0o640)


@step
def a_missing_filter_that_appears_is_served():
    afresh()
    systemctl("stop", "bloomwall")
    drop_in("[Service]\nRestartSec=1s\n")
    forget_what_was_served()
    (FILTERS / "ads.bwf").unlink()
    systemctl("start", "bloomwall")
    build("ads", "ads.test")
    wait_for("it serves", lambda: get("ads.test").startswith("HTTP/1.1 403"))


@step
def a_port_that_is_taken_is_no_endless_loop():
    afresh()
    systemctl("stop", "bloomwall")
    drop_in(QUICK)
    since = time.time()
    with socket.create_server(PROXY):
        systemctl("start", "bloomwall")
        fails_in_the_end("Address already in use", since)
        wait_for("the journal names the holder", lambda: said(f"127.0.0.1:3128 is held by python3 (process {os.getpid()})", since))
    systemctl("reset-failed", "bloomwall")
    must("systemctl", "start", "bloomwall")
    is_blocked("ads.test")


@step
def a_wrong_configuration_is_not_tried_again():
    afresh()
    systemctl("stop", "bloomwall")
    CONFIG.write_text("workers: many\n")
    since = time.time()
    status, _ = systemctl("start", "bloomwall")
    now = state()
    assert status != 0 and now["ActiveState"] == "failed" and now["ExecMainStatus"] == "78" and now["NRestarts"] == "0", now
    assert said("workers", since), journal(since)


@step
def a_killed_process_is_started_again():
    afresh()
    pid = int(state()["MainPID"])
    os.kill(pid, signal.SIGKILL)
    wait_for("another process serves", lambda: state()["MainPID"] not in ("0", str(pid)) and get("ads.test").startswith("HTTP/1.1 403"))


@step
def a_process_that_hangs_is_started_again():
    afresh()
    drop_in("[Service]\nWatchdogSec=2s\nRestartSec=50ms\nTimeoutAbortSec=5s\nLimitCORE=0\n")
    must("systemctl", "restart", "bloomwall")
    pid = int(state()["MainPID"])
    os.kill(pid, signal.SIGSTOP)
    wait_for("another process serves", lambda: state()["MainPID"] not in ("0", str(pid)) and state()["ActiveState"] == "active")
    is_blocked("ads.test")
    assert said("watchdog", None) or said("Watchdog", None), journal()


@step
def a_client_of_the_socket_starts_the_service_and_outwaits_a_restart():
    afresh()
    systemctl("stop", "bloomwall")
    must("systemctl", "start", "bloomwall.socket")
    assert state()["ActiveState"] == "inactive", state()
    is_blocked("ads.test")  # the socket answers at once, systemd hears of it a moment later
    wait_for("an active service", lambda: state()["ActiveState"] == "active")
    restart = subprocess.Popen(["systemctl", "restart", "bloomwall"], stdin=subprocess.DEVNULL)
    asked = 0
    while restart.poll() is None or asked < 3:
        is_blocked("ads.test")
        asked += 1
    assert restart.returncode == 0
    systemctl("stop", "bloomwall.socket", "bloomwall.service")


@step
def logrotate_loses_no_line():
    afresh()
    log = pathlib.Path("/var/log/bloomwall/access.log")
    configure(f"log: {{access: {{file: {log}}}}}\n")
    must("systemctl", "restart", "bloomwall")
    is_blocked("ads.test")
    wait_for("the first line", lambda: log.is_file() and "ads.test" in log.read_text())
    must("logrotate", "--force", "/etc/logrotate.d/bloomwall")
    old = log.with_name("access.log.1")
    wait_for("the log is opened anew", log.is_file)
    passes("good.test")
    wait_for("the second line", lambda: "good.test" in log.read_text())
    assert "ads.test" in old.read_text() and "good.test" not in old.read_text()
    assert must("systemctl", "start", "logrotate") == ""


@step
def keys_of_the_group_are_read():
    afresh()
    secret = pathlib.Path("/etc/bloomwall/parent-password")
    secret.write_text("user:password\n")
    os.chown(secret, 0, pwd.getpwnam("bloomwall").pw_gid)
    secret.chmod(0o640)
    configure(f"upstream: {{parent: 127.0.0.1:8080, tls: true, credentials_file: {secret}}}\n")
    must("systemctl", "restart", "bloomwall")
    secret.chmod(0o600)
    status, _ = systemctl("reload", "bloomwall")
    assert status != 0, "the service cannot read what is root's alone"


@step
def free_memory_is_known():
    """What `memory: auto` asks must be there in the sandbox."""
    afresh()
    pid = state()["MainPID"]
    assert "MemAvailable" in must("nsenter", "-t", pid, "-m", "cat", "/proc/meminfo")


@step
def lists_are_fetched_built_and_served():
    """Before the first start, by the unit, on demand, and by root: what is made belongs to the service."""
    own, folder, made = pathlib.Path("/etc/bloomwall/own.txt"), pathlib.Path("/etc/bloomwall/conf.d"), FILTERS / "own.bwf"
    afresh()
    build("ads", "other.test")
    configure("include: [conf.d/*.yaml]\n")
    folder.mkdir(exist_ok=True)
    (folder / "own.yaml").write_text(f"filters: [{{name: own, file: {made}, sources: [{{url: {own}}}]}}]\n")
    try:
        own.write_text("ads.test\n")
        must("systemctl", "restart", "bloomwall")
        is_blocked("ads.test")
        own.write_text("ads.test\nnew.test\n")
        must("systemctl", "start", "bloomwall-update.service")
        is_blocked("new.test")
        must("systemctl", "start", "bloomwall-update.path")
        own.write_text("ads.test\n")
        with socket.socket(socket.AF_UNIX) as control:
            control.connect("/run/bloomwall/control.sock")
            control.sendall(b"POST /api/v1/update HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            assert b" 202 " in control.recv(4096).split(b"\r\n")[0]
        wait_for("it is updated", lambda: get("new.test").startswith("HTTP/1.1 200"))
        own.write_text("ads.test\nnew.test\n")
        must("bloomwall", "update", "own")
        is_blocked("new.test")
        for path in (made, FILTERS / "lists", FILTERS / "lists/lists.json"):
            assert path.owner() == "bloomwall", path
    finally:
        systemctl("stop", "bloomwall-update.path")
        (folder / "own.yaml").unlink()


@step
def an_upgrade_moves_the_main_process_and_cuts_nothing():
    afresh()
    configure(drain="20s")
    must("systemctl", "restart", "bloomwall")
    more.clear()
    old, answer = state()["MainPID"], slow_download("good.test")
    said = must("bloomwall", "upgrade")
    new = state()["MainPID"]
    assert new != old and f"process {new} serves" in said, (old, new, said)
    assert state()["ActiveState"] == "active" and "active (running)" in must("systemctl", "status", "bloomwall")
    is_blocked("ads.test")
    build("ads", "ads.test", "new.test")
    must("systemctl", "reload", "bloomwall")
    is_blocked("new.test")
    more.set()
    assert answer.read() == b"whole"
    wait_for("the old process has ended", lambda: not pathlib.Path(f"/proc/{old}").exists())
    assert state()["MainPID"] == new and state()["NRestarts"] == "0", state()
    assert "not permitted" not in journal() and "reception only permitted" not in journal(), journal()
    must("bloomwall", "upgrade")
    newest = state()["MainPID"]
    assert newest not in (old, new), newest
    os.kill(int(newest), signal.SIGKILL)
    wait_for("systemd starts another one", lambda: state()["MainPID"] not in ("0", newest) and get("ads.test").startswith("HTTP/1.1 403"))


@step
def an_upgrade_that_fails_changes_nothing():
    afresh()
    old = state()["MainPID"]
    (FILTERS / "ads.bwf").unlink()
    status, said = run("bloomwall", "upgrade")
    assert status == 1 and "ads.bwf" in said, said
    assert state()["MainPID"] == old and state()["ActiveState"] == "active", state()
    is_blocked("ads.test")


@step
def a_service_that_is_upgraded_stops_with_all_its_processes():
    afresh()
    more.clear()
    old, answer = state()["MainPID"], slow_download("good.test")
    must("bloomwall", "upgrade")
    must("systemctl", "stop", "bloomwall")
    more.set()
    answer.close()
    assert not pathlib.Path(f"/proc/{old}").exists()
    now = state()
    assert now["ActiveState"] == "inactive" and now["Result"] == "success", now


serve_origin()
@step
def a_process_that_took_over_is_not_killed():
    """systemd does not wait for a main process that was no child of its own when it heard of it."""
    afresh()
    configure(drain="20s")
    must("systemctl", "restart", "bloomwall")
    old = state()["MainPID"]
    must("bloomwall", "upgrade")
    wait_for("the old process has ended", lambda: not pathlib.Path(f"/proc/{old}").exists())
    more.clear()
    answer, since = slow_download("good.test"), time.time()
    must("systemctl", "stop", "--no-block", "bloomwall")
    wait_for("it drains", lambda: said("draining for at most", since))
    more.set()
    assert answer.read() == b"whole"
    wait_for("it is stopped", lambda: state()["ActiveState"] == "inactive")
    assert state()["Result"] == "success", state()


run_steps()
