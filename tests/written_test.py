#!/usr/bin/env python3
"""What is written of a report, by everybody who writes of it, under each setting that leaves something of people out of logs.

Usage: written_test.py BUILD_DIR [unittest arguments].
SPDX-License-Identifier: Apache-2.0
"""
import base64
import json
import os
import re
import stat

from interception_site import main, until
from reports_site import Site
from webhook_test import Hook

CLIENT, QUERY, COMMENT = "127.0.0.2", "s3cr3tquery", "a-shop-for-shoes"

# Setting, what the configuration has beside the rest, the client as it stands everywhere (None: nothing), whether the query does.
SETTINGS = (
    ("nothing set", {}, CLIENT, True),
    ("queries: strip", {"more": "query_log: {queries: strip}"}, CLIENT, False),
    ("strip_query", {"access": ", strip_query: true"}, CLIENT, False),
    ("clients: network", {"more": "query_log: {clients: network}"}, "127.0.0.0/24", True),
    ("clients: keyed", {"more": "query_log: {clients: keyed}"}, "[0-9a-f]{16}", True),
    ("clients: none", {"more": "query_log: {clients: none}"}, None, True),
    ("log: counted", {"pupils": ", log: counted"}, None, True),
    ("log: blocked", {"pupils": ", log: blocked"}, CLIENT, True),
    ("exclude", {"more": "query_log: {exclude: [shop.test]}"}, None, True),
    ("all", {"more": "query_log: {clients: none, queries: strip}", "access": ", strip_query: true", "pupils": ", log: counted"}, None, False),
)


class Written(Site):
    def writers(self, how):
        """A report is made, shown, accepted, and sent to a hook: who has written what of it."""
        hook = Hook(200)
        self.addCleanup(hook.close)
        state = f"state-{len(list(self.folder.iterdir()))}"
        before = os.umask(0)  # that of a container
        try:
            proxy = self.proxy(f"reports: {{webhook: {hook.url}}}\n" + how.get("more", ""), state=state,
                               access=how.get("access", ""), pupils=how.get("pupils", ""))
        finally:
            os.umask(before)
        page = proxy.get(f"/reset?token={QUERY}", client=CLIENT)
        ticket = page.form()[1]
        self.assertEqual(proxy.report(ticket=ticket, client=CLIENT, comment=COMMENT).status, 201)
        said = {"ticket": base64.urlsafe_b64decode(ticket + "=" * (-len(ticket) % 4)),
                "webhook": json.dumps(until(lambda: hook.got)[0][1]).encode(),
                "bloomwall reports": json.dumps(proxy.reports()).encode()}
        item = proxy.reports()[0]
        proxy.command("report", "accept", "1", "--scope", "client", status=0 if item["client"] == CLIENT else 1)
        if item["client"] != CLIENT:
            proxy.command("report", "accept", "1")
        said["bloomwall audit"] = json.dumps(proxy.audit()).encode()
        said["daemon log"] = proxy.sent.read_bytes()
        for file in sorted((self.folder / state).iterdir()):
            if file.is_file():
                said[file.name] = file.read_bytes()
                if file.name != "exceptions.txt" and (file.name.startswith("state.db") or file.name.startswith("exceptions")):
                    self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file.name)
        proxy.end()
        return item, said

    def test_every_writer_leaves_out_what_the_settings_say(self):
        for setting, how, client, has_query in SETTINGS:
            item, said = self.writers(how)
            with self.subTest(setting):
                self.assertRegex(str(item["client"]), f"^{client}$")
                self.assertEqual(item["url"], f"http://shop.test:{self.origin.port}/reset" + (f"?token={QUERY}" if has_query else ""))
                self.assertEqual(item["comment"], COMMENT, "the person's own words")
                self.assertGreater(len(said), 6, said.keys())
            for writer, text in said.items():
                with self.subTest(setting, writer=writer):
                    if not has_query:
                        self.assertNotIn(QUERY.encode(), text)
                    if client != CLIENT:
                        self.assertIsNone(re.search(rb"127\.0\.0\.2(?!\d)", text))
                    if writer == "daemon log":
                        for secret in (QUERY, COMMENT, CLIENT, "shop.test"):
                            self.assertNotIn(secret.encode(), text)


if __name__ == "__main__":
    main()
