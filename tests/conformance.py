#!/usr/bin/env python3
"""Runs a black-box conformance suite for forward proxies against the real programs, with every group it can ask for.

Usage: conformance.py BUILD_DIR [--only IDS] [--set public|all] [--json FILE] [--jobs N]
The suite is not part of this repository: it is looked for in BLOOMWALL_CONFORMANCE, else beside the source tree in
../shared/conformance. Exit status: 0 nothing failed, 1 something failed, 77 (skipped) where the suite is absent.
SPDX-License-Identifier: Apache-2.0
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from ports import free_ports

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITE = pathlib.Path(os.environ.get("BLOOMWALL_CONFORMANCE", ROOT.parent / "shared/conformance"))
LISTS = {"hosts.txt": "blocked.test\n", "urls.txt": "http://mixed.test/bad/\n"}
ALLOW = "allowed.blocked.test\n"
CREDENTIALS = "alice:secret"
# Sends random octets first through a tunnel. One time in fifty they begin as a TLS record does, and the tunnel is cut, as it must be.
RANDOM_OCTETS = "CON-014"
# What gives marks to the names that the cases of interception ask for, so that mode `urls` decrypts them.
MARKS = {"marks.txt": "http://ok.test/no-case-asks-this\nhttp://blocked.test/nor-this\n"}


def make_certificate(folder):
    """A certificate of the proxy's own, for the listener that speaks TLS."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                    "-subj", "/CN=proxy", "-addext", "subjectAltName=DNS:proxy",
                    "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], check=True, capture_output=True)


LISTENERS = """
- address: 127.0.0.1:0
- {address: 127.0.0.2:0, tls: {certificate: cert.pem, key: key.pem}}
- {address: 127.0.0.3:0, proxy_protocol: [127.0.0.0/8]}"""


def configuration(folder, denied_port, dns_port):
    return common_configuration(folder, LISTENERS, denied_port, dns_port, "access.log", "control.sock")


def intercepting_configuration(folder, mode, denied_port, dns_port):
    """Another proxy, which ends TLS itself and believes the suite's authority alone."""
    return common_configuration(folder, "\n- address: 127.0.0.4:0", denied_port, dns_port, f"{mode}.log", f"{mode}.sock") + f"""
tls_inspection:
  mode: {mode}
  never: []
  ca: {{certificate: {folder}/ca.crt, key: {folder}/ca.key}}
  verify: {{ca_file: {SUITE}/certs/origin-ca.pem}}
"""


def authenticating_configuration(folder, denied_port, dns_port):
    """A third one, where every client must log in."""
    return common_configuration(folder, "\n- address: 127.0.0.5:0", denied_port, dns_port, "auth.log", "auth.sock") + f"""
authentication: {{require: [0.0.0.0/0], users_file: {folder}/users}}
"""


def make_users(folder):
    name, password = CREDENTIALS.split(":")
    made = subprocess.run(["openssl", "passwd", "-6", password], check=True, capture_output=True, text=True)
    pathlib.Path(folder, "users").write_text(f"{name}:{made.stdout}")


def common_configuration(folder, listeners, denied_port, dns_port, log, control):
    # Every port but one: what the suite tests is that the list of ports is heeded.
    ports = ", ".join(str(p) for p in range(1, 65536) if p != denied_port)
    return f"""
listeners:{listeners}
workers: 2
filters: [{{name: suite, file: suite.bwf}}]
allow_lists: [allow.txt]
access:
  clients: [0.0.0.0/0]
  connect_ports: [{ports}]
  deny_destinations: [127.0.0.66]
dns: {{servers: ["127.0.0.1:{dns_port}"]}}
timeouts: {{request_header: 2s, announce: 0}}
log: {{access: {{file: {log}, format: json}}}}
admin: {{address: null, control_socket: {control}}}
state_dir: null
"""


