#!/usr/bin/env python3
"""A helper of Squid's protocol that behaves as its arguments say: helper.py HOW [CONCURRENCY [MORE]].

Passwords: right is "open sesame", but nobody's is for "nobody". Tickets: base64 of a name, once; "legs": in two legs, of which the
second is base64 of what the first was and "2", on the same channel of the same process. Groups: every user is in a group
whose name begins as the user's does.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import os
import pathlib
import random
import sys
import time
import urllib.parse

HOW, MORE = sys.argv[1], sys.argv[3:]
CONCURRENCY = int(sys.argv[2]) if len(sys.argv) > 2 else 0
seen = set()


def password(words):
    name, secret = (urllib.parse.unquote_to_bytes(word) for word in words)
    if secret == b"cannot tell":
        return "BH message=\"the directory is gone\""
    return f"OK user={words[0]} group=known" if secret == b"open sesame" and name != b"nobody" else "ERR message=wrong"


def ticket(words):
    if words[1] in seen:
        return "BH message=\"was used before\""
    seen.add(words[1])
    try:
        return f"OK token=AAAA user={base64.b64decode(words[1], validate=True).decode()}"
    except ValueError:
        return "BH junk"


def legs(words):
    kind, text = words[0], base64.b64decode(words[1]).decode()
    if kind == "YR" and text != "at once":
        asked[channel] = text
        return "TT token=bGVn"
    first = asked.pop(channel, None)
    if text == "endless" or (kind == "KK" and first == "endless"):
        asked[channel] = "endless"
        return "TT bGVn"
    return f"OK token=AAAA user={first}" if first is not None and text == first + "2" else "BH not what was begun"


def group(words):
    user, wanted = (urllib.parse.unquote(word) for word in words)
    return "BH gone" if wanted == "cannot tell" else "OK" if wanted[:1] == user[:1] else "ERR"


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def misbehave(channel, answer, dice):
    """Most answers are right and late at times; some are not."""
    roll = dice.random()
    if roll < 0.70:
        say(f"{channel}{answer}\n")
    elif roll < 0.86:
        later.append(f"{channel}{answer}\n")
    elif roll < 0.90:
        os._exit(1)
    elif roll < 0.93:
        say(f"{CONCURRENCY + 5} {answer}\n")
    elif roll < 0.95:
        say("\0\xff?\n" * dice.randrange(1, 100))
    elif roll < 0.97:
        say("x" * 70000)
    if len(later) > 2 or dice.random() < 0.3:
        dice.shuffle(later)
        while later:
            say(later.pop())


def main():
    if HOW == "early":
        say("OK\n")
    if HOW == "complains":
        sys.stderr.write("no such directory\n")
        sys.stderr.flush()
        sys.exit(1)
    if HOW == "unasked":
        say("0 OK user=eve\n" if CONCURRENCY else "OK user=eve\n")
    if HOW in ("deaf", "unasked"):
        time.sleep(3600)
    if HOW == "exits":
        sys.exit(3)
    if HOW == "mute":
        os.close(2)
    dice = random.Random(f"{MORE[0] if MORE else 0} {os.getpid()}")
    global channel
    for line in sys.stdin:
        words = line.rstrip("\n").split(" ")
        channel = words.pop(0) + " " if CONCURRENCY else ""
        if HOW == "dies" or (HOW == "dies once" and not pathlib.Path(MORE[0]).exists()):
            if HOW == "dies once":
                pathlib.Path(MORE[0]).touch()
            os._exit(1)
        while HOW == "held" and not pathlib.Path(MORE[0]).exists():
            time.sleep(0.01)
        if HOW == "dies at" and words[0] == MORE[0]:
            os._exit(1)
        if HOW == "hangs" or (HOW == "hangs at" and words[0] == MORE[0]):
            continue
        answer = {"ticket": ticket, "legs": legs, "dies at": legs, "group": group}.get(HOW, password)(words)
        if HOW == "nameless":
            answer = answer.replace(f" user={words[0]}", "")
        if HOW == "chatty":
            answer += "\nOK"
        if HOW == "foreign":
            channel = f"{CONCURRENCY + 7} "
        if HOW == "junk":
            answer = "HELLO"
        if HOW in ("succeeds", "complains and succeeds"):
            answer = "BH Success"
        if HOW == "complains and succeeds":
            sys.stderr.write("Can't contact LDAP server\n")
            sys.stderr.flush()
        if HOW == "quotes":
            answer = f"BH message=\"{urllib.parse.unquote(words[1])} is wrong\""
        if HOW == "endless":
            answer = "x" * 200000
        if HOW == "floods":
            while True:
                say(f"{channel}{answer}\n" * 1000)
        if HOW == "adversary":
            misbehave(channel, answer, dice)
        else:
            say(f"{channel}{answer}\n")


later, asked, channel = [], {}, ""
main()
