#!/usr/bin/env python3
"""Manual pages and completions say what the programs do: every command and option that --help shows stands in the page, and is offered
by bash, zsh and fish; groff has nothing to warn of.

Usage: documents_test.py BUILD_DIRECTORY. Exit status 77 (skipped) where there are no pages, since scdoc or the programs were absent.
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

BUILD = pathlib.Path(sys.argv[1]).resolve()
MAN = BUILD / "docs/man"
COMPLETIONS = BUILD / "docs/completions"
PAGES = {"bloomwall": "bloomwall.8", "bloomwall-filter": "bloomwall-filter.1"}
SOURCE = pathlib.Path(__file__).resolve().parent.parent


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=60)


def help_of(program, path=()):
    """Commands and options of each command below a path, as --help shows them: [(path, options, commands)]."""
    done = run(str(BUILD / program), *path, "--help")
    assert done.returncode == 0, done.stderr
    options = [name for line in re.findall(r"^  (-\S+)", done.stdout, re.M) for name in line.split(",")]
    listed = done.stdout.partition("Subcommands:\n")[2].partition("\n\n")[0]
    commands = re.findall(r"^  ([a-z][a-z-]*)", listed, re.M)
    found = [(path, options, commands)]
    for command in commands:
        found += help_of(program, (*path, command))
    return found


def sections(page):
    """The text of each subsection of a page by its heading."""
    text = re.sub(r"\\f[A-Z]", "", (MAN / page).read_text().replace("\\-", "-"))
    parts = re.split(r"^\.SS (.*)$", text, flags=re.M)
    return {heading.strip('"'): body for heading, body in zip(parts[1::2], parts[2::2])}


def check_page(program, tree):
    text = sections(PAGES[program])
    for path, options, commands in tree:
        name = " ".join(path)
        if not path or (commands and name not in text):
            continue  # the program itself; what says nothing by itself
        assert name in text, f"{PAGES[program]} has no section {name}"
        for option in options:
            there = re.search(rf"(^|[ ,]){re.escape(option)}($|[ ,])", text[name], re.M)
            assert there or option in ("-h", "--help"), f"{PAGES[program]}: {name} lacks {option}"


def check_keys():
    """Every key of the shipped configuration stands in its page."""
    page = (MAN / "bloomwall.yaml.5").read_text()
    words = set(re.findall(r"([a-z0-9_]+):", page.replace("\\fB", "").replace("\\fR", "")))
    keys = set(re.findall(r"^#?(?:- | )*([a-z0-9_]+):(?: |$)", (SOURCE / "conf/bloomwall.yaml").read_text(), re.M))
    keys.remove("malware")  # the name of a filter, where a group has its own actions
    assert len(keys) > 100 and not keys - words, sorted(keys - words)


def plain(page):
    """Its text, without what makes words bold and what keeps groff from reading them."""
    return re.sub(r"\\f[BIR]|\\&", "", (MAN / page).read_text()).replace("\\-", "-")


def check_requests():
    """Every request of the API, with its query, stands in its page."""
    text = plain("bloomwall-api.7")
    paths = json.loads((SOURCE / "proxy/api/openapi.json").read_text())["paths"]
    requests = [(method.upper(), path, what) for path, methods in paths.items() for method, what in methods.items() if method != "parameters"]
    assert len(requests) > 30, len(requests)
    for method, path, what in requests:
        head = re.search(rf"^{method} {re.escape(path)}$", text, re.M)
        assert head, f"bloomwall-api.7 lacks {method} {path}"
        said = re.split(r"^[A-Z]+ /", text[head.end():], maxsplit=1, flags=re.M)[0]
        for name in (each["name"] for each in what.get("parameters", []) if each.get("in") == "query"):
            assert name in said, f"bloomwall-api.7: {method} {path} lacks {name}"


def check_formats():
    """Every name that --format takes stands in the page of lists."""
    done = run(str(BUILD / "bloomwall-filter"), "build", "--format", "nonsense", "-o", "/dev/null", "/dev/null")
    assert done.returncode != 0
    names = re.search(r"is none of auto, (.*)", done.stderr)[1].split(", ")
    page = plain("bloomwall-lists.5")
    lacking = [name for name in names if not re.search(rf"^(.*, )?{name}(,|$)", page, re.M)]
    assert len(names) >= 15 and not lacking, lacking or names


def check_calls():
    """Every call of bloomwall.h, and every setting of bw_set(), stands in the page of the library."""
    header = (SOURCE / "include/bloomwall.h").read_text()
    calls = set(re.findall(r"^BW_API .*?\b(bw_\w+)\(", header, re.M))
    settings = set(re.findall(r"^//   (\w+)  +\S", header.partition("// Sets what has")[2].partition("BW_API")[0], re.M))
    words = set(re.findall(r"\w+", plain("libbloomwall.3")))
    assert len(calls) >= 18 and len(settings) == 7 and not (calls | settings) - words, (calls | settings) - words


def check_groff():
    pages = sorted(MAN.iterdir())
    assert len(pages) == 6, pages
    for page in pages:
        # AD=l: groff 1.23 warns of each line that it cannot stretch to both margins.
        done = run("groff", "-man", "-dAD=l", "-Tutf8", "-ww", "-z", str(page))
        assert done.returncode == 0 and done.stderr == "", f"{page.name}: {done.stderr}"


def bash(program, words):
    script = COMPLETIONS / "bash" / program
    function = "_" + program.replace("-", "_")
    return run("bash", "-c", 'source "$1"; function=$2; shift 2; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); $function\n'
               'printf "%s\\n" "${COMPREPLY[@]}"', "bash", str(script), function, program, *words)


def zsh(program, words):
    """What is given to _arguments and _describe; the functions themselves need a terminal."""
    return run("zsh", "-f", "-c", '_arguments() { print -rl -- "${@%%\\[*}" }; _describe() { print -rl -- "${commands[@]%%:*}" }\n'
               'script=$1; shift; words=("$@"); CURRENT=$#; PREFIX=$words[-1]; source $script', "zsh",
               str(COMPLETIONS / "zsh" / f"_{program}"), program, *words)


def fish(program, words):
    return run("fish", "--no-config", "-c", 'source $argv[1]; complete -C "$argv[2]"', str(COMPLETIONS / "fish" / f"{program}.fish"),
               " ".join([program, *words]))


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


def offered(shell, program, words):
    done = SHELLS[shell](program, words)
    assert done.returncode == 0 and done.stderr == "", f"{shell} {words}: {done.stderr}"
    return {line.split("\t")[0].lstrip("*") for line in done.stdout.splitlines()}


def check_shell(shell, program, tree):
    for path, options, commands in tree:
        got = offered(shell, program, [*path, "-"]) | offered(shell, program, [*path, "--"])
        assert set(options) <= got, f"{shell}: {program} {' '.join(path)}: {sorted(set(options) - got)} not offered"
        if commands:
            got = offered(shell, program, [*path, ""])
            assert set(commands) <= got, f"{shell}: {program} {' '.join(path)}: {sorted(set(commands) - got)} not offered"


def check_values(shell):
    """An option's value is a file where it takes one, and nothing is made up where it takes another thing."""
    if shell == "zsh":  # _files is zsh's own
        return
    etc = offered(shell, "bloomwall", ["check", "--config", "/etc/host"])
    assert "/etc/hosts" in etc, f"{shell}: {etc}"
    name = offered(shell, "bloomwall", ["check", "--as-user", ""])
    assert not any(word in name for word in ("--json", "check", "run")), f"{shell}: {name}"


def main():
    if not MAN.is_dir():
        print("skipped: no pages were written; scdoc is absent, or the programs have sanitizers")
        return 77
    trees = {program: help_of(program) for program in PAGES}
    assert len(trees["bloomwall"]) > 25 and len(trees["bloomwall-filter"]) > 10, {name: len(tree) for name, tree in trees.items()}
    for program, tree in trees.items():
        check_page(program, tree)
    check_keys()
    check_requests()
    check_formats()
    check_calls()
    if shutil.which("groff"):
        check_groff()
    for shell in SHELLS:
        if not shutil.which(shell):
            print(f"{shell} is absent: its completion was not tried")
            continue
        for program, tree in trees.items():
            check_shell(shell, program, tree)
        check_values(shell)
    return 0


sys.exit(main())
