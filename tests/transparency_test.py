#!/usr/bin/env python3
"""What passes elsewhere passes here: answers of origins and requests of clients through bloomwall and, side by side, Squid, nginx and
HAProxy. A row fails where two of these pass it on with its meaning unchanged and bloomwall does not. What bloomwall refuses on purpose
says so in its row, with the reason, and must still be refused, and still pass elsewhere.

The rows stand in transparency_answers.txt and transparency_requests.txt, whose first lines say how to read them, with the peers that have
passed each. Those are asked again where they are installed; with fewer than two, what is written there counts.

Usage: transparency_test.py BUILD_DIR [--record | --show ROW...]. --record writes into the tables what the peers do now; --show prints what
arrived where. SPDX-License-Identifier: Apache-2.0
"""
import asyncio
import operator
import os
import pathlib
import re
import sys
import tempfile

from transparency_site import ASKED, LANES, PLAIN, Script, Site, octets

HERE = pathlib.Path(__file__).resolve().parent
TABLES = (HERE / "transparency_answers.txt", HERE / "transparency_requests.txt")
PEERS = LANES[1:]
WAIT = 60     # seconds, for what should arrive
RESPITE = 4   # seconds for what need not, behind all that should
AT_ONCE = 100
LEAST_ROWS = 300


class Expected:
    """One message: "200 ok | X-A: a | !X-B", or "GET /path body | X-A: a"."""

    def __init__(self, text, is_request, method="GET"):
        text, *fields = text.split(" | ")
        first, _, rest = text.partition(" ")
        self.is_cut, self.status, self.method, self.target = "{cut}" in rest, 0, method, ""
        rest = rest.replace("{cut}", "")
        if is_request:
            self.method = first
            self.target, _, rest = rest.partition(" ")
        else:
            self.status = int(first)
        self.body = octets(rest)
        self.absent = [octets(field[1:]) for field in fields if field.startswith("!")]
        self.trailers = [field_of(field.removeprefix("trailer ")) for field in fields if field.startswith("trailer ")]
        self.fields = [field_of(field) for field in fields if not field.startswith(("!", "trailer "))]

    def fits(self, got, host):
        by_name = operator.itemgetter(0)
        wanted = sorted(((name, value.replace(b"{host}", host.encode())) for name, value in self.fields), key=by_name)  # those of one name keep their order
        arrived = sorted(((name.lower(), spaced(value)) for name, value in got.fields), key=by_name)
        names = set(map(by_name, wanted))
        return (self.body == got.body and got.is_whole != self.is_cut and not any(got.values(name) for name in self.absent) and
                [field for field in arrived if field[0] in names] == wanted and
                set(self.trailers) <= {(n.lower(), v) for n, v in got.trailers})

    def fits_answer(self, got, host):
        return self.status == got.status and self.fits(got, host)

    def fits_request(self, got, host):
        words = got.first.split(b" ")
        target = octets(self.target.replace("{host}", host).replace("{url}", f"http://{host}"))
        return (len(words) == 3 and words[0] == self.method.encode() and escaped(words[1]) == escaped(target) and
                self.fits(got, host))


def field_of(text):
    name, _, value = text.partition(":")
    return octets(name).lower(), spaced(octets(value.strip(" ")))


def spaced(value):
    """Control octets may become blanks, and several blanks one (RFC 9110 section 5.5, RFC 9112 section 5.2)."""
    return re.sub(rb"[\x00-\x20\x7f]+", b" ", value).strip()


def escaped(target):
    """Octets that no URL has, and their escapes, are one to every origin that takes both."""
    return re.sub(rb"[\x80-\xff]", lambda m: b"%%%02X" % m[0][0], target)


