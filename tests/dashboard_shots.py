#!/usr/bin/env python3
"""Pictures of every view of the dashboard, with figures made up (dashboard_site.py), at 1280 and 360 pixels, light and dark.

For eyes: nothing is compared. Usage: dashboard_shots.py FOLDER [VIEW...]
       dashboard_shots.py readme BUILD_DIR     the two of README, in docs/pictures: the dashboard, and the block page of that program
SPDX-License-Identifier: Apache-2.0
"""
import pathlib
import sys
import tempfile
import urllib.error
import urllib.request

from dashboard_browser import Dashboard
from dashboard_site import Site

VIEWS = {"login": "", "now": "now", "top": "top", "live": "live", "search": "search", "clients": "clients", "reports": "reports", "exceptions": "exceptions", "groups": "groups", "edits": "edits",
         "check": "check?url=https%3A%2F%2Fdocs.example.net%2Fhandbook&client=10.2.3.4", "filters": "filters", "reloads": "reloads", "tokens": "tokens",
         "audit": "audit", "allow": "now"}
PICTURES = pathlib.Path(__file__).resolve().parent.parent / "docs/pictures"


def show(browser, site, view):
    browser.go(f"{site.url}#/{VIEWS[view]}")
    browser.until("document.querySelector('h1') && !document.querySelector('main p.quiet[role=status]:only-child')")
    browser.until("!document.body.innerText.includes('Loading')")
    if view == "live":
        browser.until("document.querySelectorAll('tbody tr').length > 20")
    if view == "allow":
        browser.click("Allow shop.example")
        browser.until("document.querySelector('dialog[open]')")


def every_view(browser, folder, views):
    for view in views:
        for width in (1280, 360):
            for dark in (False, True):
                site = Site(role=None if view == "login" else "admin")
                browser.look(width, dark=dark)
                show(browser, site, view)
                browser.picture(folder / f"{view}-{width}-{'dark' if dark else 'light'}.png")
                wide = browser.evaluate("document.documentElement.scrollWidth")
                print(f"{view} {width} {'dark' if dark else 'light'}{f': {wide} pixels wide' if wide > width else ''}", flush=True)
                site.close()


def block_page(folder):
    """As a browser gets it from the program of argv[1], for a listed host."""
    from api_site import Proxy  # its first argument is the build
    from interception_site import BUILD, run
    (folder / "social.txt").write_text("chat.example\n")
    run(BUILD / "bloomwall-filter", "build", "-q", "-o", folder / "social.bwf", "--category", "social networks", folder / "social.txt")
    (folder / "more.yaml").write_text("filters: [{name: ut1-social, file: social.bwf}]\n")
    proxy = Proxy(folder, more="include: [more.yaml]\nblock_page: {contact: helpdesk@school.example}\n", authentication="")
    try:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": f"http://127.0.0.1:{proxy.own_port}"}))
        opener.addheaders = [("Accept", "text/html"), ("Accept-Language", "en")]
        opener.open("http://chat.example/room/7")
    except urllib.error.HTTPError as answer:
        return answer.read().decode()
    finally:
        proxy.stop()
    raise AssertionError("chat.example was not blocked")


def of_readme(browser, folder):
    PICTURES.mkdir(exist_ok=True)
    site = Site(role="admin")
    browser.look(1280)
    show(browser, site, "now")
    browser.picture(PICTURES / "dashboard.png", 800)
    site.close()
    (folder / "page.html").write_text(block_page(folder))
    browser.look(760)
    browser.go(f"file://{folder}/page.html")
    browser.until("document.querySelector('h1')")
    browser.picture(PICTURES / "block-page.png")


def main():
    readme = sys.argv[1] == "readme"
    with tempfile.TemporaryDirectory() as home:
        browser = Dashboard(pathlib.Path(home) / "chromium")
        if readme:
            sys.argv.pop(1)
            of_readme(browser, pathlib.Path(home))
        else:
            folder = pathlib.Path(sys.argv[1])
            folder.mkdir(parents=True, exist_ok=True)
            every_view(browser, folder, sys.argv[2:] or list(VIEWS))
        print(*browser.complaints(), sep="\n")
        browser.close()


if __name__ == "__main__":
    main()
