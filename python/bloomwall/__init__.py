"""The filters of the proxy bloomwall, asked from Python by the code that the proxy asks (libbloomwall).

    import bloomwall
    policy = bloomwall.open("/var/lib/bloomwall/malware.bwf")
    answer = policy.ask("http://example.com/a")
    if answer.verdict == bloomwall.BLOCKED:
        print(answer.filter, answer.expression)

A policy may be asked by any number of threads, which run at the same time while they ask. What fails raises Error.

    seen = bloomwall.Seen("visited.bwf", keys=50_000_000)
    if seen.add("http://example.com/a"):  # it is new
        seen.save()

SPDX-License-Identifier: Apache-2.0
"""
from . import _bloomwall
from ._bloomwall import (ADDRESS, ALLOWED, BLOCKED, FULL, HOST, MONITORED, NEW, RAW, REJECTED, SEEN, URL, Answer, Error, __version__)

__all__ = ["ADDRESS", "ALLOWED", "BLOCKED", "FULL", "HOST", "MONITORED", "NEW", "RAW", "REJECTED", "SEEN", "URL", "Answer", "Error",
           "Policy", "Seen", "open"]


class Policy(_bloomwall.Policy):
    """Filters in their order, and allow lists. Files are opened by reload()."""

    def add_filter(self, file, name=None, **settings):
        """Adds a filter file behind the others. `name`: what answers call it; None: the file's name without folder and ending.
        settings: delta, exact, public_key, action, on_error, as set() takes them."""
        self._add_filter(file, name)
        for key, value in settings.items():
            self.set(key, value)


class Seen(_bloomwall.Seen):
    """A set that grows while it is asked: Seen(file=None, kind=URL, keys=0, error=0.0), as bw_seen_open() of bloomwall.h has it.

    `text in seen` asks, seen.add(text) adds; len(seen) is the number of different ones. A full set raises Error (code -11) for what is
    new; that of add_many() and add_lines() has `outcomes`, where FULL stands for what was not added."""


def open(file):  # pylint: disable=redefined-builtin
    """A policy of one filter file, loaded."""
    policy = Policy()
    policy.add_filter(file)
    policy.reload()
    return policy
