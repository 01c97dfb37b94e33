#!/usr/bin/env python3
"""Pictures of every view of the dashboard, with figures made up (dashboard_site.py), at 1280 and 360 pixels, light and dark.

For eyes: nothing is compared. Usage: dashboard_shots.py FOLDER [VIEW...]
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import tempfile

from dashboard_browser import Dashboard
from dashboard_site import Site

VIEWS = {"login": "", "now": "now", "top": "top", "live": "live", "search": "search", "reports": "reports", "exceptions": "exceptions", "groups": "groups",
         "check": "check?url=https%3A%2F%2Fdocs.example.net%2Fhandbook&client=10.2.3.4", "filters": "filters", "reloads": "reloads", "tokens": "tokens",
         "audit": "audit", "allow": "now"}


def main():
    folder, views = pathlib.Path(sys.argv[1]), sys.argv[2:] or list(VIEWS)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        browser = Dashboard(pathlib.Path(home) / "chromium")
        for view in views:
            for width in (1280, 360):
                for dark in (False, True):
                    site = Site(role=None if view == "login" else "admin")
                    browser.look(width, dark=dark)
                    browser.go(f"{site.url}#/{VIEWS[view]}")
                    browser.until("document.querySelector('h1') && !document.querySelector('main p.quiet[role=status]:only-child')")
                    browser.until("!document.body.innerText.includes('Loading')")
                    if view == "live":
                        browser.until("document.querySelectorAll('tbody tr').length > 20")
                    if view == "allow":
                        browser.click("Allow shop.example")
                        browser.until("document.querySelector('dialog[open]')")
                    browser.picture(folder / f"{view}-{width}-{'dark' if dark else 'light'}.png")
                    wide = browser.evaluate("document.documentElement.scrollWidth")
                    print(f"{view} {width} {'dark' if dark else 'light'}{f': {wide} pixels wide' if wide > width else ''}", flush=True)
                    site.close()
        print(*browser.complaints(), sep="\n")
        browser.close()


if __name__ == "__main__":
    main()