class Row:
    def __init__(self, name, where):
        self.name, self.where = name, where
        self.sends, self.answers, self.client, self.origin, self.passes, self.refused = None, [], [], [], None, None

    def take(self, line):
        what, _, text = line.strip().partition(" ")
        if what == ">" and self.sends is None:
            self.sends = ASKED.format(text[1:] + "~") if text.startswith("+") else text
        elif what == "<":
            self.answers.append(PLAIN.format(text[1:] + "~") if text.startswith("+") else text)
        elif what in ("client", "origin"):
            getattr(self, what).append(text)
        elif what == "passes" and self.passes is None:
            self.passes = text.split()
        elif what == "refused" and self.refused is None and text:
            self.refused = text
        else:
            raise ValueError(f"{self.where}: what does this line mean: {line.strip()}")

    def complete(self):
        """Defaults: a plain request, a plain answer, which arrive."""
        self.sends = self.sends or ASKED.format("")
        self.answers = self.answers or [PLAIN.format("")]
        methods = [Expected(text, True).method for text in self.origin] or [self.sends.split(" ", 1)[0]]
        self.client = [Expected(text, False, methods[min(i, len(methods) - 1)]) for i, text in enumerate(self.client or ["200 ok"])]
        self.origin = [Expected(text, True) for text in self.origin]
        for text in (self.sends, *self.answers):
            Script(text, "127.0.0.1:1")
        return self

    def fits_answers(self, session):
        answers = session.answers
        if not any(expected.status < 200 for expected in self.client):  # of interim answers those alone that are asked for
            answers = [m for m in answers if m.status >= 200 or m.status == 101]
        return len(answers) == len(self.client) and all(e.fits_answer(m, session.host) for e, m in zip(self.client, answers))

    def fits(self, session):
        requests = session.requests
        return self.fits_answers(session) and (not self.origin or len(requests) == len(self.origin) and
                                               all(e.fits_request(m, session.host) for e, m in zip(self.origin, requests)))


def name_of(table, line):
    """Answers and requests have names of their own."""
    return f"{table.stem.partition('_')[2]}: {line}"


