#!/usr/bin/env python3
"""The dashboard as people use it, with figures made up: where the focus goes, what is said and offered, how long texts and first minutes look.

Usage: dashboard_use_test.py BUILD_DIR [unittest arguments]. Exit status 77 (skipped) where there is no Chromium.
SPDX-License-Identifier: Apache-2.0
"""
import json
import shlex
import sys
import unittest

import dashboard_site as figures
import dashboard_test as base
from dashboard_shots import VIEWS
from dashboard_site import Site, items, request
from interception_site import BUILD

PASSES = {"/explain": lambda query: {**figures.ANSWERS["/explain"](query), "verdict": "allowed", "filter": None,
                                     "tunnel": {"verdict": "allowed", "reason": "excepted", "filter": None, "expression": None, "exception": 9}}}


def edits_off(query):
    return figures.edits(enabled=False, reason="admin.edits is false")


class Use(base.Browsing):
    def open(self, view, width=1280, **site):
        served = Site(**site)
        self.addCleanup(served.close)
        browser = self.browser(width)
        browser.go(f"{served.url}#/{VIEWS[view]}")
        browser.until(base.LOADED)
        return browser, served

    def test_the_next_row_has_the_focus_after_a_cure(self):  # WCAG 2.4.3
        browser, _ = self.open("now", answers=PASSES)
        browser.until("document.querySelector('[aria-label^=Allow]')")
        browser.tab_to("Allow shop.example")
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open]')")
        browser.press("Enter")
        browser.until("!document.querySelector('dialog[open]')")
        browser.until("[...document.querySelectorAll('td .badge')].some((each) => each.innerText === 'allowed now')")
        browser.until("document.activeElement.getAttribute('aria-label') === 'Allow games.example.org'")
        keys = browser.keys
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open]')")
        self.assertEqual(browser.keys - keys, 1, "the next cure begins where this one has ended")

    def test_the_next_row_has_the_focus_after_a_removal(self):
        rows = [figures.exception(i) for i in range(4, 0, -1)]  # the newest first, as they are asked for
        browser, site = self.open("exceptions", answers={"/exceptions": lambda query: items(rows)})
        removed = []
        site.answers["/exceptions"] = lambda query: items([row for row in rows if row["entry"] not in removed])
        for entry, following in (("host3.example.com", "host2.example.com"), ("host1.example.com", "host2.example.com")):
            browser.tab_to(f"Remove the exception for {entry}")
            browser.press("Enter")
            browser.until("document.querySelector('dialog[open]')")
            removed.append(entry)
            browser.evaluate("document.querySelector('dialog[open] button.danger').focus()")
            browser.press("Enter")
            browser.until(f"!document.querySelector('dialog[open]') && !document.querySelector('tbody').innerText.includes({json.dumps(entry)})")
            browser.until(f"document.activeElement.getAttribute('aria-label') === 'Remove the exception for {following}'")

    def test_groups_say_whom_they_are_for(self):
        browser, _ = self.open("groups")
        for text in ("Groups of users", "Staff", "10.1.0.0/16", "anna, bob", "and 297 more", "whoever no group before it takes"):
            browser.shows(text)

    def test_who_is_here_is_shown_by_name_and_put_in_a_group(self):
        groups = items([figures.groups()["items"][0], {**figures.groups()["items"][1], "name": "children", "criteria": [{"kind": "clients", "count": 1, "names": ["10.2.0.0/16"]}]}])
        browser, _ = self.open("clients", answers={"/groups": lambda query: groups, "/edits": edits_off})
        for text in ("Anna's tablet", "10.2.3.4", "bob", "Seen last"):
            browser.shows(text)
        browser.evaluate("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { window.written = text; } } })")
        browser.tab_to("Put in a group: fd00::23")
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open]')")
        browser.until("document.activeElement.required")  # the name, which is not known yet
        browser.type("Anna's old radio")
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('dialog option')].map((each) => each.value)"), ["staff", "children"])
        browser.evaluate("{ const select = document.querySelector('dialog select'); select.value = 'children'; select.dispatchEvent(new Event('change')); }")
        browser.until("document.querySelector('dialog code').innerText.includes('--group children')")
        browser.press("Enter")
        browser.until("!document.querySelector('dialog[open]')")
        browser.shows("writes conf.d/devices.yaml")
        self.assertEqual(shlex.split(browser.evaluate("window.written")),
                         ["bloomwall", "device", "add", "Anna's old radio", "fd00::23", "--group", "children"])
        browser.until("document.activeElement.getAttribute('aria-label') === 'Put in a group: fd00::23'")

    def test_who_is_here_is_put_in_a_group_at_once_where_the_configuration_is_edited(self):
        browser, site = self.open("clients")
        browser.tab_to("Put in a group: fd00::23")
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open]')")
        browser.until("document.activeElement.required")
        browser.type("Anna's old radio")
        browser.evaluate("{ const select = document.querySelector('dialog select'); select.value = 'pupils'; select.dispatchEvent(new Event('change')); }")
        browser.press("Enter")
        browser.shows("Anna's old radio was saved and is in force.")
        self.assertEqual(site.changes, [("PUT", "/edits/devices/Anna's%20old%20radio", {"name": "Anna's old radio", "addresses": ["fd00::23"], "group": "pupils"})])

    def test_groups_and_their_times_are_edited_by_keys_alone(self):
        browser, site = self.open("edits")
        for text in ("written into /etc/bloomwall/conf.d", "in /etc/bloomwall/bloomwall.yaml", "lessons: block, otherwise: off", "devices that are put in it"):
            browser.shows(text)
        self.assertEqual(browser.evaluate("document.querySelectorAll('[aria-label=\"Change the group staff\"]').length"), 0, "it stands in another file")
        browser.tab_to("Change the times lessons")
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open] textarea')")
        self.assertEqual(browser.evaluate("document.querySelector('dialog textarea').value"), "mon-fri 08:00-12:30\nsat 09:00-10:00")
        browser.evaluate("document.querySelector('dialog textarea').select()")
        browser.tab_to("Times")
        browser.type("sun-thu 20:00-06:30")
        browser.tab_to("Save")
        browser.press("Enter")
        browser.shows("lessons was saved and is in force.")
        browser.until("document.activeElement.getAttribute('aria-label') === 'Change the times lessons'")
        browser.tab_to("Change the group pupils")
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open]')")
        choose = "[...document.querySelectorAll('dialog select')].find((each) => each.labels[0].innerText === {label})"
        for label, key in (("Filter ads", '"off"'), ("Everything else", '{"lessons":"deny"}')):
            browser.evaluate(f"""{{ const select = {choose.format(label=json.dumps(label))}; select.value = {json.dumps(key)};
              select.dispatchEvent(new Event('change')); }}""")
        browser.tab_to("Save")
        browser.press("Enter")
        browser.shows("pupils was saved and is in force.")
        browser.click("Take away the device Anna's tablet")
        browser.until("document.querySelector('dialog[open]')")
        browser.press("Enter")
        browser.shows("Anna's tablet was taken away.")
        browser.click("Take the last edit back")
        browser.shows("The last edit was taken back.")
        self.assertEqual(site.changes, [
            ("PUT", "/edits/schedules/lessons", {"times": ["sun-thu 20:00-06:30"]}),
            ("PUT", "/edits/groups/pupils", {"clients": "devices", "filters": {"games": {"lessons": "block", "otherwise": "off"}, "ads": "off"},
                                             "otherwise": {"lessons": "deny"}, "safe_search": ["google"]}),
            ("DELETE", "/edits/devices/Anna's%20tablet", None),
            ("PUT", "/edits/devices/Anna's%20tablet", {"times": ["mon-fri 08:00-12:30"]})])

    def test_what_somebody_else_has_changed_since_is_not_taken_back(self):
        browser, site = self.open("edits")
        browser.click("Take away the device Anna's tablet")
        browser.until("document.querySelector('dialog[open]')")
        browser.press("Enter")
        browser.shows("Anna's tablet was taken away.")
        site.outdated.add('"behind"')
        browser.click("Take the last edit back")
        browser.shows("somebody else has changed the configuration since")
        self.assertEqual(site.if_match[-1], '"behind"')

    def test_the_page_follows_a_list_that_is_on_its_way(self):
        states = iter(["wanted", "building"])
        now = ["wanted"]

        def moving(query):
            said = figures.edits()
            said["lists"][0]["state"] = now[0]
            now[0] = next(states, "added")
            return said
        browser, _ = self.open("edits", answers={"/edits": moving})
        browser.until("document.querySelector('#edit-lists').closest('section').querySelector('tbody tr').innerText.includes('in use')")

    def test_lists_of_the_catalogue_are_added_and_taken_away(self):
        browser, site = self.open("edits")
        browser.shows("not added: its filter could not be built")
        browser.click("Add the list hagezi-nsfw")
        browser.until("document.querySelector('dialog[open]')")
        browser.evaluate("{ const select = document.querySelector('dialog select'); select.value = 'refused'; select.dispatchEvent(new Event('change')); }")
        browser.press("Enter")
        browser.shows("hagezi-nsfw was asked for")
        browser.click("Take away the list hagezi-pro")
        browser.until("document.querySelector('dialog[open]')")
        browser.press("Enter")
        browser.shows("hagezi-pro was taken away.")
        self.assertEqual(site.changes, [("PUT", "/edits/lists/hagezi-nsfw", {"exceptions": "refused"}), ("DELETE", "/edits/lists/hagezi-pro", None)])

    def test_where_nothing_is_edited_the_reason_is_shown(self):
        browser, _ = self.open("edits", answers={"/edits": edits_off})
        browser.shows("Nothing can be edited here. admin.edits is false")
        self.assertEqual(browser.evaluate("document.querySelectorAll('main button').length"), 0)

    def test_where_addresses_are_masked_nobody_is_put_in_a_group(self):
        masked = {**figures.clients(), "clients": "network"}
        browser, _ = self.open("clients", answers={"/clients": lambda query: masked})
        browser.shows("devices cannot be told apart")
        self.assertEqual(browser.evaluate("document.querySelectorAll('td button').length"), 0)

    def test_no_group_that_asks_for_clients_is_said(self):
        browser, _ = self.open("clients", answers={"/groups": lambda query: items([]), "/edits": edits_off})
        browser.click("Put in a group: Anna's tablet")
        browser.shows("No group asks for clients")

    def test_filters_of_groups_stand_in_their_order_whatever_their_names(self):
        names = ["malware", "10", "ads", "2"]
        group = {**figures.groups()["items"][0], "actions": {name: "block" for name in names}, "filters": [{"name": name, "action": "block"} for name in names]}
        browser, _ = self.open("groups", answers={"/groups": lambda query: items([group])})
        shown = browser.evaluate("[...document.querySelectorAll('.facts:not(.criteria) dt')].map((each) => each.innerText)")
        self.assertEqual(shown[:4], names)

    def test_a_tiny_error_is_said_in_few_words_and_fits(self):
        filters = figures.filters()
        for each, error in zip(filters["items"], (5e-20, 9.9e-13, 2e-12)):
            each["predicted_error"]["unlisted_host"] = error
        browser, _ = self.open("filters", answers={"/filters": lambda query: filters})
        browser.shows("less than 1 in 10\u00b9\u00b2")
        browser.shows("1 in 500,000,000,000")
        browser.fits(1280)
        self.assertEqual(browser.text().count("less than 1 in"), 2)

    def test_a_long_address_pushes_nothing_away(self):
        rows = [request(0, url="http://shop.example/" + "a" * 1980), request(1), request(2, group="a-group-with-many-hyphens-in-its-long-name-of-64-octets-as-they-may-be")]
        for view, width in (("now", 1280), ("search", 1280), ("now", 360)):
            with self.subTest(view, width=width):
                browser, _ = self.open(view, width, answers={"/requests": lambda query: {**figures.requests(query), "items": rows}})
                browser.until("document.querySelector('.clamped')")
                row = "document.querySelector('.unfold').closest('tr').getBoundingClientRect().height"
                tall = browser.evaluate(row)
                self.assertLess(tall, 320, "a row of a few lines")
                self.assertLess(browser.evaluate("document.querySelector('.clamped').getBoundingClientRect().height"), 90, "three lines")
                self.assertLess(browser.evaluate("[...document.querySelectorAll('.name')].at(-1).getBoundingClientRect().height"), 40, "one line")
                browser.click("Show all of it")
                self.assertGreater(browser.evaluate(row), tall)
                browser.fits(width)
                browser.click("Show less")
                browser.until("document.querySelector('.clamped')")
                browser.fits(width)
                browser.close()

    def test_the_first_minutes_have_no_empty_chart(self):
        steps = figures.history("1h")["items"]
        browser, site = self.open("now", answers={"/history": lambda query: {"span": "1h", "step_seconds": 60, **items(steps[-1:])}})
        browser.shows("Collecting")
        self.assertEqual(browser.evaluate("document.querySelectorAll('.chart').length"), 0)
        site.answers["/history"] = lambda query: {"span": "1h", "step_seconds": 60, **items(steps[-4:])}
        browser.click("Last 24 hours")
        browser.until("document.querySelector('.chart canvas')")
        self.assertNotIn("Collecting", browser.text())
        ticks = browser.evaluate("""import(document.querySelector('script[type=module]').src.replace('main.js', 'format.js'))
          .then((format) => [0, 20, 40].map((second) => format.clockTime(1800000000 + second, 'second')))""")
        self.assertEqual(len(set(ticks)), 3, "ticks of a short time differ")

    def test_a_cured_row_says_so_and_offers_nothing(self):
        browser, _ = self.open("now", answers=PASSES)
        browser.click("Allow shop.example")
        browser.click("Allow")
        browser.until("[...document.querySelectorAll('td .badge')].some((each) => each.innerText === 'allowed now')")
        self.assertEqual(browser.evaluate("document.querySelectorAll('[aria-label=\\'Allow shop.example\\']').length"), 0)
        browser.go(browser.evaluate("location.href").split("#")[0] + "#/groups")
        browser.shows("pupils")
        browser.go(browser.evaluate("location.href").split("#")[0] + "#/now")
        browser.shows("allowed now")

    def test_the_zone_of_times_is_named(self):
        browser, _ = self.open("now")
        zone = browser.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone")
        browser.shows(f"Times are of the zone {zone}.")
        self.assertRegex(browser.until("document.querySelector('tbody time')?.title"), r"UTC|GMT|[A-Z]{3,4}$")

    def test_both_files_of_users_are_named(self):
        browser, _ = self.open("tokens")
        browser.shows("admin.users_file")
        browser.shows("authentication.users_file")

    def test_the_badge_follows_what_any_view_is_told(self):
        browser, site = self.open("now")
        browser.until("document.querySelector('header .badge')?.innerText === 'Serving'")
        site.is_silent = True
        browser.until("document.querySelector('header .badge')?.innerText === 'The proxy does not answer.'", 9)
        site.is_silent = False
        browser.until("document.querySelector('header .badge')?.innerText === 'Serving'", 30)

    def test_a_dialog_says_what_it_does(self):
        browser, _ = self.open("exceptions")
        browser.click("Block …")
        browser.until("document.querySelector('dialog[open] h2')?.innerText === 'Block something'")
        browser.press("Escape")
        browser.click("Allow …")
        browser.until("document.querySelector('dialog[open] h2')?.innerText === 'Allow something'")

    def test_no_name_is_asked_for_where_nobody_has_a_password(self):
        browser, _ = self.open("login", role=None, passwords=False)
        self.assertEqual(browser.evaluate("[...document.querySelectorAll('input')].map((each) => each.name)"), ["secret"])
        browser.until("document.activeElement.name === 'secret'")

    def test_what_was_typed_outlives_the_session(self):
        browser, site = self.open("exceptions")
        browser.click("Block …")
        browser.until("document.querySelector('dialog[open] input')")
        browser.type("typed.example.com")
        site.role = None
        browser.evaluate("[...document.querySelectorAll('dialog[open] input')].at(-1).focus()")
        browser.type("because of that")
        browser.press("Enter")
        browser.shows("The session has ended. Sign in again.")
        browser.until("document.activeElement.name === 'user' || document.activeElement.name === 'secret'")
        self.assertNotIn("typed.example.com", browser.text(), "nothing is shown to whoever comes by")
        browser.evaluate("document.querySelector('input[name=secret]').focus()")
        browser.type("bw_a1b2")
        browser.press("Enter")
        browser.until("document.querySelector('dialog[open] input')?.value === 'typed.example.com'")
        browser.until("[...document.querySelectorAll('dialog[open] input')].at(-1).value === 'because of that'")
        browser.evaluate("document.querySelector('dialog[open] button[type=submit]').focus()")
        browser.press("Enter")
        browser.until("!document.querySelector('dialog[open]')")
        made = [change for change in site.changes if change[1] == "/exceptions"][-1]
        self.assertEqual((made[2]["entry"], made[2]["action"]), ("typed.example.com", "deny"))

    def test_a_reviewer_of_groups_is_offered_what_the_api_takes(self):
        rows = [figures.exception(1, group="pupils"), figures.exception(2, group="staff"), figures.exception(3), figures.exception(4, client="10.2.3.4")]
        browser, _ = self.open("exceptions", role="reviewer", groups=["pupils"], answers={"/exceptions": lambda query: items(rows)})
        labels = browser.evaluate("[...document.querySelectorAll('tbody button')].map((each) => each.getAttribute('aria-label'))")
        self.assertEqual(labels, ["Remove the exception for host1.example.com"])


if __name__ == "__main__":
    if BUILD is None:
        sys.exit(__doc__)
    unittest.main()
