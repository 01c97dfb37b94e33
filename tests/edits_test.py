#!/usr/bin/env python3
"""Edits of devices, groups and schedules over the API: what they write into conf.d, what is refused, what is put back, and who may.

Usage: edits_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import concurrent.futures
import http.client
import json
import os
import pathlib
import sys
import tempfile
import unittest
import urllib.parse

from api_site import BASE, Proxy
from interception_site import WAIT, until

GROUPS = "{name: kiosks, clients: [127.0.0.8]}"
FIRST_LINE = "# Groups and their times, edited in the dashboard. Lines that you write here yourself stay, comments too.\n"
CHILDREN = {"filters": {"list": "block"}, "otherwise": {"bedtime": "deny"}}
CATALOGUE = pathlib.Path(__file__).resolve().parent.parent / "conf/catalogue.yaml"
BEDTIME = {"times": ["sun-thu 20:00-06:30", "sat,fri 22:00-07:00"]}


class Edits(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bloomwall-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "conf.d").mkdir()
        self.file, self.devices = self.folder / "conf.d/edits.yaml", self.folder / "conf.d/devices.yaml"

    def start(self, admin='address: "127.0.0.1:0", edits: true', more="include: [conf.d/*.yaml]\n", groups=GROUPS):
        self.proxy = Proxy(self.folder, admin=admin, groups=groups, authentication="", more=more)
        self.addCleanup(self.proxy.stop)
        self.token = self.proxy.command("token", "add", "anna", "--role", "admin", "--for", "1h").strip()

    def ask(self, method, path, body=None, status=200, **fields):
        code, _, text = self.proxy.ask(method, path, body, self.token, fields)
        self.assertEqual(code, status, text)
        return json.loads(text)

    def put(self, path, body, status=200, **fields):
        return self.ask("PUT", "/edits/" + path, body, status, **fields)

    def take_away(self, path, status=200, **fields):
        return self.ask("DELETE", "/edits/" + path, None, status, **fields)

    def edits(self):
        return self.ask("GET", "/edits")

    def etag(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.port, timeout=WAIT)
        connection.request("GET", BASE + "/edits", headers={"Authorization": "Bearer " + self.token})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.getheader("ETag")

    def asked_from(self, client):
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.own_port, timeout=WAIT, source_address=(client, 0))
        connection.request("GET", "http://unlisted.example.test/")
        status = connection.getresponse().status
        connection.close()
        return status

    def undo(self, said, status=200):
        undo = said["undo"]
        return self.ask(undo["method"], undo["path"], undo.get("body"), status, **{"If-Match": undo["if_match"]})

    def test_a_household_is_set_up_and_each_step_is_in_force_and_in_the_audit(self):
        self.start()
        self.put("schedules/bedtime", BEDTIME)
        self.put("schedules/always", {"times": ["mon-sun"]})
        self.put("groups/children", {**CHILDREN, "otherwise": {"always": "deny"}})
        self.assertNotEqual(self.asked_from("127.0.0.7"), 403)
        self.put("devices/" + urllib.parse.quote("Anna+Ben's tablet"), {"addresses": ["127.0.0.7"], "group": "children"})
        self.assertEqual(self.asked_from("127.0.0.7"), 403, "in force before the answer")
        self.assertEqual(self.file.read_text(), FIRST_LINE + "schedules:\n- {name: bedtime, times: [sun-thu 20:00-06:30, \"sat,fri 22:00-07:00\"]}\n"
                         "- {name: always, times: [mon-sun]}\n\ngroups:\n- name: children\n  clients: devices\n  filters: {list: block}\n"
                         "  otherwise: {always: deny}\n")
        self.assertTrue(self.devices.read_text().endswith("- {name: \"Anna+Ben's tablet\", addresses: [127.0.0.7], group: children}\n"))
        shown = self.edits()
        self.assertEqual((shown["enabled"], shown["reason"], shown["filters"]), (True, None, ["list"]))
        self.assertEqual([(each["name"], each["editable"]) for each in shown["groups"]], [("kiosks", False), ("children", True)])
        # The schedule that closes all is taken out of the group, and away.
        self.put("groups/children", {"otherwise": {"bedtime": "deny"}})
        self.assertIn("  filters: {list: block}\n  otherwise: {bedtime: deny}\n", self.file.read_text())
        self.take_away("schedules/always")
        self.assertNotIn("always", self.file.read_text())
        rows = self.ask("GET", "/audit")["items"]
        self.assertEqual([(row["who"], row["what"], row["subject"]) for row in rows[:3]],
                         [("token anna", "schedule.removed", "always"), ("token anna", "group.changed", "children"),
                          ("token anna", "device.made", "Anna+Ben's tablet")])
        self.assertEqual(rows[0]["before"], {"name": "always", "times": ["mon-sun"]})

    def test_each_edit_can_be_taken_back(self):
        self.start()
        self.put("groups/children", CHILDREN | {"otherwise": "allow"})
        texts = [self.file.read_text()]
        done = self.put("groups/children", {"otherwise": None, "safe_search": ["bing"], "clients": ["10.0.0.0/8"]})
        self.assertNotEqual(self.file.read_text(), texts[0])
        self.undo(done)
        self.assertEqual(self.edits()["groups"][1]["otherwise"], "allow")
        self.assertEqual(self.edits()["groups"][1]["clients"], "devices")
        self.undo(self.put("devices/tv", {"addresses": ["127.0.0.7"], "group": "children"}))
        self.assertEqual(self.edits()["devices"], [])
        self.put("devices/tv", {"addresses": ["127.0.0.7"], "group": "children"})
        renamed = self.put("devices/tv", {"name": "old tv"})
        self.assertEqual([each["name"] for each in self.edits()["devices"]], ["old tv"])
        self.undo(renamed)
        self.assertEqual([(each["name"], each["group"]) for each in self.edits()["devices"]], [("tv", "children")])
        self.undo(self.take_away("devices/tv"))
        self.assertEqual([(each["name"], each["addresses"]) for each in self.edits()["devices"]], [("tv", ["127.0.0.7"])])

    def test_what_is_taken_back_overwrites_nothing_later(self):
        self.start()
        self.put("schedules/bedtime", BEDTIME)
        for later in (lambda: self.put("schedules/bedtime", {"times": ["tue"]}),
                      lambda: self.file.write_text(self.file.read_text().replace("[mon]", "[wed]"))):  # by hand
            done = self.put("schedules/bedtime", {"times": ["mon"]})
            later()
            text = self.file.read_text()
            self.undo(done, status=412)
            self.assertEqual(self.file.read_text(), text)
        removed = self.take_away("schedules/bedtime")
        self.put("schedules/bedtime", {"times": ["sun"]})
        self.undo(removed, status=412)
        self.undo(self.put("schedules/bedtime", {"times": ["mon"]}))
        self.assertEqual(self.edits()["schedules"][0]["times"], ["sun"])

    def test_what_is_taken_away_and_back_has_its_place(self):
        self.file.write_text("groups:\n- {name: all, otherwise: allow}\n")
        self.start()
        for name in ("a", "b", "c"):
            self.put("groups/" + name, {"clients": ["127.0.0.7"], "otherwise": "deny"})
        self.put("groups/a", {"otherwise": "allow"})  # the first one that takes the address decides
        before = self.file.read_text()
        names = [group["name"] for group in self.edits()["groups"]]
        self.assertEqual(names, ["kiosks", "a", "b", "c", "all"])
        for name in ("a", "b", "c"):
            removed = self.take_away("groups/" + name)
            self.assertEqual(self.asked_from("127.0.0.7") == 403, name == "a")
            self.undo(removed)
            self.assertNotEqual(self.asked_from("127.0.0.7"), 403)
            self.assertEqual(self.file.read_text(), before)
        self.assertIsNone(self.take_away("groups/all")["undo"], "no edit makes a group of everybody")
        for body, why in (({"before": "none"}, "before: the name of a group of"), ({"before": "kiosks"}, "before: the name of a group of"),
                          ({"before": 7}, "before: the name of a group of")):
            self.assertIn(why, self.put("groups/new", body, status=409)["detail"])
        self.assertIn("keeps its place", self.put("groups/b", {"before": "a"}, status=409)["detail"])
        self.put("schedules/early", BEDTIME)
        self.put("schedules/late", BEDTIME)
        text = self.file.read_text()
        self.undo(self.take_away("schedules/early"))
        self.assertEqual(self.file.read_text(), text)

    def test_what_is_taken_back_puts_comments_and_form_where_they_were(self):
        groups = ("groups:\n# Kids: Tim and Ana\n- {name: kids, clients: [127.0.0.9]}   # ask mum first\n# Everybody else\n"
                  "- name: rest\n  clients:\n  - 127.0.0.10\n\n# the end\n")
        devices = "devices:\n# the radio\n- {name: radio, addresses: [127.0.0.40]}   # in the kitchen\n# the set\n- {name: tv, addresses: [127.0.0.41]}\n"
        self.file.write_text(groups)
        self.devices.write_text(devices)
        self.start()
        for path, change in (("groups/kids", None), ("groups/rest", None), ("devices/radio", None), ("devices/tv", None),
                             ("groups/rest", {"otherwise": "deny"}), ("groups/new", {}), ("devices/radio", {"name": "old radio"})):
            with self.subTest(path=path, change=change):
                done = self.take_away(path) if change is None else self.put(path, change)
                changed = (self.file.read_text(), self.devices.read_text())
                self.assertNotEqual(changed, (groups, devices))
                undone = self.undo(done)
                self.assertEqual((self.file.read_text(), self.devices.read_text()), (groups, devices))
                self.undo(undone)  # and once more
                self.assertEqual((self.file.read_text(), self.devices.read_text()), changed)
                self.file.write_text(groups)
                self.devices.write_text(devices)

    def test_what_a_person_has_written_since_is_not_taken_back(self):
        self.start()
        for by_hand in ("  users: [anna]\n", "  log: counted\n", "  # why\n"):
            with self.subTest(by_hand=by_hand):
                seen = self.etag()
                done = self.put("groups/new", {"clients": ["127.0.0.11"]})
                shown = self.etag()
                text = self.file.read_text().replace("- name: new\n", "- name: new\n" + by_hand)
                self.file.write_text(text)
                self.assertIn(by_hand, text)
                self.assertNotIn(self.etag(), (seen, shown))
                self.undo(done, status=412)
                self.take_away("groups/new", status=412, **{"If-Match": shown})
                self.assertEqual(self.file.read_text(), text)
                self.file.unlink()

    def test_only_its_own_file_voids_what_takes_an_edit_back(self):
        self.start(more="include: [conf.d/*.yaml]\nupdate: {folder: lists, catalogue: %s}\n" % CATALOGUE)
        name = next(each["name"] for each in self.edits()["lists"] if each["state"] == "none")
        done = self.put("groups/new", {"clients": ["127.0.0.11"]})
        self.put("lists/" + name, {}, status=202)
        self.put("devices/tv", {"addresses": ["127.0.0.33"]})
        undo = done["undo"]
        self.take_away("groups/other", status=412, **{"If-Match": undo["if_match"]})  # another request than the one that was named
        self.put("groups/new", {"otherwise": "deny"}, status=412, **{"If-Match": undo["if_match"]})
        self.undo(done)
        self.assertEqual([each["name"] for each in self.edits()["groups"]], ["kiosks"])
        self.undo(done, status=412)

    def test_files_of_editors_of_windows_are_edited_without_a_loss_or_refused(self):
        self.start()
        own = "schedules:\n- {name: bedtime, times: [mon]}   # ours\ngroups:\n- name: children\n  clients: [127.0.0.7]\n"
        devices = "devices:\n- {name: tv, addresses: [127.0.0.9]}   # ours\n"
        for mark in ("", "\ufeff"):
            for end in ("\n", "\r\n"):
                with self.subTest(mark=mark, end=end):
                    for file, text in ((self.file, own), (self.devices, devices)):
                        file.write_bytes((mark + text.replace("\n", end)).encode())
                    self.proxy.command("reload")
                    self.put("schedules/bedtime", {"times": ["tue"]})
                    self.put("groups/children", {"otherwise": "deny"})
                    self.put("groups/guests", {"clients": ["127.0.0.8"]})
                    self.put("devices/radio", {"addresses": ["127.0.0.10"]})
                    self.take_away("devices/tv")
                    self.assertEqual(self.file.read_bytes().decode(), mark + (own.replace("[mon]", "[tue]") + "  otherwise: deny\n"
                                     "- name: guests\n  clients: [127.0.0.8]\n").replace("\n", end))
                    self.assertEqual(self.devices.read_bytes().decode(), mark + ("devices:\n- {name: radio, addresses: [127.0.0.10]}\n").replace("\n", end))
        for text, why in ((own + "...\n", "line 6: the end of a document of YAML"), (own.replace("groups:\n", "groups:\r\n"), "line 3: it ends in another way")):
            self.file.write_text(text, newline="")
            self.assertIn(why, self.put("groups/new", {}, status=409)["detail"])
            self.assertEqual(self.file.read_bytes().decode(), text)

    def test_the_tag_covers_how_far_a_list_has_come(self):
        self.start(more="include: [conf.d/*.yaml]\nupdate: {folder: lists, catalogue: %s}\n" % CATALOGUE)
        name = next(each["name"] for each in self.edits()["lists"] if each["state"] == "none")
        before = self.etag()
        self.put("lists/" + name, {}, status=202, **{"If-Match": before})
        self.assertEqual(next(each["state"] for each in self.edits()["lists"] if each["name"] == name), "wanted")
        self.assertNotEqual(self.etag(), before)
        self.put("lists/" + name, {}, status=412, **{"If-Match": before})

    def test_what_the_configuration_does_not_take_changes_nothing(self):
        self.start()
        self.put("schedules/bedtime", BEDTIME)
        self.put("groups/children", CHILDREN)
        self.put("devices/tv", {"addresses": ["127.0.0.7"], "group": "children"})
        before = {path.name: path.read_text() for path in self.file.parent.iterdir()}
        for path, body, why in (("schedules/bedtime", {"times": ["21-22"]}, "edits.yaml:"),
                                ("schedules/a b", BEDTIME, "schedules[1].name"),
                                ("schedules/otherwise", BEDTIME, "choose another name"),
                                ("schedules/x", {"times": 7}, "times: texts, lists of texts"),
                                ("schedules/x", {"time": ["mon"]}, "time: there are times, except, time_zone"),
                                ("schedules/bedtime", {"name": "night"}, "a schedule keeps its name"),
                                ("groups/children", {"filters": {"games": "block"}}, 'there is no filter "games"'),
                                ("groups/children", {"filters": {"list": "close"}}, "expected block, monitor, allow or off"),
                                ("groups/children", {"otherwise": {"night": "deny"}}, "night"),
                                ("groups/children", {"clients": None}, "would take everybody"),
                                ("groups/new", {"clients": None}, "would take everybody"),
                                ("groups/children", {"users": ["x"]}, "users: there are clients, filters"),
                                ("groups/kiosks", {"otherwise": "deny"}, "stands in"),
                                ("groups/children", {"name": "kids"}, "a group keeps its name"),
                                ("devices/radio", {"addresses": ["127.0.0.7"]}, "is an address of tv and of radio"),
                                ("devices/radio", {"addresses": ["127.0.0.8"], "group": "children"}, "would stay in the group kiosks"),
                                ("devices/radio", {"addresses": "127.0.0.9"}, "addresses: there are name"),
                                ("devices/radio", {"group": "children"}, "at least one wanted")):
            with self.subTest(path=path, body=body):
                self.assertIn(why, self.put(path.replace(" ", "%20"), body, status=409)["detail"])
        self.assertIn("there is no group children", self.take_away("groups/children", status=409)["detail"])
        self.assertIn("bedtime", self.take_away("schedules/bedtime", status=409)["detail"])
        self.take_away("schedules/none", status=404)
        self.ask("PUT", "/edits/groups/children", "{", 400)
        self.assertEqual({path.name: path.read_text() for path in self.file.parent.iterdir()}, before)

    def test_an_empty_list_of_clients_takes_nobody_in_silence(self):
        self.start()
        self.put("groups/everybody", {"clients": [], "otherwise": "deny"}, 409)
        self.put("groups/children", CHILDREN | {"otherwise": "deny"})
        self.put("groups/children", {"clients": []}, 409)
        self.assertNotEqual(self.asked_from("127.0.0.7"), 403)

    def test_an_address_is_nothing_but_an_address(self):
        self.start()
        self.put("groups/children", {})
        self.put("devices/tv", {"addresses": ["10.0.0.9"], "group": "children"})
        before = self.devices.read_text()
        for addresses in (["10.0.0.9]} #"], ["::1\"]}\n- {name: evil, addresses: [\"::2"], ["10.0.0.10, 10.0.0.11"], ["a\\"], [""], ["*x"], ["!!null"]):
            self.put("devices/tv", {"addresses": addresses, "group": "children"}, 409)
            self.assertEqual(self.devices.read_text(), before, addresses)
        for name in ("..", ".", "a\u202eb", "a\u0085b"):
            self.put("devices/tv", {"name": name}, 409)
            self.assertEqual(self.devices.read_text(), before, name)

    def test_what_a_person_may_not_read_stays_so(self):
        self.start()
        self.put("groups/children", {})
        self.file.chmod(0o600)
        self.put("groups/children", {"safe_search": ["google"]})
        self.assertEqual(self.file.stat().st_mode & 0o777, 0o600)

    def test_words_that_a_person_wrote_without_quotes_stay_so(self):
        self.file.write_text("groups:\n- {name: a, clients: [127.0.0.7], end_tunnels: false}\n")
        self.start()
        self.put("groups/a", {"otherwise": "deny"})
        self.assertIn("end_tunnels: false", self.file.read_text())

    def test_a_group_that_the_state_names_stays(self):
        self.start()
        self.put("groups/children", CHILDREN | {"otherwise": "allow"})
        self.proxy.command("allow", "play.example.test", "--group", "children", "--why", "a test")
        self.proxy.command("switch", "children", "pause", "--for", "1h")
        self.assertIn("exceptions: 1, switches: 1", self.take_away("groups/children", status=409)["detail"])
        self.proxy.command("switch", "children", "pause", "--end")
        exception = self.ask("GET", "/exceptions")["items"][0]["id"]
        self.ask("DELETE", f"/exceptions/{exception}")
        self.take_away("groups/children")
        self.assertEqual(self.file.read_text(), FIRST_LINE + "groups: []\n")

    def test_two_editors_do_not_overwrite_each_other_in_silence(self):
        self.start()
        self.put("schedules/bedtime", BEDTIME)
        seen = self.etag()
        self.put("schedules/bedtime", {"times": ["mon 20:00-21:00"]}, **{"If-Match": seen})
        said = self.put("schedules/bedtime", {"times": ["mon 20:00-22:00"]}, status=412, **{"If-Match": seen})
        self.assertIn("ask for it again", said["detail"])
        seen = self.etag()
        self.file.write_text(self.file.read_text() + "# by hand\n- {name: nap, times: [mon]}\n")  # an editor of files is one, too
        self.take_away("schedules/bedtime", status=412, **{"If-Match": seen})
        self.take_away("schedules/bedtime", **{"If-Match": self.etag()})
        self.assertTrue(self.file.read_text().endswith("# by hand\n- {name: nap, times: [mon]}\n"), self.file.read_text())

    def test_a_reload_that_is_refused_puts_the_file_back(self):
        self.start()
        self.put("schedules/bedtime", BEDTIME)
        before = self.file.read_text()
        (self.folder / "list.bwf").rename(self.folder / "list.away")
        for path, body in (("schedules/bedtime", {"times": ["mon"]}), ("devices/tv", {"addresses": ["127.0.0.7"]})):
            said = self.put(path, body, status=409)
            self.assertEqual(said["title"], "The reload was refused")
            self.assertIn("since the reload was refused", said["detail"])
            self.assertIn("list.bwf", said["detail"])
        self.assertEqual(self.file.read_text(), before)
        self.assertFalse(self.devices.exists())
        (self.folder / "list.away").rename(self.folder / "list.bwf")
        self.put("schedules/bedtime", {"times": ["mon"]})

    def test_what_people_have_written_is_never_lost(self):
        self.file.write_text("# Ours.\ngroups:\n- name: children   # the two\n  clients: [127.0.0.7]\n- {name: guests, clients: [127.0.0.9]}   # 2026\n")
        before = self.file.read_text()
        self.start()
        self.assertIn("line 3: a comment inside of the entry would be lost", self.put("groups/children", CHILDREN, status=409)["detail"])
        self.assertEqual(self.file.read_text(), before)
        self.put("groups/guests", {"otherwise": "deny"})
        self.assertEqual(self.file.read_text(), before.replace("[127.0.0.9]}", "[127.0.0.9], otherwise: deny}"))
        self.assertEqual(self.asked_from("127.0.0.9"), 403)

    def test_without_the_key_and_without_a_folder_nothing_is_edited(self):
        self.start(admin='address: "127.0.0.1:0"')
        shown = self.edits()
        self.assertFalse(shown["enabled"])
        self.assertIn("admin.edits is false", shown["reason"])
        self.assertIn("admin.edits is false", self.put("schedules/bedtime", BEDTIME, status=409)["detail"])
        self.assertEqual(list(self.file.parent.iterdir()), [])
        config = self.folder / "bloomwall.yaml"
        config.write_text(config.read_text().replace("admin: {", "admin: {edits: true, ").replace("include: [conf.d/*.yaml]\n", ""))
        self.proxy.command("reload")
        self.assertIn("add `include: [conf.d/*.yaml]`", self.edits()["reason"])
        self.assertIn("add `include: [conf.d/*.yaml]`", self.put("schedules/bedtime", BEDTIME, status=409)["detail"])

    def test_a_folder_that_may_not_be_written_to_says_what_to_do(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.start()
        self.file.parent.chmod(0o555)
        self.addCleanup(self.file.parent.chmod, 0o755)
        self.assertIn("install -d -g bloomwall -m 3775", self.edits()["reason"])
        self.assertIn("install -d -g bloomwall -m 3775", self.put("schedules/bedtime", BEDTIME, status=409)["detail"])

    def test_admins_alone_edit_and_pages_of_others_do_not(self):
        self.start()
        reviewer = self.proxy.command("token", "add", "rita", "--role", "reviewer", "--group", "kiosks", "--for", "1h").strip()
        operator = self.proxy.command("token", "add", "otto", "--role", "operator", "--for", "1h").strip()
        for token, status in ((reviewer, 403), (operator, 403), (None, 401)):
            for method, path in (("GET", "/edits"), ("PUT", "/edits/schedules/bedtime"), ("DELETE", "/edits/groups/kiosks")):
                self.assertEqual(self.proxy.ask(method, path, "{}" if method == "PUT" else None, token)[0], status, (method, path))
        cookie = self.proxy.sign_in({"token": self.token})
        own = {"Cookie": cookie, "X-Bloomwall": "1", "Origin": f"http://127.0.0.1:{self.proxy.port}"}
        for fields, status in (({"Cookie": cookie}, 403), (own | {"Origin": "http://evil.example"}, 403), (own, 200)):
            self.assertEqual(self.proxy.ask("PUT", "/edits/schedules/bedtime", BEDTIME, fields=fields)[0], status, fields)

    def test_many_edits_at_once_are_made_one_after_the_other(self):
        self.start()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            codes = list(pool.map(lambda i: self.proxy.ask("PUT", f"/edits/schedules/s{i}", {"times": ["mon"]}, self.token)[0], range(8)))
        self.assertEqual(codes, [200] * 8)
        self.assertEqual(sorted(each["name"] for each in self.edits()["schedules"]), [f"s{i}" for i in range(8)])
        until(lambda: len(self.ask("GET", "/audit")["items"]) >= 8)


if __name__ == "__main__":
    unittest.main()
