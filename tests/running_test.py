#!/usr/bin/env python3
"""Commands reach the running program whatever the configuration says by now, and what is refused is counted and shown, by whichever door
it came.

Usage: running_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import json
import os
import pathlib
import re
import signal
import subprocess

import policy_test
from agreement_test import UnixConnection
from interception_site import BUILD, main, until

FILTERS = "filters: [{name: games, file: games.bwf}]\nauthentication: {require: [127.0.0.9], users_file: users}\n"


class Running(policy_test.Site):
    def setUp(self):
        super().setUp()
        os.environ["XDG_RUNTIME_DIR"] = str(self.folder)  # where this user may not write to /run/bloomwall

    def over(self, path, socket="control.sock"):
        door = UnixConnection(self.folder / socket)
        try:
            door.request("GET", path)
            return door.getresponse().read().decode()
        finally:
            door.close()

    def metric(self, name):
        return float(re.search(rf"^bloomwall_{re.escape(name)} (\S+)$", self.over("/metrics"), re.M)[1])

    def edit(self, before, after):
        text = self.file.read_text()
        self.assertIn(before, text)
        self.file.write_text(text.replace(before, after))

    def links(self):
        folders = (pathlib.Path("/run/bloomwall"), self.folder / "bloomwall")
        return [link for folder in folders if folder.is_dir() for link in folder.glob("running-*")
                if link.is_symlink() and os.readlink(link).startswith(str(self.folder))]

    def test_another_socket_in_the_file(self):
        self.serve(FILTERS)
        self.assertEqual(len(self.links()), 1)
        self.edit("control.sock", "other.sock")
        self.assertIn("takes effect after a restart only", self.command("reload"))
        self.assertEqual(json.loads(self.command("health", "--json"))["ready"], True)
        self.command("deny", "free.test", "--why", "x")
        self.assertIn("free.test", self.command("exceptions"))
        self.command("upgrade")
        until(lambda: self.process.poll() is not None)
        self.addCleanup(lambda: os.kill(int(json.loads(self.over("/api/v1/status", "other.sock"))["pid"]), signal.SIGKILL))
        self.assertFalse((self.folder / "control.sock").exists())
        self.assertEqual([os.readlink(link) for link in self.links()], [str(self.folder / "other.sock")])
        self.edit("other.sock", "third.sock")
        self.assertIn("free.test", self.command("exceptions"))

    def test_the_link_ends_with_its_process(self):
        self.serve(FILTERS)
        self.end()
        self.assertEqual(self.links(), [])
        self.assertIn("control.sock", self.command("health", status=2))

    def test_an_option_names_a_socket(self):
        self.serve(FILTERS)
        other = self.folder / "elsewhere.yaml"
        other.write_text("admin: {control_socket: nobody.sock}\n")
        done = subprocess.run([BUILD / "bloomwall", "health", "--config", other, "--socket", self.folder / "control.sock"], check=False)
        self.assertEqual(done.returncode, 0)

    def test_a_refused_reload_is_counted_by_both_doors(self):
        self.serve(FILTERS)
        good = self.file.read_text()
        self.file.write_text(good + "nosuchkey: 1\n")
        said = self.command("reload", status=1)
        self.assertIn("nosuchkey", said)
        self.assertEqual(self.metric('filter_reload_total{result="failure"}'), 1)
        self.process.send_signal(signal.SIGHUP)
        until(lambda: self.metric('filter_reload_total{result="failure"}') == 2)
        reloads = json.loads(self.over("/api/v1/reloads"))["items"]
        self.assertEqual([each["ok"] for each in reloads], [False, False, True])
        self.assertIn("nosuchkey", reloads[0]["lines"][0])
        self.file.write_text(good)
        self.command("reload")
        self.file.unlink()
        self.command("reload", status=1)
        self.assertEqual(self.metric('filter_reload_total{result="failure"}'), 3)

    def figures(self):
        return self.metric("configuration_differs"), self.metric("configuration_refused")

    def becomes(self, wanted):
        until(lambda: self.figures() == wanted)

    def test_what_the_files_say_and_is_not_served(self):
        self.serve(FILTERS)
        self.assertEqual(self.figures(), (0, 0))
        good, users = self.file.read_text(), (self.folder / "users").read_text()
        self.file.write_text(good + "limits: {client_connections: 100}\n")
        self.becomes((1, 0))
        self.command("reload")
        self.becomes((0, 0))
        self.file.write_text(good + "nosuchkey: 1\n")
        self.becomes((1, 1))
        self.assertIn("nosuchkey", json.loads(self.over("/api/v1/status"))["on_disk"]["refused"])
        until(lambda: "the configuration on the disk would be refused" in (self.folder / "daemon.log").read_text())
        self.file.write_text(good)
        self.becomes((1, 0))
        self.command("reload")
        self.becomes((0, 0))
        (self.folder / "users").write_text(users + "carl:not a hash\n")
        self.becomes((1, 1))
        (self.folder / "users").write_text(users + "# only a comment\n")
        self.becomes((1, 0))
        (self.folder / "users").write_text(users)
        self.becomes((0, 0))


if __name__ == "__main__":
    main()
