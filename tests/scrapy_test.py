#!/usr/bin/env python3
"""bloomwall.scrapy.Seen as the filter of duplicates of a real Scrapy, over pages of a server here.

Usage: scrapy_test.py BUILD_DIRECTORY. Exit status 77 (skipped) where Debian's Scrapy (python3-scrapy) or the Python module is not here.
BLOOMWALL_SCRAPY_PAGES: how many pages; 100000 is the long form, which takes some minutes.
SPDX-License-Identifier: Apache-2.0
"""
import collections
import http.server
import os
import pathlib
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
PYTHON = "/usr/bin/python3"
PAGES = int(os.environ.get("BLOOMWALL_SCRAPY_PAGES", "300"))
BOUND = 120 + PAGES / 20  # seconds that no crawl takes
FILE = "requests.seen.bwf"

SPIDER = '''
import scrapy
class Pages(scrapy.Spider):
    name = "pages"
    def start_requests(self):
        yield scrapy.Request(f"{self.site}/0")
        if hasattr(self, "all_pages"):
            for page in range(int(self.all_pages)):
                yield scrapy.Request(f"{self.site}/{page}")
    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link, self.parse)
        if response.url.endswith("/0"):
            for _ in range(2):  # the same URL, but another request
                yield scrapy.Request(response.url, self.parse, method="POST", body=b"more")
'''


