#!/usr/bin/env python3
"""`bloomwall doctor` with the real programs: all well, and each thing that goes wrong by itself; and what `bloomwall check` says beside
a running proxy.

Usage: doctor_test.py BUILD_DIR
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from ports import free_ports

BUILD = pathlib.Path(sys.argv[1]).resolve()
BOUND = 60  # seconds for anything to come true


class Doctor(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = pathlib.Path(place.name)
        self.place.chmod(0o755)
        self.port = free_ports(1)[0]
        self.build("one.example.test")
        self.configure()

    def build(self, *entries):
        lines = self.place / "list.txt"
        lines.write_text("".join(entry + "\n" for entry in entries))
        done = subprocess.run([BUILD / "bloomwall-filter", "build", "-o", self.place / "ads.bwf", lines], capture_output=True, text=True, check=False,
                              timeout=BOUND)
        self.assertEqual(done.returncode, 0, done.stderr)

    def configure(self, more="", listen=None, clients="[127.0.0.0/8]"):
        (self.place / "state").mkdir(exist_ok=True)
        self.config = self.place / "bloomwall.yaml"
        self.config.write_text(f"""listeners: [{{address: "{listen or f'127.0.0.1:{self.port}'}"}}]
filters: [{{name: ads, file: ads.bwf}}]
access: {{clients: {clients}}}
admin: {{address: null, control_socket: control.sock}}
limits: {{client_connections: 20}}
state_dir: state
timeouts: {{announce: 0}}
log: {{file: daemon.log, access: {{file: access.log}}}}
{more}""")

    def start(self):
        process = subprocess.Popen([BUILD / "bloomwall", "run", "--config", self.config], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.send_signal, signal.SIGINT)
        end = time.monotonic() + BOUND
        while subprocess.run([BUILD / "bloomwall", "health", "--config", self.config], capture_output=True, check=False).returncode != 0:
            self.assertLess(time.monotonic(), end, "it does not serve")
            self.assertIsNone(process.poll(), "it has ended")
        return process

    def doctor(self, program=BUILD / "bloomwall", **more):
        """Exit status, and the findings that are wrong: subject and words."""
        done = subprocess.run([program, "doctor", "--json", "--config", self.config], capture_output=True, text=True, check=False, timeout=BOUND,
                              **more)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        said = json.loads(done.stdout)
        self.assertEqual(said["ok"], done.returncode == 0, done.stdout)
        self.findings = said["findings"]
        return done.returncode, [(each["subject"], each["what"]) for each in self.findings if each["grade"] == "wrong"]

    def assert_wrong(self, subject, words):
        status, wrong = self.doctor()
        self.assertEqual(status, 1)
        self.assertTrue(any(each[0] == subject and words in each[1] for each in wrong), wrong)
        for each in self.findings:
            if each["grade"] == "wrong":
                self.assertTrue(each["cure"], each)

    def test_all_well(self):
        self.start()
        self.assertEqual(self.doctor(), (0, []))
        subjects = {each["subject"] for each in self.findings}
        self.assertLessEqual({"check", "service", "reload", "served", "ports", "reach", "disk", "clock", "descriptors"}, subjects)
        text = subprocess.run([BUILD / "bloomwall", "doctor", "--config", self.config], capture_output=True, text=True, check=False, timeout=BOUND)
        self.assertEqual(text.returncode, 0, text.stdout)
        self.assertTrue(text.stdout.endswith("nothing is wrong\n"), text.stdout)

    def test_without_a_running_proxy(self):
        self.assert_wrong("service", "it does not run")

    def test_a_configuration_that_is_wrong(self):
        self.configure("nonsense: 1\n")
        self.assert_wrong("configuration", "nonsense")

    def test_a_filter_that_is_damaged(self):
        data = bytearray((self.place / "ads.bwf").read_bytes())
        data[-1] ^= 1
        (self.place / "ads.bwf").write_bytes(data)
        self.assert_wrong("check", "ads.bwf")

    def test_files_that_have_changed_since(self):
        self.start()
        self.build("one.example.test", "two.example.test")
        self.assert_wrong("served", "filter ads")
        later = time.time() + 100
        os.utime(self.config, (later, later))
        self.assert_wrong("reload", "was changed at")

    def test_a_reload_that_failed(self):
        process = self.start()
        whole = self.config.read_text()
        self.config.write_text(whole + "nonsense: 1\n")
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + BOUND
        while "nonsense" not in (self.place / "daemon.log").read_text():
            self.assertLess(time.monotonic(), end)
        self.config.write_text(whole)
        self.assert_wrong("reload", "the last reload failed")

    def test_a_port_that_another_program_has(self):
        with socket.create_server(("127.0.0.1", self.port)):
            self.assert_wrong("ports", "is held by python3")

    def test_clients_that_cannot_connect(self):
        self.configure(clients="[127.0.0.0/8, 192.168.1.0/24]")
        self.assert_wrong("reach", "none can connect")

    def test_a_folder_that_is_gone(self):
        (self.place / "state").rmdir()
        self.assert_wrong("disk", "state")

    def test_lists_that_were_never_fetched(self):
        self.configure('update: {folder: lists}\n')
        self.config.write_text(self.config.read_text().replace("file: ads.bwf}", 'file: ads.bwf, sources: [{url: "https://lists.example.test/ads.txt"}]}'))
        self.assert_wrong("lists", "never fetched")

    def test_another_proxy_answers(self):
        self.start()
        self.config = self.place / "other.yaml"
        self.config.write_text((self.place / "bloomwall.yaml").read_text())
        self.assert_wrong("reload", "and not")

    def check(self, *words):
        """Exit status, and the warnings, but for those about this machine."""
        done = subprocess.run([BUILD / "bloomwall", "check", "--json", *words], capture_output=True, text=True, check=False, timeout=BOUND)
        self.assertIn(done.returncode, (0, 78), done.stderr)
        told = json.loads(done.stdout)
        return done.returncode, [line for line in told.get("warnings", told.get("errors")) if "descriptors" not in line and " cannot read" not in line]

    def test_check_names_what_only_a_restart_changes(self):
        free = free_ports(1)[0]
        self.configure()
        self.assertEqual(self.check("--config", self.config), (0, []), "nobody serves it")
        process = self.start()
        self.assertEqual(self.check("--config", self.config), (0, []))
        self.configure("workers: 3\ntime_zone: UTC\n", listen=f":{free}")
        notice = "takes effect after a restart only: listeners, workers (systemctl restart bloomwall)"
        self.assertEqual(self.check("--config", self.config), (0, [notice]))
        process.send_signal(signal.SIGHUP)
        log = self.place / "daemon.log"
        end = time.monotonic() + BOUND
        while "takes effect after a restart only: listeners, workers" not in log.read_text():
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.check("--config", self.config), (0, [notice]), "as before: a reload has not changed them")
        other = self.place / "other.yaml"
        other.write_text(self.config.read_text())
        self.assertEqual(self.check("--config", other), (0, []), "which is not what runs")
        self.assertEqual(self.check("--config", other, "--as", self.config), (0, [notice]))

    def test_check_of_a_file_before_it_is_put_in_its_place(self):
        (self.place / "conf.d").mkdir()
        self.config.write_text("include: [conf.d/*.yaml]\n" + self.config.read_text())
        draft = pathlib.Path(tempfile.mkstemp(prefix="bloomwall-draft-")[1])
        self.addCleanup(draft.unlink)
        place = self.place / "conf.d/more.yaml"
        draft.write_text("filters: [{name: more, file: ../ads.bwf}]\nnonsense: 1\n")
        status, lines = self.check("--config", draft, "--as", place)
        self.assertEqual(status, 78)
        self.assertIn(f"{draft}:2:1: nonsense", lines[0])
        draft.write_text("filters: [{name: more, file: ../ads.bwf}]\n")
        self.assertEqual(self.check("--config", draft, "--as", place), (0, []))
        draft.write_text(self.config.read_text())
        self.assertEqual(self.check("--config", draft, "--as", self.config), (0, []))

    def test_check_names_files_that_are_not_read(self):
        (self.place / "conf.d").mkdir()
        self.config.write_text("include: [conf.d/*.yaml]\n" + self.config.read_text())
        (self.place / "conf.d/family.yml").write_text("workers: many\n")
        self.assertEqual(self.check("--config", self.config),
                         (0, [f"{self.place}/conf.d/family.yml: not read, since no pattern of `include` takes its name: call it {self.place}/conf.d/family.yaml"]))

    @unittest.skipUnless(os.geteuid() == 0, "only root can become somebody who may not read it")
    def test_what_may_not_be_read_is_unseen(self):
        self.start()
        (self.place / "ads.bwf").chmod(0o600)
        program = shutil.copy(BUILD / "bloomwall", self.place)  # the build's folder may be closed to others, too
        nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        status, wrong = self.doctor(program, **nobody)
        self.assertEqual((status, wrong), (0, []), self.findings)
        self.assertIn("unseen", {each["grade"] for each in self.findings})
        self.config.chmod(0o600)
        self.assertEqual(self.doctor(program, **nobody)[0], 2)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
