#!/usr/bin/env python3
"""Names that people have written down, and that mean nobody any more: groups, users and filters in exceptions, switches, tokens and the
configuration. Each is said when it is made, by `check`, at each reload and start, in the list, and by a gauge. And lists that come in pages.

Usage: names_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import json
import re
import subprocess

import policy_test
from agreement_test import UnixConnection
from interception_site import BUILD, main, until

FILTERS = "filters: [{name: games, file: games.bwf}, {name: malware, file: malware.bwf}]\n"
LOGINS = "authentication: {require: [127.0.0.9], users_file: users}\n"


class Names(policy_test.Site):
    def with_group(self, name, more="", filters=FILTERS):
        return f"{filters}groups: [{{name: {name}, clients: [127.0.0.1]}}]\n{LOGINS}{more}"

    def gauge(self, kind):
        door = UnixConnection(self.folder / "control.sock")
        try:
            door.request("GET", "/metrics")
            text = door.getresponse().read().decode()
        finally:
            door.close()
        return int(re.search(rf'^bloomwall_state_void{{kind="{kind}"}} (\d+)$', text, re.M)[1])

    def listed(self):
        return {item["entry"]: item.get("void") for item in self.api("GET", "/exceptions")[1]["items"]}

    def test_a_group_that_is_renamed_voids_nothing_in_silence(self):
        self.serve(self.with_group("pupils"))
        self.command("deny", "free.test", "--group", "pupils", "--for", "ever", "--why", "x")
        self.command("switch", "pupils", "otherwise=deny", "--for", "1h", "--why", "exam")
        self.command("token", "add", "teacher", "--role", "reviewer", "--group", "pupils", "--for", "1d")
        self.assertEqual(self.get("free.test"), 403)
        self.assertEqual([self.gauge(kind) for kind in ("allow", "deny", "switch", "token")], [0, 0, 0, 0])
        self.configure(self.with_group("classes"))
        deny = "exception 1 is void, deny free.test: there is no group pupils; `bloomwall exceptions remove 1` removes it"
        switch = "switch otherwise=deny of group pupils is void: there is no group pupils; `bloomwall switch pupils otherwise --end`"
        said = self.command("check")
        self.assertIn("warning: " + deny, said)
        self.assertIn("warning: " + switch, said)
        said = self.command("reload")
        for text in (deny, switch, "token teacher: there is no group pupils: the reviewer may change nothing for it"):
            self.assertIn(text, said)
            until(lambda text=text: text in (self.folder / "daemon.log").read_text())
        self.assertEqual(self.get("free.test"), 200)
        self.assertEqual([self.gauge(kind) for kind in ("allow", "deny", "switch", "token")], [0, 1, 1, 1])
        self.assertEqual(self.listed(), {"free.test": "there is no group pupils"})
        self.assertIn("void: there is no group pupils", self.command("exceptions"))
        self.assertIn("pupils\totherwise=deny", self.command("switch"))
        self.assertEqual([item["void"] for item in self.api("GET", "/groups")[1]["void_switches"]], ["there is no group pupils"])
        self.assertIn("there is no group pupils", self.command("token", "list"))
        self.command("switch", "pupils", "otherwise", "--end")
        self.assertEqual(self.gauge("switch"), 0)
        self.configure(self.with_group("Pupils"))
        self.assertIn("there is no group pupils; Pupils is there", self.command("reload"))
        self.configure(self.with_group("pupils"))
        self.assertNotIn("void", self.command("reload"))
        self.assertEqual(self.get("free.test"), 403)
        self.assertEqual(self.gauge("deny"), 0)

    def test_a_start_says_it_too(self):
        self.serve(self.with_group("pupils"))
        self.command("deny", "free.test", "--group", "pupils", "--why", "x")
        self.end()
        (self.folder / "daemon.log").unlink()
        self.serve(self.with_group("classes"))
        until(lambda: "exception 1 is void, deny free.test: there is no group pupils" in (self.folder / "daemon.log").read_text())

    def test_a_filter_that_is_renamed(self):
        self.serve(self.with_group("pupils"))
        self.command("allow", "games.test", "--filter", "games", "--why", "x")
        self.command("switch", "pupils", "filters.games=off", "--for", "1h", "--why", "x")
        renamed = self.with_group("pupils", filters=FILTERS.replace("name: games", "name: play"))
        self.configure(renamed)
        said = self.command("reload")
        self.assertIn("exception 1 is void, allow games.test: there is no filter games", said)
        self.assertIn("switch filters.games=off of group pupils is void: there is no filter games", said)
        self.assertEqual([self.gauge(kind) for kind in ("allow", "deny", "switch", "token")], [1, 0, 1, 0])
        self.assertEqual(self.command("switch").count("filters.games"), 1)

    def test_users_and_roles_when_they_are_made(self):
        self.serve(self.with_group("pupils"))
        self.assertIn("nobody logs in as Anna: it is no name of authentication.users_file, and no token has it; anna is there",
                      self.command("deny", "free.test", "--user", "Anna", "--why", "x"))
        self.assertNotIn("warning", self.command("deny", "free.test", "--user", "anna", "--why", "x"))
        self.assertIn("there is no group pupilz: the reviewer may change nothing for it",
                      self.command("token", "add", "t", "--role", "reviewer", "--group", "pupilz", "--for", "1d"))
        self.assertIn("groups limit reviewers alone: one with the role operator may change everything for everybody",
                      self.command("token", "add", "u", "--role", "operator", "--group", "pupils", "--for", "1d"))
        self.command("token", "add", "ci", "--for", "1d")
        self.assertNotIn("warning", self.command("deny", "free.test", "--user", "ci", "--why", "x"), "whose token it is")
        self.assertEqual(self.gauge("token"), 2)

    def test_people_of_the_configuration(self):
        groups = "groups: [{name: a, users: [Anna, anna]}, {name: b, user_groups: [Class, class]}]\n"
        (self.folder / "people").write_text(f"dave:{policy_test.HASH}:reviewer:a,c\n")
        self.configure(FILTERS + groups + LOGINS)
        self.file.write_text(self.file.read_text().replace("admin: {", "admin: {users_file: people, "))
        said = self.command("check")
        self.assertIn("groups: a.users: nobody logs in as Anna: it is no name of authentication.users_file", said)
        self.assertIn("groups: b.user_groups: no user of authentication.users_file is in Class", said)
        self.assertIn("; class is there", said)
        self.assertIn("admin.users_file: dave: there is no group c: the reviewer may change nothing for it", said)
        self.assertEqual(len(re.findall("is there|may change nothing", said)), 3)

    def test_explain_names_the_zone_of_a_schedule(self):
        self.configure(FILTERS + """time_zone: Europe/Berlin