class Running:
    """`bloomwall run`, and the ports it says it listens on, by address."""

    def __init__(self, build, configuration, listeners):
        self.process = subprocess.Popen([str(build / "bloomwall"), "run", "--config", configuration],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.ports, self.said = {}, []
        for line in self.process.stderr:
            self.said.append(line)
            found = re.search(r"(127\.0\.0\.\d):(\d+)", line)
            if found:
                self.ports[found[1]] = int(found[2])
            if len(self.ports) == listeners:
                break
        threading.Thread(target=lambda: self.said.extend(self.process.stderr), daemon=True).start()

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
        return self.process.returncode


def run_suite(args, folder, proxy, report, denied_port):
    done = subprocess.run(
        [sys.executable, str(SUITE / "run.py"), "--set", args.set, "--quiet", "--jobs", str(args.jobs), "--json", report,
         "--proxy", f"127.0.0.1:{proxy.ports['127.0.0.1']}", "--tls-proxy", f"127.0.0.2:{proxy.ports['127.0.0.2']}",
         "--pp-proxy", f"127.0.0.3:{proxy.ports['127.0.0.3']}", "--deny-ip", "--sni", "--denied-port", str(denied_port),
         "--header-timeout", "2", "--access-log", f"{folder}/access.log", "--sighup-pid", str(proxy.process.pid)]
        + (["--only", args.only] if args.only else []), env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    cases = json.loads(pathlib.Path(report).read_text())["cases"]
    failed = [case["id"] for case in cases if case["verdict"] in ("FAIL", "ERROR")]
    print_table(cases)
    if failed == [RANDOM_OCTETS] != [args.only]:
        return run_suite(argparse.Namespace(**{**vars(args), "only": RANDOM_OCTETS}), folder, proxy, report, denied_port)
    return done.returncode


def run_interception(args, folder, proxy, mode):
    print(f"interception in mode {mode}:")
    address = f"127.0.0.4:{proxy.ports['127.0.0.4']}"
    return run_each_alone(args, folder, "INT", ["--proxy", address, "--intercept-proxy", address, "--ca", f"{folder}/ca.crt"])


def run_authentication(args, folder, proxy):
    print("authentication:")
    address = f"127.0.0.5:{proxy.ports['127.0.0.5']}"
    return run_each_alone(args, folder, "AUT", ["--proxy", address, "--auth-proxy", address, "--auth", CREDENTIALS])


def run_each_alone(args, folder, group, options):
    """Each case of GROUP in a process of its own. A thread of the suite's TLS origin may still wait to read from the number
    of a socket that its case has closed; in one process it takes the first octets of whatever gets that number next."""
    suite, environment = [sys.executable, str(SUITE / "run.py"), "--set", args.set], {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    listed = subprocess.run([*suite, "--list", "--only", group], env=environment, check=True, capture_output=True, text=True)
    report, status, cases = f"{folder}/case.json", 0, []
    for name in re.findall(rf"^{group}-\d+", listed.stdout, re.M):
        done = subprocess.run([*suite, "--jobs", "1", "--json", report, "--only", name, *options], env=environment,
                              stdout=subprocess.PIPE, text=True)
        cases += json.loads(pathlib.Path(report).read_text())["cases"]
        status |= done.returncode
        if done.returncode != 0:
            print(done.stdout)
    print_table(cases)
    return status if cases else 1


def print_table(cases):
    areas = {}
    for case in cases:
        counts = areas.setdefault(case["id"].split("-")[0], {})
        counts[case["verdict"]] = counts.get(case["verdict"], 0) + 1
    print(f"{'group':6} {'passed':>7} {'failed':>7} {'skipped':>7}")
    for area, counts in sorted(areas.items()):
        print(f"{area:6} {counts.get('PASS', 0):7} {counts.get('FAIL', 0) + counts.get('ERROR', 0):7} {counts.get('SKIP', 0):7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--only")
    parser.add_argument("--set", default="all")
    parser.add_argument("--json")
    parser.add_argument("--jobs", type=int, default=4)
    args = parser.parse_args()
    if not (SUITE / "run.py").exists():
        print(f"skipped: no conformance suite in {SUITE}")
        return 77
    build = args.build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        denied_port, dns_port = free_ports(2)
        make_certificate(folder)
        make_users(folder)
        subprocess.run([str(build / "bloomwall"), "ca", "init", "--out", folder], check=True, capture_output=True)
        for name, text in [*LISTS.items(), *MARKS.items(), ("allow.txt", ALLOW),
                           ("bloomwall.yaml", configuration(folder, denied_port, dns_port)),
                           ("auth.yaml", authenticating_configuration(folder, denied_port, dns_port)),
                           *((f"{mode}.yaml", intercepting_configuration(folder, mode, denied_port, dns_port))
                             for mode in ("all", "urls"))]:
            pathlib.Path(folder, name).write_text(text)
        subprocess.run([str(build / "bloomwall-filter"), "build", "-o", f"{folder}/suite.bwf"]
                       + [f"{folder}/{name}" for name in [*LISTS, *MARKS]], check=True, capture_output=True)
        dns = subprocess.Popen([sys.executable, str(SUITE / "dns_server.py"), f"127.0.0.1:{dns_port}"])
        proxies = []
        try:
            for name, listeners in (("bloomwall", 3), ("all", 1), ("urls", 1), ("auth", 1)):
                proxies.append(Running(build, f"{folder}/{name}.yaml", listeners))
                if len(proxies[-1].ports) != listeners:
                    print("the proxy did not start:", *proxies[-1].said)
                    return 1
            status = run_suite(args, folder, proxies[0], args.json or f"{folder}/report.json", denied_port)
            if not args.only or "INT" in args.only:
                for mode, proxy in zip(("all", "urls"), proxies[1:]):
                    status |= run_interception(args, folder, proxy, mode)
            if not args.only or "AUT" in args.only:
                status |= run_authentication(args, folder, proxies[3])
            return max([status, *(ended_badly(proxy) for proxy in proxies)])
        finally:
            for proxy in proxies:
                proxy.process.kill()
            dns.kill()
            dns.wait()


def ended_badly(proxy):
    alive = proxy.process.poll() is None
    ended = proxy.end()
    if alive and ended == 0:
        return 0
    print(f"the proxy ended with {ended}:", *proxy.said[-20:])
    return 1


if __name__ == "__main__":
    sys.exit(main())