class Site(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Page n links to 2n+1 and 2n+2, and to pages that others link to."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Pages)
        self.lock = threading.Lock()
        self.asked = []  # (time, method, page)
        self.slow = 0.0  # seconds an answer takes
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A crawler that was killed reads no answer."""

    def take(self):
        """What was asked since the last call."""
        with self.lock:
            asked, self.asked = self.asked, []
        return asked


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        page = int(self.path[1:])
        with self.server.lock:
            self.server.asked.append((time.time(), self.command, page))
        time.sleep(self.server.slow)
        links = [link for link in (2 * page + 1, 2 * page + 2, page // 2, 0, (page * 7 + 1) % PAGES) if link < PAGES]
        body = "".join(f'<a href="/{link}#part">{link}</a>\n' for link in links).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *_):
        pass


def command(folder, site, job, *settings, arguments=()):
    names = [f"-s{setting}" for setting in ("DUPEFILTER_CLASS=bloomwall.scrapy.Seen", "TELNETCONSOLE_ENABLED=False", "LOG_LEVEL=INFO",
                                            "REQUEST_FINGERPRINTER_IMPLEMENTATION=2.7", *([f"JOBDIR={job}"] if job else []), *settings)]
    places = [word for argument in (f"site=http://127.0.0.1:{site.server_port}", *arguments) for word in ("-a", argument)]
    return [PYTHON, "-m", "scrapy", "runspider", str(folder / "pages.py"), *names, *places]


def environment():
    return dict(os.environ, PYTHONPATH=str(BUILD / "python"), PYTHONDONTWRITEBYTECODE="1")


def crawl(folder, site, job, *settings, **more):
    """The log of a crawl to its end."""
    done = subprocess.run(command(folder, site, job, *settings, **more), cwd=folder, env=environment(), capture_output=True, text=True,
                          timeout=BOUND, check=False)
    assert done.returncode == 0, done.stderr
    return done.stderr


def stat(log, name):
    found = re.search(rf"'{re.escape(name)}': (.+?)[,}}]", log)
    return found.group(1) if found else None


def check_twice(folder, site):
    """Each page once, as with Scrapy's own filter; nothing in the second run."""
    each_once = collections.Counter([("GET", page) for page in range(PAGES)] + [("POST", 0)])
    crawl(folder, site, folder / "theirs", "DUPEFILTER_CLASS=scrapy.dupefilters.RFPDupeFilter")
    assert collections.Counter(asked[1:] for asked in site.take()) == each_once
    log = crawl(folder, site, folder / "job", f"BLOOMWALL_SEEN_KEYS={2 * PAGES}")
    asked = collections.Counter(each[1:] for each in site.take())
    assert asked == each_once, (asked - each_once, each_once - asked)
    assert int(stat(log, "dupefilter/filtered")) > PAGES and int(stat(log, "bloomwall/seen/requests")) == PAGES + 1, log
    assert (folder / "job" / FILE).stat().st_size > 4096
    log = crawl(folder, site, folder / "job")
    assert site.take() == [] and f"{PAGES + 1} requests seen before, of {2 * PAGES}" in log, log


def check_memory(folder, site):
    """Without JOBDIR nothing stays."""
    for _ in range(2):
        log = crawl(folder, site, None)
        assert len(site.take()) == PAGES + 1 and "in memory" in log, log
    assert not list(folder.rglob("*.bwf-tmp"))


def check_other_settings(folder, site):
    """A set of another size is not the set that is there."""
    done = subprocess.run(command(folder, site, folder / "job", "BLOOMWALL_SEEN_KEYS=7"), cwd=folder, env=environment(), capture_output=True,
                          text=True, timeout=BOUND, check=False)
    assert "was made for" in done.stderr and site.take() == [], done.stderr


def check_full(folder, site):
    log = crawl(folder, site, folder / "full", "BLOOMWALL_SEEN_KEYS=20")
    assert "the set is full: it was made for 20 keys" in log and stat(log, "finish_reason") == "'seen_full'", log
    assert stat(log, "bloomwall/seen/requests") == "20" and stat(log, "bloomwall/seen/full") == "1", log
    site.take()


def wait_for(what, process):
    bound = time.monotonic() + BOUND
    while not what():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < bound, "nothing came"
        time.sleep(0.02)


def check_kill(folder, site):
    """kill -9 in the middle of a crawl: the next one has the last checkpoint, and asks for nothing that was in it."""
    file = folder / "killed" / FILE
    pages = f"all_pages={PAGES}"
    site.slow = 0.3
    with subprocess.Popen(command(folder, site, folder / "killed", "BLOOMWALL_SEEN_SAVE_SECONDS=0.2", "CONCURRENT_REQUESTS_PER_DOMAIN=4",
                                  arguments=(pages, )), cwd=folder, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            wait_for(lambda: len(site.asked) > 10 and file.exists(), process)
            with site.lock:
                came = list(site.asked)
            # A checkpoint that began after these: the second from here, since one may be under way.
            for _ in range(2):
                stamp = file.stat().st_ino
                wait_for(lambda stamp=stamp: file.stat().st_ino != stamp, process)
        finally:
            process.send_signal(signal.SIGKILL)
        process.stderr.read()
    time.sleep(2 * site.slow)  # what was under way has been noted
    site.take()
    site.slow = 0
    shutil.rmtree(folder / "killed" / "requests.queue", ignore_errors=True)  # of Scrapy, which cannot go on with it after a kill
    log = crawl(folder, site, folder / "killed", arguments=(pages, ))
    again = {each[1:] for each in site.take()}
    assert stat(log, "finish_reason") == "'finished'", log
    before = int(re.search(r"(\d+) requests seen before", log).group(1))
    assert before >= len({each[1:] for each in came}), (before, len(came))
    assert not again & {each[1:] for each in came}, again & {each[1:] for each in came}
    assert 0 < len(again) <= PAGES + 1 - len({each[1:] for each in came}), (len(again), before)


def main():
    if subprocess.run([PYTHON, "-c", "import scrapy"], capture_output=True, check=False).returncode != 0 or not (BUILD / "python").is_dir():
        print("Debian's Scrapy (python3-scrapy) or the Python module is not here: skipped")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        (folder / "pages.py").write_text(SPIDER)
        site = Site()
        check_twice(folder, site)
        check_other_settings(folder, site)
        check_memory(folder, site)
        check_full(folder, site)
        check_kill(folder, site)
        site.shutdown()
    return 0


sys.exit(main())
