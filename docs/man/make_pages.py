#!/usr/bin/env python3
"""Manual pages and shell completions. The text of the pages is in *.scd beside this file; what they say of commands and options comes
from the programs, of keys from conf/bloomwall.yaml, of the API from its OpenAPI document.

Usage: make_pages.py OUTPUT VERSION BLOOMWALL BLOOMWALL_FILTER. Writes OUTPUT/man/PAGE.SECTION and OUTPUT/completions/SHELL/NAME.
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
COMPLETIONS = {"bash": "{}", "zsh": "_{}", "fish": "{}.fish"}  # how the shells want their files called


def plain(text):
    return re.sub(r"([\\*_])", r"\\\1", text)


class Key:
    """One key of the configuration, as conf/bloomwall.yaml has it."""

    def __init__(self, path, value, text):
        self.path, self.value, self.text = path, value, text

    def page(self):
        value = " ".join(self.value.split())
        head = f"*{plain(self.path)}:{' ' + plain(value) if value else ''}*"
        text = plain(" ".join(self.text)).strip()
        return f"{head}\n\t{text or 'A section; its keys follow.'}\n"


KEY = re.compile(r"^( *)(- )?([a-z0-9_]+):(?: +(.*))?$")
OPEN_MAPS = ("dns.hosts", "groups[].filters")  # whose keys are names of yours


def without_comment(text):
    """A value, and the comment behind it."""
    found = re.search(r"(?:^|\s+)#\s(.*)$", text)
    return (text[:found.start()].strip(), [found.group(1)]) if found else (text.strip(), [])


class ShippedFile:
    """Reads the file by its layout: a comment above a key or behind it is about that key; "#" without a blank begins an example."""

    def __init__(self, text):
        self.general, self.keys = [], []
        self.above, self.stack, self.behind = [], [], None
        for line in text.splitlines():
            self.take(line)

    def take(self, line):
        if re.match(r"#[^ ]|#  ", line):
            line = line[1:]
        if not line.strip():
            self.general += self.above if not self.keys else []
            self.above, self.behind = [], None
        elif line.lstrip().startswith("#"):
            self.take_comment(line)
        elif match := KEY.match(line):
            self.take_key(*match.groups())
        elif self.keys and line.startswith(" ") and self.keys[-1].value.startswith("[") and not self.keys[-1].value.endswith("]"):
            self.keys[-1].value += " " + line.strip()

    def take_comment(self, line):
        column, text = line.index("#"), line.strip("# ")
        if self.behind is not None and column >= 20:
            self.behind.text.append(text)
        else:
            self.above.append(text)

    def take_key(self, blanks, dash, name, rest):
        column = len(blanks)
        if dash:
            while self.stack and self.stack[-1][0] > column:
                self.stack.pop()
            self.stack.append((column + 1, self.stack[-1][1] + "[]"))
            column += 2
        while self.stack and self.stack[-1][0] >= column:
            self.stack.pop()
        parent = self.stack[-1][1] if self.stack else ""
        path = f"{parent}.{name}" if parent else name
        self.stack.append((column, path))
        value, text = without_comment(rest or "")
        self.above, above = [], self.above
        if parent in OPEN_MAPS or path in [key.path for key in self.keys]:
            return
        self.keys.append(Key(path, value, above + text))
        self.behind = self.keys[-1] if text else None


def keys_page(shipped):
    pages, section = [], ""
    for key in shipped.keys:
        top = re.split(r"[.\[]", key.path)[0]
        if top != section:
            pages.append(f"## {plain(top)}\n")
            section = top
        pages.append(key.page())
    return "\n".join(pages)


def requests_page(document):
    lines = []
    for path, methods in document["paths"].items():
        for method, what in methods.items():
            role = what.get("x-role", "anybody")
            lines.append(f"*{method.upper()} {plain(path)}*\n\t{plain(what['summary'])}. Role: {role}.")
            for parameter in what.get("parameters", []):
                if parameter.get("in") == "query":
                    said = plain(parameter.get("description", ""))
                    lines[-1] += f" Parameter _{plain(parameter['name'])}_{': ' + said if said else ''}."
            lines.append("")
    return "\n".join(lines)


def said_by(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True, timeout=60).stdout


def main():
    output, version, *programs = sys.argv[1:]
    output = pathlib.Path(output)
    named = {pathlib.Path(program).name: program for program in programs}
    shipped = ShippedFile((SOURCE / "conf/bloomwall.yaml").read_text())
    parts = {"VERSION": version, "GENERAL": plain("\n".join(shipped.general)), "KEYS": keys_page(shipped),
             "REQUESTS": requests_page(json.loads((SOURCE / "proxy/api/openapi.json").read_text()))}
    (output / "man").mkdir(parents=True, exist_ok=True)
    for page in sorted(HERE.glob("*.scd")):
        if (name := page.stem.rsplit(".", 1)[0]) in named:
            parts["COMMANDS"] = said_by(named[name], "manual")
        text = re.sub(r"@([A-Z]+)@", lambda mark: parts[mark.group(1)], page.read_text())
        made = subprocess.run(["scdoc"], input=text, capture_output=True, text=True, check=False, timeout=60)
        if made.returncode != 0:
            sys.exit(f"{page.name}: {made.stderr}")
        (output / "man" / page.stem).write_text(made.stdout)
    for shell, pattern in COMPLETIONS.items():
        folder = output / "completions" / shell
        folder.mkdir(parents=True, exist_ok=True)
        for name, program in named.items():
            (folder / pattern.format(name)).write_text(said_by(program, "completion", shell))


if __name__ == "__main__":
    main()
