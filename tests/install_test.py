#!/usr/bin/env python3
"""What `cmake --install` puts where: programs, units, logrotate rule and configuration, all naming each other's real paths.

Usage: install_test.py BUILD_DIRECTORY. Exit status 77 (skipped) where the programs are not built.
SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1])
SOURCE = pathlib.Path(__file__).resolve().parent.parent


def install(folder, prefix):
    done = subprocess.run(["cmake", "--install", str(BUILD), "--prefix", prefix], env={"DESTDIR": folder, "PATH": "/usr/bin:/bin"},
                          capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def check(prefix, etc):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        install(folder, prefix)
        wanted = [f"{prefix}/bin/bloomwall", f"{prefix}/bin/bloomwall-filter", f"{prefix}/lib/systemd/system/bloomwall.service",
                  f"{prefix}/lib/systemd/system/bloomwall.socket", f"{prefix}/lib/systemd/system/bloomwall-update.service",
                  f"{prefix}/lib/systemd/system/bloomwall-update.timer", f"{prefix}/lib/systemd/system/bloomwall-update.path",
                  f"{prefix}/share/bloomwall/catalogue.yaml", f"{prefix}/lib/sysusers.d/bloomwall.conf",
                  f"{prefix}/lib/tmpfiles.d/bloomwall.conf", f"{prefix}/share/doc/bloomwall/LICENSE",
                  f"{etc}/logrotate.d/bloomwall", f"{etc}/bloomwall/bloomwall.yaml",
                  f"{prefix}/share/doc/bloomwall/examples/bloomwall.yaml", f"{prefix}/share/doc/bloomwall/examples/blocked.html",
                  f"{prefix}/share/doc/bloomwall/examples/safe-search.txt",
                  *(f"{prefix}/share/doc/bloomwall/examples/monitoring/{file}"
                    for file in ("alerts.yaml", "metrics.md", "prometheus.yaml", "grafana/bloomwall.json", "grafana/dashboards.yaml")), f"{prefix}/share/bloomwall/never-decrypt.txt"]
        wanted += [f"{prefix}/include/bloomwall.h", f"{prefix}/lib/libbloomwall.so", f"{prefix}/lib/pkgconfig/bloomwall.pc",
                   f"{prefix}/lib/cmake/bloomwall/bloomwall-config.cmake"]
        if (BUILD / "docs/man").is_dir():  # written where scdoc is there
            wanted += [f"{prefix}/share/man/{page}" for page in ("man1/bloomwall-filter.1", "man5/bloomwall.yaml.5", "man5/bloomwall-lists.5", "man3/libbloomwall.3",
                                                                  "man7/bloomwall-api.7", "man8/bloomwall.8")]
            wanted += [f"{prefix}/share/{file}" for file in ("bash-completion/completions/bloomwall", "zsh/site-functions/_bloomwall",
                                                              "fish/vendor_completions.d/bloomwall.fish")]
        if (BUILD / "negotiate-helper").exists():  # built where there is GSSAPI
            wanted.append(f"{prefix}/lib/bloomwall/negotiate-helper")
        for path in wanted:
            assert (root / path[1:]).is_file(), f"{path} is missing"
        unit = (root / f"{prefix[1:]}/lib/systemd/system/bloomwall.service").read_text()
        assert f"ExecStart={prefix}/bin/bloomwall run --config {etc}/bloomwall/bloomwall.yaml\n" in unit, unit
        assert f"ExecStopPost=+-{prefix}/bin/bloomwall listeners --after-failure --config {etc}/bloomwall/bloomwall.yaml\n" in unit, unit
        assert f"ExecReload={prefix}/bin/bloomwall reload --config {etc}/bloomwall/bloomwall.yaml\n" in unit, unit

        update = (root / f"{prefix[1:]}/lib/systemd/system/bloomwall-update.service").read_text()
        assert f"ExecStart={prefix}/bin/bloomwall update --config {etc}/bloomwall/bloomwall.yaml\n" in update, update

        configuration = root / f"{etc[1:]}/bloomwall/bloomwall.yaml"
        assert f"never: [{prefix}/share/bloomwall/never-decrypt.txt]" in configuration.read_text()
        program = root / f"{prefix[1:]}/bin/bloomwall"
        checked = subprocess.run([program, "check", "--config", configuration], capture_output=True, text=True, timeout=60)
        assert checked.returncode == 0, checked.stderr
        configuration.write_text("workers: 3\n")
        install(folder, prefix)
        assert configuration.read_text() == "workers: 3\n", "a configuration that is there must stay"


# /etc as an installation leaves it, for this process alone, so that the commands need no option.
PRIVATE_ETC = """set -eu
mount -t tmpfs none "$1"
mkdir "$1/upper" "$1/work"
mount -t overlay -o lowerdir=/etc,upperdir="$1/upper",workdir="$1/work" overlay /etc || exit 77
rm -rf /etc/bloomwall; cp -a "$2" /etc/bloomwall; umask 022
grep -q '^bloomwall:' /etc/passwd || echo 'bloomwall:x:61999:61999::/nonexistent:/usr/sbin/nologin' >>/etc/passwd
grep -q '^bloomwall:' /etc/group || echo 'bloomwall:x:61999:' >>/etc/group
"$3" ca init >"$1/said" 2>"$1/warned"
cat "$1/warned" >&2
test ! -s "$1/warned"
test -f /etc/bloomwall/ca/ca.key; test -f /etc/bloomwall/ca/ca.crt
sed -i -e 's/^  mode: off$/  mode: blocked/' -e 's/^  never: .*/  never: []/' /etc/bloomwall/bloomwall.yaml
grep -q '^  mode: blocked$' /etc/bloomwall/bloomwall.yaml
"$3" check >&2
"$3" ca check >&2
"""


def check_authority():
    """`bloomwall ca init` as README has it, without --out: where the configuration looks, and nothing to warn of."""
    if os.geteuid() != 0:
        return
    with tempfile.TemporaryDirectory() as folder:
        install(folder, "/usr")
        place = pathlib.Path(folder) / "place"
        place.mkdir()
        done = subprocess.run(["unshare", "-m", "sh", "-c", PRIVATE_ETC, "sh", place, f"{folder}/etc/bloomwall", f"{folder}/usr/bin/bloomwall"],
                              capture_output=True, text=True, timeout=100)
        if done.returncode == 77:
            return print("ca init: no overlay can be mounted here")
        assert done.returncode == 0, done.stderr + done.stdout
        assert "everybody" not in done.stderr and "warning: tls_inspection" not in done.stderr, done.stderr


def main():
    if not (BUILD / "bloomwall").is_file() or not (BUILD / "bloomwall-filter").is_file():
        print("the programs are not built")
        return 77
    check("/usr", "/etc")
    check("/usr/local", "/etc")
    check("/opt/bloomwall", "/opt/bloomwall/etc")
    check_authority()
    return 0


sys.exit(main())
