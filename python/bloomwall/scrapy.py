"""Scrapy's filter of duplicate requests on a set of fixed size, which a crash of the crawl does not lose. In settings.py:

    DUPEFILTER_CLASS = "bloomwall.scrapy.Seen"
    BLOOMWALL_SEEN_KEYS = 10_000_000  # different requests that it is to hold
    BLOOMWALL_SEEN_ERROR = 1e-6       # how often it may then take a new request for a seen one
    BLOOMWALL_SEEN_SAVE_SECONDS = 60  # between two checkpoints in JOBDIR; 0: at the end of the crawl alone

What is compared are the fingerprints of Scrapy (REQUEST_FINGERPRINTER_CLASS: method, URL and body as they count for it), so that it drops
what Scrapy's own filter drops. With JOBDIR the set is the file requests.seen.bwf there, and goes on in the next crawl; without, it is in
memory alone. What it was made for stays: with another number in the settings the crawl ends with an error that says so. A set that is full
ends the crawl with the reason seen_full; it does not begin to err.
SPDX-License-Identifier: Apache-2.0
"""
import logging
import pathlib

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.request import referer_str
from twisted.internet.task import LoopingCall
from twisted.internet.threads import deferToThread

import bloomwall

logger = logging.getLogger(__name__)
FILE = "requests.seen.bwf"
USUAL_KEYS = 10_000_000
_FULL = -11  # BW_ERROR_LIMIT of bloomwall.h


class Seen(BaseDupeFilter):
    def __init__(self, fingerprinter, path=None, keys=0, error=0.0, save_seconds=60.0, debug=False, crawler=None):
        """`path`: of the file, or None. `keys`, `error`: 0 stands for what the file says, or for the usual where there is none yet."""
        self.fingerprinter = fingerprinter
        self.path = path
        self.keys = keys
        self.error = error
        self.save_seconds = save_seconds
        self.debug = debug
        self.crawler = crawler
        self.seen = None
        self.saving = None  # the loop that writes checkpoints
        self.saving_ends = None  # a Deferred that fires after the loop's last one
        self.logs_next = True
        self.is_full = False

    @classmethod
    def from_crawler(cls, crawler):
        settings = crawler.settings
        folder = job_dir(settings)
        return cls(crawler.request_fingerprinter, path=pathlib.Path(folder, FILE) if folder else None,
                   keys=settings.getint("BLOOMWALL_SEEN_KEYS"), error=settings.getfloat("BLOOMWALL_SEEN_ERROR"),
                   save_seconds=settings.getfloat("BLOOMWALL_SEEN_SAVE_SECONDS", 60), debug=settings.getbool("DUPEFILTER_DEBUG"), crawler=crawler)

    def open(self):
        is_new = self.path is None or not self.path.exists()
        self.seen = bloomwall.Seen(self.path, bloomwall.RAW, self.keys or (USUAL_KEYS if is_new else 0), self.error)
        logger.info("%s: %d requests seen before, of %d at an error of %g; %d bytes", self.path or "in memory", len(self.seen),
                    self.seen.capacity, self.seen.error, self.seen.bytes)
        if self.path is not None and self.save_seconds > 0:
            self.saving = LoopingCall(self._save)
            self.saving_ends = self.saving.start(self.save_seconds, now=False)

    def request_seen(self, request):
        try:
            return not self.seen.add(self.fingerprinter.fingerprint(request))
        except bloomwall.Error as error:
            if error.code != _FULL:
                raise
            self._end_crawl(error)
            return False  # it waits in JOBDIR, if there is one

    def close(self, reason):  # pylint: disable=unused-argument
        """A Deferred, unless there is nothing to save."""
        if self.seen is None:  # open() has failed
            return None
        if self.crawler is not None:
            self.crawler.stats.set_value("bloomwall/seen/requests", len(self.seen))
            self.crawler.stats.set_value("bloomwall/seen/error_now", self.seen.error_now)
        logger.info("%s: %d requests seen, of %d; the next new one is taken for seen with a chance of %g", self.path or "in memory",
                    len(self.seen), self.seen.capacity, self.seen.error_now)
        if self.path is None:
            return None
        if self.saving is None or not self.saving.running:
            return self._save()
        self.saving.stop()
        return self.saving_ends.addBoth(lambda _: self._save())

    def log(self, request, spider):
        if self.debug:
            logger.debug("Filtered duplicate request: %(request)s (referer: %(referer)s)", {"request": request, "referer": referer_str(request)},
                         extra={"spider": spider})
        elif self.logs_next:
            logger.debug("Filtered duplicate request: %(request)s - no more duplicates will be shown (see DUPEFILTER_DEBUG to show all "
                         "duplicates)", {"request": request}, extra={"spider": spider})
            self.logs_next = False
        spider.crawler.stats.inc_value("dupefilter/filtered", spider=spider)

    def _save(self):
        """In a thread, since the disk may be slow. The file stays as it is after an error, and the next checkpoint tries again."""
        return deferToThread(self.seen.save).addErrback(lambda failure: logger.error("No checkpoint was written: %s", failure.getErrorMessage()))

    def _end_crawl(self, error):
        if self.is_full:
            return
        self.is_full = True
        logger.error("%s", error)
        if self.crawler is not None:
            self.crawler.stats.inc_value("bloomwall/seen/full")
            self.crawler.engine.close_spider(self.crawler.spider, "seen_full")
