"""The seed of a random test. SPDX-License-Identifier: Apache-2.0
"""
import os
import random
import sys


def test_seed():
    """BLOOMWALL_SEED where that is set, so that a run can be repeated, else a new one; printed. `.ci/run` sets it."""
    seed = int(os.environ.get("BLOOMWALL_SEED") or random.SystemRandom().randrange(1 << 32))
    print(f"BLOOMWALL_SEED={seed}", file=sys.stderr, flush=True)
    return seed
