"""The filters of the proxy bloomwall, asked from Python by the code that the proxy asks (libbloomwall).

    import bloomwall
    policy = bloomwall.open("/var/lib/bloomwall/malware.bwf")
    answer = policy.ask("http://example.com/a")
    if answer.verdict == bloomwall.BLOCKED:
        print(answer.filter, answer.expression)

A policy may be asked by any number of threads, which run at the same time while they ask. What fails raises Error.
SPDX-License-Identifier: Apache-2.0
"""
from . import _bloomwall
from ._bloomwall import (ADDRESS, ALLOWED, BLOCKED, HOST, MONITORED, RAW, REJECTED, URL, Answer, Error, __version__)

__all__ = ["ADDRESS", "ALLOWED", "BLOCKED", "HOST", "MONITORED", "RAW", "REJECTED", "URL", "Answer", "Error", "Policy", "open"]


class Policy(_bloomwall.Policy):
    """Filters in their order, and allow lists. Files are opened by reload()."""

    def add_filter(self, file, name=None, **settings):
        """Adds a filter file behind the others. `name`: what answers call it; None: the file's name without folder and ending.
        settings: delta, exact, public_key, action, on_error, as set() takes them."""
        self._add_filter(file, name)
        for key, value in settings.items():
            self.set(key, value)


def open(file):  # pylint: disable=redefined-builtin
    """A policy of one filter file, loaded."""
    policy = Policy()
    policy.add_filter(file)
    policy.reload()
    return policy
