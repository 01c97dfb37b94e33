# SPDX-License-Identifier: Apache-2.0
"""Answers a batch of URLs with the plain reference implementation, for a differential test.

Usage: reference_batch.py FOLDER < urls > answers
FOLDER holds reference.py, whose canon(bytes) gives (action, canonical, alternatives) and whose idna_batch(hosts) asks a
second program for all names with letters beyond ASCII at once. A line in is one URL in hexadecimal; a line out is
action TAB canonical TAB alternatives."""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import reference  # noqa: E402

urls = [bytes.fromhex(line) for line in sys.stdin.read().split("\n")[:-1]]

# The first pass only learns which names there are, so that one call answers them all.
names = set()
answer_one = reference.to_ascii
reference.to_ascii = lambda name: names.add(name) or ""
for url in urls:
    reference.canon(url)
reference.to_ascii = answer_one
reference.idna_batch(list(names))

for url in urls:
    print("\t".join(reference.canon(url)))