def rows_of(table):
    rows = []
    for number, line in enumerate(table.read_text(encoding="ascii").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            if not line.startswith(" "):
                rows.append(Row(name_of(table, line), f"{table.name}:{number}"))
            else:
                rows[-1].take(line)
    return [row.complete() for row in rows]


def known_versions():
    return TABLES[0].read_text().split("# Peers: ")[1].splitlines()[0].split(", ")


class Run:
    """Every row through every lane."""

    def __init__(self, site, rows, respite=RESPITE):
        self.site, self.rows, self.respite, self.passed = site, rows, respite, {}
        self.late = asyncio.Event()  # all that should arrive has, or never will

    async def run_lane(self, row, number, lane):
        should = lane in row.passes if lane != "bloomwall" else not row.refused
        session = self.site.session(row, number, lane)
        task = asyncio.create_task(session.ask(self.site.ports[lane]))
        if should:
            await asyncio.wait([task], timeout=WAIT)
        else:
            late = asyncio.create_task(self.late.wait())
            await asyncio.wait([task, late], return_when=asyncio.FIRST_COMPLETED)
            late.cancel()
            await asyncio.wait([task], timeout=self.respite)
        task.cancel()
        results = await asyncio.gather(task, return_exceptions=True)
        if isinstance(results[0], Exception) and not isinstance(results[0], (OSError, ValueError, IndexError)):
            raise results[0]
        self.passed[row.name, lane] = row.fits(session)

    async def run(self):
        server = await asyncio.start_server(self.site.accept, sock=self.site.socket, limit=1 << 20)
        for lane in self.site.ports:
            for _ in range(WAIT * 10):
                if self.site.is_up(lane):
                    break
                await asyncio.sleep(0.1)
            else:
                raise SystemExit(f"{lane} does not start:\n{(self.site.folder / lane / 'output').read_text()}")
        lanes = [(row, number, lane) for number, row in enumerate(self.rows, 1) for lane in self.site.ports]
        first = [work for work in lanes if (work[2] in work[0].passes if work[2] != "bloomwall" else not work[0].refused)]
        room = asyncio.Semaphore(AT_ONCE)

        async def one(work):
            async with room:
                await self.run_lane(*work)

        await asyncio.gather(*map(one, first))
        self.late.set()
        room = asyncio.Semaphore(1000)
        await asyncio.gather(*map(one, [work for work in lanes if work not in first]))
        server.close()


def breaches(rows, run, lanes):
    peers = [lane for lane in PEERS if lane in lanes]
    for row in rows:
        passing = [peer for peer in peers if run.passed[row.name, peer]] if len(peers) > 1 else row.passes
        ours = run.passed[row.name, "bloomwall"]
        at = f"{row.where}: {row.name}"
        if not ours and len(passing) > 1 and not row.refused:
            yield f"{at}: passes through {', '.join(passing)}, not through bloomwall"
        if row.refused and ours:
            yield f"{at}: is not refused any more: {row.refused}"
        if row.refused and len(passing) < 2:
            yield f"{at}: needs no reason to be refused, as it passes through fewer than two peers"


def changes(rows, run):
    """Where what is written, which other machines rely on, would lead to another result than what the peers do."""
    for row in rows:
        passing = [peer for peer in PEERS if run.passed[row.name, peer]]
        if (len(passing) > 1) != (len(row.passes) > 1):
            yield f"{row.where}: {row.name}: written: passes {' '.join(row.passes)}; now: {' '.join(passing)} (--record writes it)"


def record(run, site):
    for table in TABLES:
        lines, out, name = [], [], None
        for line in table.read_text().splitlines():
            if line.startswith("# Peers: "):
                line = "# Peers: " + ", ".join(site.versions())
            if line.strip().split(" ")[0] == "passes" and line.startswith(" "):
                continue
            lines.append(line)
        for at, line in enumerate(lines):
            out.append(line)
            if line.strip() and not line.startswith("#"):
                name = name_of(table, line) if not line.startswith(" ") else name
                behind = lines[at + 1] if at + 1 < len(lines) else ""
                if not behind.startswith(" "):
                    out.append("    passes " + " ".join(peer for peer in PEERS if run.passed[name, peer]))
        table.write_text("\n".join(line.rstrip() for line in out) + "\n")


def show(site, rows, wanted):
    for session in site.sessions.values():
        if session.row.name in wanted or "all" in wanted:
            fits = session.row.fits(session)
            print(f"--- {session.row.name} at {session.host}: {'passes' if fits else 'DOES NOT'}\norigin got {session.at_origin[:3000]}\n"
                  f"client got {session.at_client[:3000]}")


def main():
    os.environ["PATH"] += ":/usr/sbin"
    build, *flags = sys.argv[1:]
    rows = [row for table in TABLES for row in rows_of(table)]
    names = [row.name for row in rows]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    with tempfile.TemporaryDirectory(prefix="bloomwall-test-") as folder:
        if "--show" in flags:
            rows = [row for row in rows if row.name in flags or "all" in flags]
        if "--record" in flags:
            for row in rows:
                row.passes = []
        for row in rows:
            if row.passes is None:
                raise SystemExit(f"{row.where}: {row.name}: which peers does it pass through? --record writes it down")
        site = Site(pathlib.Path(build).resolve(), pathlib.Path(folder))
        try:
            run = Run(site, rows, WAIT if "--record" in flags else RESPITE)
            asyncio.run(run.run())
            if "--show" in flags:
                return show(site, rows, flags)
            if "--record" in flags:
                record(run, site)
                rows = [row for table in TABLES for row in rows_of(table)]
        finally:
            site.end()
        found = list(breaches(rows, run, site.ports))
        for lane in PEERS:
            if lane not in site.ports:
                print(f"{lane} is not installed: what it once passed stands in the tables")
        if list(site.versions()) == known_versions():
            found += changes(rows, run)
        if len(rows) < LEAST_ROWS:
            found.append(f"{len(rows)} rows: they were {LEAST_ROWS} at least")
        counts = {lane: sum(run.passed[row.name, lane] for row in rows) for lane in site.ports}
        print("\n".join(found))
        print(f"{len(rows)} rows; passed: {counts}; {sum(bool(row.refused) for row in rows)} are refused on purpose; {len(found)} breaches")
        return 1 if found else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main())
