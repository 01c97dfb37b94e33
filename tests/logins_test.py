#!/usr/bin/env python3
"""Routine acts of an operator cost no login: after an edit of the users file, a reload, or an upgrade nobody's password is checked again
whose line has the same hash. Checks are counted, nothing is timed.

Usage: logins_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import base64
import http.client
import os
import subprocess
import threading

import upgrade_test
from interception_site import WAIT, main

HASH = "$2b$04$abcdefghijklmnopqrstuu/LVz6MZlItEy42I2juLihZ66HnQx/cy"  # of "open sesame", at the least cost
DEAR = "$y$j9T$abcdefghij./0123$4N5m1sTJS7pM7Y2HtzTRI.YoN.guNeE3Mlw1TVOURH4"  # the same at the usual cost, some 50 ms
USERS = 40
PATIENCE = 600  # seconds: on a busy machine checks, which yield to everything else, take long


class Logins(upgrade_test.UpgradeCase):
    def setUp(self):
        super().setUp()
        self.users = self.folder / "users"
        self.lines = [f"user{i}:{HASH}" for i in range(USERS)]
        self.write(self.lines)
        self.configure(more="authentication: {require: [127.0.0.0/8], users_file: users, cache: 1h}\n")

    def write(self, lines):
        self.users.write_text("\n".join(lines) + "\n")

    def answer(self, user):
        credentials = base64.b64encode(f"{user}:open sesame".encode()).decode()
        client = http.client.HTTPConnection(*self.plain, timeout=PATIENCE)
        try:
            client.request("GET", f"http://127.0.0.1:{self.site.port}/small", headers={"Proxy-Authorization": "Basic " + credentials,
                                                                                         "Connection": "close"})
            return client.getresponse().status
        finally:
            client.close()

    def wave(self, users):
        """All of them at once; what each is answered."""
        answers = {}
        threads = [threading.Thread(target=lambda user=user: answers.__setitem__(user, self.answer(user))) for user in users]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def checks(self):
        return self.metric("logins_checked_total")

    def test_nobody_is_checked_again_for_the_line_of_another(self):
        names = [f"user{i}" for i in range(USERS)]
        self.start()
        self.assertEqual(set(self.wave(names).values()), {200})
        self.assertEqual(self.checks(), USERS)
        for edit in (self.lines + [f"another:{HASH}"], list(reversed(self.lines)), ["# of this school", *self.lines], self.lines):
            self.write(edit)
            self.assertEqual(self.command("reload")[0], 0)
            self.assertEqual(set(self.wave(names).values()), {200})
        self.users.rename(self.folder / "moved")
        self.write([self.lines[0] + ":staff", *self.lines[2:]])
        self.assertEqual(self.command("reload")[0], 0)
        self.assertEqual(set(self.wave(names[:1] + names[2:]).values()), {200})
        self.assertEqual(self.checks(), USERS)
        self.assertEqual(self.answer("user1"), 407, "out at once")
        status, said = self.upgrade()
        self.assertEqual(status, 0, said)
        self.assertNotEqual(self.pid(), self.process.pid)
        self.assertEqual(set(self.wave(names[:1] + names[2:]).values()), {200})
        self.assertEqual(self.checks(), 0, "of the new process")
        self.assertEqual(self.answer("user1"), 407)

    def test_a_login_waits_while_others_have_their_turn(self):
        """On one processor, whose thread checks passwords for longer than timeouts.connect."""
        self.lines = [f"user{i}:{DEAR}" for i in range(USERS)]
        self.write(self.lines)
        self.file.write_text(self.file.read_text().replace("timeouts: {", "timeouts: {connect: 1s, "))
        self.start("taskset", "-c", str(min(os.sched_getaffinity(0))))
        self.assertEqual(set(self.wave([f"user{i}" for i in range(USERS)]).values()), {200})
        self.assertEqual(self.checks(), USERS)

    def test_check_says_that_the_users_are_too_many(self):
        self.configure(more="authentication: {require: [127.0.0.0/8], users_file: users, cache: 1ms}\n")
        done = subprocess.run([self.program, "check", "--config", self.file], capture_output=True, text=True, timeout=WAIT, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: authentication.cache: 1ms is less than it takes to check the passwords of users_file once: 40 users",
                      done.stderr)
        self.configure(more="authentication: {require: [127.0.0.0/8], users_file: users, cache: 1d}\n")
        done = subprocess.run([self.program, "check", "--config", self.file], capture_output=True, text=True, timeout=WAIT, check=False)
        self.assertNotIn("authentication.cache", done.stderr)


if __name__ == "__main__":
    main()
