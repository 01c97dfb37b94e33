#!/usr/bin/env python3
"""What package_test.py does inside the system that it boots, with the packages in /packages (old and new) and the tests of the packages in
/package-tests. As root; nothing but this runs there.

Usage: package_steps.py RESULTS. One JSON object a step, as system_steps.py says.
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import pwd
import re
import shutil
import socket

from system_steps import NAMES, PROXY, STEPS, get, install, journal, more, must, run, run_steps, serve_origin, slow_download, step, wait_for

ETC = pathlib.Path("/etc/bloomwall")


def serves():
    return get("blocked.example.test").startswith("HTTP/1.1 403")


def main_pid():
    return must("systemctl", "show", "-P", "MainPID", "bloomwall").strip()


def invocation():
    """Another one after each start of the unit."""
    return must("systemctl", "show", "-P", "InvocationID", "bloomwall").strip()


@step
def installed_while_the_port_is_taken_it_names_the_holder():
    with socket.create_server(PROXY):
        install("old")
        held = "127.0.0.1:3128 is held by python3"
        wait_for("the journal names the holder", lambda: held in journal())
    wait_for("it serves once the port is free", serves)
    must("dpkg", "--purge", *NAMES)


@step
def installed_it_serves_at_once():
    output = install("old")
    assert "warning" not in output.lower() and "error" not in output.lower(), output
    assert "bloomwall: serves on 127.0.0.1:3128; try: curl" in output and "bloomwall doctor" in output, output
    wait_for("it serves", serves)
    assert " serves" in run("bloomwall", "doctor")[1]
    assert must("systemctl", "is-enabled", "bloomwall.service").strip() == "enabled"
    assert run("systemctl", "is-enabled", "bloomwall.socket")[1].strip() == "disabled"
    for unit in ("bloomwall-update.timer", "bloomwall-update.path"):
        assert must("systemctl", "is-enabled", unit).strip() == "enabled" and must("systemctl", "is-active", unit).strip() == "active"
    user = pwd.getpwnam("bloomwall")
    assert pathlib.Path(f"/proc/{main_pid()}").stat().st_uid == user.pw_uid
    assert must("dpkg", "--verify", *NAMES) == ""


for test in sorted(path for path in pathlib.Path("/package-tests").iterdir() if path.stat().st_mode & 0o111):
    def of_the_package(script=str(test)):
        print(must(script))
    of_the_package.__name__ = f"the_packages_own_test_{test.name}"
    STEPS.append(of_the_package)


@step
def the_helper_and_the_pages_are_there():
    assert run("/usr/lib/bloomwall/negotiate-helper", "--help")[0] in (0, 2)
    for page in ("man8/bloomwall.8", "man1/bloomwall-filter.1", "man5/bloomwall.yaml.5", "man5/bloomwall-lists.5", "man7/bloomwall-api.7"):
        assert pathlib.Path(f"/usr/share/man/{page}.gz").is_file(), page
    must("bash", "-c", "source /usr/share/bash-completion/completions/bloomwall && complete -p bloomwall")


@step
def an_upgrade_keeps_what_was_changed_and_asks_nothing():
    changed = (ETC / "bloomwall.yaml").read_text() + "headers: {via_name: mine}\n"
    (ETC / "bloomwall.yaml").write_text(changed)
    (ETC / "conf.d/own.yaml").write_text("dns: {hosts: {own.test: 127.0.0.1}}\naccess: {deny_destinations: []}\n")
    (ETC / "allow.txt").unlink()
    (ETC / "allow.txt").write_text("pages.example.test\n")
    must("systemctl", "restart", "bloomwall")
    before = main_pid()
    must("bloomwall", "allow", "kept.example.test", "--why", "over an upgrade", "--for", "1h")
    serve_origin()
    answer = slow_download("own.test")
    install("new")
    assert main_pid() != before and serves(), "the new one serves when dpkg is done"
    assert must("systemctl", "show", "-P", "ActiveState", "bloomwall").strip() == "active"
    more.set()
    assert answer.read() == b"whole", "a download over the upgrade"
    wait_for("the old process has ended", lambda: not pathlib.Path(f"/proc/{before}").exists())
    assert main_pid() not in ("0", before)
    assert (ETC / "bloomwall.yaml").read_text() == changed
    assert (ETC / "conf.d/own.yaml").is_file() and (ETC / "allow.txt").read_text() == "pages.example.test\n"
    assert "kept.example.test" in must("bloomwall", "exceptions")
    assert "0.1.0+next" in must("dpkg-query", "-W", "-f", "${Version}", "bloomwall")
    assert not list(ETC.rglob("*.dpkg-*")), list(ETC.rglob("*.dpkg-*"))


@step
def an_upgrade_to_what_is_refused_leaves_the_old_one_serving():
    broken, before = ETC / "conf.d/broken.yaml", main_pid()
    broken.write_text("nonsense: 1\n")
    said = install("new")
    assert "nonsense" in said and "the version before serves on" in said, said
    assert main_pid() == before and serves()
    broken.unlink()
    must("bloomwall", "upgrade")
    assert main_pid() != before and serves()


@step
def a_policy_that_forbids_restarts_is_kept():
    policy, before = pathlib.Path("/usr/sbin/policy-rc.d"), main_pid()
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    assert "policy-rc.d forbids it" in install("new")
    policy.unlink()
    assert main_pid() == before and serves()


@step
def configured_once_more_it_is_not_restarted():
    before, start = main_pid(), invocation()
    must("/var/lib/dpkg/info/bloomwall.postinst", "configure", must("dpkg-query", "-W", "-f", "${Version}", "bloomwall"))
    assert main_pid() != before and invocation() == start and serves()


@step
def another_unit_is_in_force_at_once():
    unit = pathlib.Path("/lib/systemd/system/bloomwall.service")
    unit.write_text(unit.read_text().replace("LimitNOFILE=131072", "LimitNOFILE=4096"))
    must("systemctl", "daemon-reload")
    must("systemctl", "restart", "bloomwall")
    start = invocation()
    install("new")
    wait_for("it was restarted", lambda: invocation() != start and serves())
    limit = re.search(r"^Max open files +\d+ +(\d+)", pathlib.Path(f"/proc/{main_pid()}/limits").read_text(), re.M)[1]
    assert int(limit) > 4096, limit  # as many as this machine allows


@step
def with_the_socket_unit_systemd_keeps_the_socket():
    must("systemctl", "stop", "bloomwall.service")
    must("systemctl", "enable", "--now", "bloomwall.socket")
    assert serves()
    before = main_pid()
    install("new")
    assert main_pid() != before and serves()
    assert must("systemctl", "is-active", "bloomwall.socket").strip() == "active"
    must("systemctl", "stop", "bloomwall.service")
    assert serves(), "the socket starts it"
    must("systemctl", "disable", "--now", "bloomwall.socket")
    must("systemctl", "restart", "bloomwall.service")


@step
def a_part_of_the_configuration_that_was_removed_stays_so():
    (ETC / "conf.d/sample.yaml").unlink()
    install("new")
    assert not (ETC / "conf.d/sample.yaml").exists()
    must("systemctl", "reload", "bloomwall")
    assert get("blocked.example.test").startswith("HTTP/1.1 502"), get("blocked.example.test")


@step
def a_wish_for_an_update_is_done_or_dropped():
    broken, wish = ETC / "conf.d/broken.yaml", pathlib.Path("/var/lib/bloomwall/lists/wish.json")
    must("install", "-d", "-o", "bloomwall", "-g", "bloomwall", str(wish.parent))
    for text in ("nonsense: [", "{}"):
        broken.write_text(text)
        wish.write_text("{}")
        wait_for("the wish is gone", lambda: not wish.exists())
        assert must("systemctl", "is-active", "bloomwall-update.path").strip() == "active"
    broken.unlink()


@step
def removed_it_stops_and_keeps_what_is_the_users():
    must("systemctl", "stop", "bloomwall.service")
    must("systemctl", "start", "bloomwall.socket")
    assert get("blocked.example.test").startswith("HTTP/1.1 502"), "the socket starts it"
    must("dpkg", "--remove", *NAMES)
    assert get("blocked.example.test") == ""
    assert (ETC / "bloomwall.yaml").is_file() and pathlib.Path("/var/lib/bloomwall/state.db").is_file()
    install("new")
    wait_for("it answers again", lambda: get("blocked.example.test").startswith("HTTP/1.1 502"))
    assert "kept.example.test" in must("bloomwall", "exceptions")


@step
def purged_it_leaves_nothing_but_its_user():
    must("bloomwall", "ca", "init", "--out", "/etc/bloomwall")
    logs = pathlib.Path("/var/log/bloomwall")
    must("mount", "-t", "tmpfs", "tmpfs", str(logs))
    (logs / "access.log").write_text("a line\n")
    must("dpkg", "--purge", *NAMES)
    assert list(logs.iterdir()) == []
    must("umount", str(logs))
    shutil.rmtree(logs)
    pwd.getpwnam("bloomwall")
    found = must("find", "/", "-xdev", "-name", "*bloomwall*", "-not", "-path", "/packages/*", "-not", "-path", "/package-tests/*",
                 "-not", "-path", "/proc/*", "-not", "-path", "/sys/*")
    assert found == "", found
    must("systemctl", "daemon-reload")  # which debhelper of Debian 13 does not do after links to units are gone
    left = must("systemctl", "list-units", "--all", "--no-legend", "--plain", "bloomwall*")
    assert "bloomwall" not in left, left


@step
def installed_again_it_serves():
    install("new")
    wait_for("it serves", serves)
    assert "kept.example.test" not in must("bloomwall", "exceptions")


@step
def purged_it_leaves_what_a_link_leads_to():
    state, elsewhere = pathlib.Path("/var/lib/bloomwall"), pathlib.Path("/srv/state")
    must("dpkg", "--remove", *NAMES)
    shutil.move(state, elsewhere)
    state.symlink_to(elsewhere)
    must("dpkg", "--purge", *NAMES)
    assert not state.is_symlink() and (elsewhere / "state.db").is_file()


run_steps()
