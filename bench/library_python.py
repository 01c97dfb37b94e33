#!/usr/bin/env python3
"""What Python costs above libbloomwall: the same keys asked by bw_ask_lines() alone, by ask_lines(), ask_many() and ask() of the module
bloomwall. Rounds are interleaved, and the best of each counts: nanoseconds of CPU a key.

Usage: library_python.py BUILD_DIRECTORY [KEYS [ROUNDS]]: 200,000 keys, 7 rounds.
SPDX-License-Identifier: Apache-2.0
"""
import ctypes
import pathlib
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
KEYS = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 7
sys.path.insert(0, str(BUILD / "python"))
import bloomwall  # pylint: disable=wrong-import-position,import-error

LIBRARY = ctypes.CDLL(str(BUILD / "libbloomwall.so.0"))
LIBRARY.bw_open.restype = ctypes.c_void_p
LIBRARY.bw_ask_lines.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t,
                                 ctypes.POINTER(ctypes.c_size_t)]


def make_filter(folder):
    (folder / "list.txt").write_text("".join(f"listed{i}.example\n" for i in range(250_000)))
    subprocess.run([BUILD / "bloomwall-filter", "build", "-q", "-o", folder / "lists.bwf", folder / "list.txt"], check=True)
    return folder / "lists.bwf"


def timed(call):
    begin = time.thread_time_ns()
    verdicts = call()
    return (time.thread_time_ns() - begin) / KEYS, verdicts


def main():
    # One in ten is listed.
    texts = [f"http://{'listed' if i % 10 == 0 else 'plain'}{i % 250_000}.example/a/b?c={i}" for i in range(KEYS)]
    lines = "".join(text + "\n" for text in texts).encode()
    with tempfile.TemporaryDirectory() as name:
        file = make_filter(pathlib.Path(name))
        policy = bloomwall.open(file)
        opened = LIBRARY.bw_open(str(file).encode())
    room, count = ctypes.create_string_buffer(KEYS), ctypes.c_size_t()

    def ask_in_c():
        assert LIBRARY.bw_ask_lines(opened, 1, lines, len(lines), room, KEYS, ctypes.byref(count)) == 0
        return room.raw

    ways = {"bw_ask_lines": ask_in_c, "ask_lines": lambda: policy.ask_lines(lines), "ask_many": lambda: policy.ask_many(texts),
            "ask": lambda: bytes(policy.ask(text).verdict for text in texts)}
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(ROUNDS):
        for way, call in ways.items():
            took, verdicts = timed(call)
            assert verdicts.count(2) >= KEYS // 10 and len(verdicts) == KEYS, way
            best[way] = min(best[way], took)
    for way, took in best.items():
        print(f"{way:<13}{took:8.0f} ns a key, {took - best['bw_ask_lines']:+8.0f}")


main()