schedules: [{name: lessons, times: [mon-fri 08:00-16:00], time_zone: America/New_York}]
groups: [{name: pupils, clients: [127.0.0.1], filters: {games: {lessons: block, otherwise: "off"}}}]
""")
        said = self.command("explain", "--client", "127.0.0.1", "--at", "2026-11-24T15:00", "games.test", status=1)
        self.assertIn("lessons until Tue 2026-11-24 16:00 America/New_York (Tue 2026-11-24 22:00 Europe/Berlin)", said)
        self.assertNotIn("the first of two", said)
        twice = self.command("explain", "--client", "127.0.0.1", "--at", "2026-10-25T02:30", "games.test", status=0)
        self.assertIn("time        Sun 2026-10-25 02:30 Europe/Berlin, the first of two; the second is --at 2026-10-25T01:30:00Z", twice)
        for at in ("2026-10-25T01:30:00Z", "2026-10-25T01:30", "2026-10-25T03:30"):
            self.assertNotIn("the first of two", self.command("explain", "--client", "127.0.0.1", "--at", at, "games.test", status=0))

    def test_a_monitor_counts_in_front_of_a_filter_that_blocks(self):
        self.build("one", ["games.test"])
        self.serve("filters: [{name: one, file: one.bwf, action: monitor}, {name: games, file: games.bwf}]\n")
        self.assertEqual(self.get("games.test"), 403)
        self.assertEqual(self.open("games.test")[1][0], 403)
        door = UnixConnection(self.folder / "control.sock")
        self.addCleanup(door.close)
        door.request("GET", "/metrics")
        text = door.getresponse().read().decode()
        for name, action in (("one", "monitor"), ("games", "block")):
            self.assertIn(f'bloomwall_filter_verdicts_total{{filter="{name}",action="{action}"}} 2\n', text)

    def test_what_is_said_when_an_entry_is_wider_than_it_looks(self):
        self.serve(FILTERS)
        for typed, said in (("http://h.test:8080/x", "h.test/x: holds for every port and scheme of it"),
                            ("h.test:8080", "h.test: holds for every port and scheme of it"),
                            ("co.uk", "co.uk: is a public suffix, under which hosts belong to different people")):
            self.assertIn(said, self.command("allow", typed, "--why", "x"), typed)
        for typed in ("http://h.test/x", "h.test", "https://h.test/y"):
            self.assertNotIn("warning", self.command("allow", typed, "--filter", "games", "--why", "x"), typed)
        self.command("allow", "h.test", "--why", "   ", status=1)
        self.assertIn("why: a text", self.command("deny", "h.test", "--why", " ", status=1))

    def test_a_token_that_nobody_has_seen_does_not_live(self):
        self.serve(FILTERS)
        with open("/dev/full", "w") as full:
            done = subprocess.run([BUILD / "bloomwall", "token", "add", "t", "--for", "1d", "--config", self.file], stdout=full, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(self.command("token", "list"), "")

    def test_names_that_logs_use_are_not_given_to_filters_and_users(self):
        for name in ("exceptions", "otherwise"):
            self.configure(FILTERS.replace("name: games", f"name: {name}"))
            self.assertIn("choose another name", self.command("check", status=78))
        (self.folder / "users").write_text(f"-:{policy_test.HASH}\n")
        self.configure(FILTERS + LOGINS)
        self.assertIn("users:1: - stands for nobody in logs", self.command("check", status=78))

    def test_lists_come_in_pages(self):
        self.serve(FILTERS)
        entries = [f"h{i}.test" for i in range(7)]
        for entry in entries:
            self.assertEqual(self.api("POST", "/exceptions", {"action": "deny", "entry": entry, "why": "Ticket" if "3" in entry else "x"})[0], 201)
            self.assertEqual(self.api("POST", "/tokens", {"name": entry, "until": None})[0], 201)
        for path, member, query in (("/exceptions", "entry", ""), ("/exceptions", "entry", "&order=newest"), ("/tokens", "name", "")):
            seen, cursor = [], ""
            while True:
                page = self.api("GET", f"{path}?limit=3{query}&cursor={cursor}")[1]
                seen += [item[member] for item in page["items"]]
                cursor = page["next"]
                if cursor is None:
                    break
                self.assertEqual(len(page["items"]), 3)
            self.assertEqual(seen, entries[::-1] if query else entries)
        self.assertEqual([item["entry"] for item in self.api("GET", "/exceptions?search=tICKET")[1]["items"]], ["h3.test"])
        self.assertEqual([item["name"] for item in self.api("GET", "/tokens?search=H5")[1]["items"]], ["h5.test"])
        for query in ("limit=0", "limit=1001", "order=oldest", "cursor=x"):
            self.assertEqual(self.api("GET", "/exceptions?" + query)[0], 400, query)
        self.assertEqual(len(json.loads(self.command("exceptions", "--json"))["items"]), 7)


if __name__ == "__main__":
    main()
