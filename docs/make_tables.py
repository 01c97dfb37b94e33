#!/usr/bin/env python3
"""Writes the tables of docs/ that other files hold the truth of, between their marks: the requests of the API from its OpenAPI document,
the fields of the access log from the header of proxy/telemetry/access_record, what becomes of squid.conf from proxy/import.

Usage: make_tables.py            writes them
       make_tables.py --check    ends with 1 where a page is not what it would write, or a source is not what it says
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent


def row(*cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def requests():
    document = json.loads((SOURCE / "proxy/api/openapi.json").read_text())
    lines = [row("request", "query", "what", "role"), "|---|---|---|---|"]
    for path, methods in document["paths"].items():
        for method, what in methods.items():
            if method == "parameters":
                continue
            query = [f"`{each['name']}`" for each in what.get("parameters", []) if each.get("in") == "query"]
            lines.append(row(f"`{method.upper()} {path}`", ", ".join(query), what["summary"], what.get("x-role", "anybody")))
    return lines


def described_fields(header):
    """(name, text) of each line of the list in the comment."""
    text = header.partition("// The members of a json line, in their order.")[2]
    found = []
    for line in text.splitlines()[1:]:
        begin = re.match(r"//   (\w+) +(\S.*)$", line)
        more = re.match(r"// {20,}(\S.*)$", line)
        if begin:
            found.append((begin[1], begin[2]))
        elif more and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {more[1]}")
        elif found:
            return found
    raise SystemExit("access_record.h: the list of members has no end")


def fields():
    described = described_fields((SOURCE / "proxy/telemetry/access_record.h").read_text())
    return [row("field", "what"), "|---|---|"] + [row(f"`{name}`", text) for name, text in described]


def written_fields():
    """Names of the members that append_json_line() writes, in their order."""
    source = (SOURCE / "proxy/telemetry/access_record.cc").read_text()
    named = r'JsonLine line\(out, "(\w+)"|line\.\w+\("(\w+)"'
    of = {name: [a or b for a, b in re.findall(named, body)]
          for name, body in re.findall(r"^void (append_tls_ends|append_json_line)\((.*?)^}", source, re.M | re.S)}
    body = re.search(r"^void append_json_line\(.*?^}", source, re.M | re.S)[0]
    before, _, after = body.partition("append_tls_ends(")
    tls = len(re.findall(named, before))
    return of["append_json_line"][:tls] + of["append_tls_ends"] + of["append_json_line"][tls:] if after else []


OUTCOMES = {"needless": "not needed", "nearly": "nearly", "lost": "not", "lost_deny": "not (deny lost)"}  # as the report of `import` calls them


def by_reason(rows):
    """Rows of a table from (names, outcome, reason): one for each reason, in the order of the first."""
    named = {}
    for name, outcome, reason in rows:
        shown = f"`{name}*`" if name.endswith("_") else f"`{name}`"
        named.setdefault((outcome, reason), []).append(shown)
    return [row(", ".join(names), outcome, reason) for (outcome, reason), names in named.items()]


def directives():
    source = (SOURCE / "proxy/import/squid_directives.cc").read_text()
    reasons = dict(re.findall(r'constexpr const char\* (k\w+) = "(.*)";', source))
    rows = [(name, OUTCOMES[outcome], reasons.get(reason, reason.strip('"')))
            for name, outcome, reason in re.findall(r'Directive\{"(\w+)",\s+Outcome::(\w+),\s+("[^"]*"|k\w+)\}', source)]
    assert len(rows) == source.count("Directive{"), len(rows)
    order = list(OUTCOMES.values())
    rows.sort(key=lambda each: -order.index(each[1]))
    return [row("squid.conf", "taken", "what `import` says"), "|---|---|---|"] + by_reason(rows)


def acl_types():
    source = (SOURCE / "proxy/import/squid_acls.cc").read_text()
    table = re.search(r"kForeign\{\{\n(.*?)\}\};", source, re.S)[1]
    rows = [(name, "not", reason) for name, reason in re.findall(r'\{"(\w+)", "([^"]*)"\}', table)]
    return [row("type of `acl`", "taken", "what `import` says"), "|---|---|---|"] + by_reason(rows + [("method", "not", "methods are not told apart; CONNECT is")])


def amounts():
    source = (SOURCE / "proxy/import/squid_settings.cc").read_text()
    rows = re.findall(r'Amount\{"(\w+)", "([\w.]+)"', source)
    return [row("squid.conf", "bloomwall.yaml"), "|---|---|"] + [row(f"`{name}`", f"`{key}`") for name, key in rows]


TABLES = {"requests": ("api.md", requests), "fields": ("operations.md", fields), "amounts": ("migration.md", amounts),
          "directives": ("migration.md", directives), "types": ("migration.md", acl_types)}


def with_table(text, name, lines):
    begin, end = f"<!-- {name}: written by docs/make_tables.py -->\n", f"<!-- the end of {name} -->\n"
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"no marks of {name}: {begin}")
    return before + begin + "\n" + "\n".join(lines) + "\n\n" + end + after


def main():
    check, stale = "--check" in sys.argv[1:], []
    for name, (page, lines) in TABLES.items():
        file = HERE / page
        text = file.read_text()
        wanted = with_table(text, name, lines())
        if wanted != text and check:
            stale.append(f"docs/{page}: the table of {name} is not current; run docs/make_tables.py")
        elif wanted != text:
            file.write_text(wanted)
    described = [name for name, _ in described_fields((SOURCE / "proxy/telemetry/access_record.h").read_text())]
    written = written_fields()
    if described != written:
        stale.append(f"access_record.h describes {described}\naccess_record.cc writes {written}\n"
                     f"of one alone: {sorted(set(described) ^ set(written))}")
    print("\n".join(stale))
    return 1 if stale else 0


sys.exit(main())
