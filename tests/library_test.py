#!/usr/bin/env python3
"""libbloomwall as other people use it: what can be seen of it, a program in C against what is installed, the examples of docs/library.md,
and the Python module.

Usage: library_test.py BUILD_DIRECTORY C_COMPILER. Exit status 77 (skipped) where the programs are not built.
SPDX-License-Identifier: Apache-2.0
"""
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

BUILD = pathlib.Path(sys.argv[1]).resolve()
COMPILER = sys.argv[2]
SOURCE = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = BUILD / "libbloomwall.so.0"
MODULE = BUILD / "python"
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, check=False, timeout=200, text=more.pop("text", True), **more)
    return done


def fine(*command, **more):
    done = run(*command, **more)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def check_symbols():
    """Nothing but the calls of the header can be seen, and Debian's list of them is whole."""
    names = {line.split()[-1] for line in fine("nm", "-D", "--defined-only", LIBRARY).splitlines()}
    header = set(re.findall(r"^BW_API .*?\b(bw_\w+)\(", (SOURCE / "include/bloomwall.h").read_text(), re.M))
    assert names == header and len(names) >= 18, names ^ header
    listed = set(re.findall(r"^ (\w+)@", (SOURCE / "debian/libbloomwall0.symbols").read_text(), re.M))
    assert listed == header, listed ^ header
    dynamic = fine("readelf", "-d", LIBRARY)
    assert re.search(r"FLAGS_1.*NODELETE", dynamic), "the library can be unloaded, and its handler of SIGBUS with it"
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", dynamic))
    known = {"libicuuc", "libpsl", "libfmt", "libxxhash", "libcrypto", "libstdc++", "libm", "libgcc_s", "libc", "ld-linux-x86-64",
             "ld-linux-aarch64"}
    assert not needed - known, f"the library needs {needed - known}"


def make_filter(folder, text):
    (folder / "list.txt").write_text(text)
    fine(BUILD / "bloomwall-filter", "build", "-q", "-o", folder / "lists.bwf", folder / "list.txt")
    return folder / "lists.bwf"


def urls():
    rows = [row.split("\t") for row in (SOURCE / "tests/data/canonical_urls.tsv").read_text().splitlines() if not row.startswith("#")]
    out = [row[1] for row in rows[1:] if row[1].isascii() and row[1].isprintable()]
    assert len(out) > 200, len(out)
    return out


def check_program(folder):
    """The program in C says what `bloomwall-filter query` says, line for line."""
    spellings = urls()
    entries = [url for url in spellings[::2] if re.fullmatch(r"https?://[a-z]+\.test/[\w/-]*", url)]
    file = make_filter(folder, "\n".join(["example.test", *entries]) + "\n")
    text = "".join(url + "\n" for url in spellings)
    wanted = run(BUILD / "bloomwall-filter", "query", file, input=text).stdout
    program = BUILD / "tests/library/library_c_program"
    said = fine(program, file, input=text)
    differing = [pair for pair in zip(wanted.splitlines(), said.splitlines()) if pair[0] != pair[1]]
    assert said == wanted, differing[:5]
    kinds = [line.split("\t")[0] for line in said.splitlines()]
    assert kinds.count("listed") > 20 and kinds.count("invalid") > 20 and kinds.count("clear") > 20, kinds
    digits = fine(program, file, "bulk", input=text).strip()
    assert [{"0": "clear", "2": "listed", "3": "invalid"}[digit] for digit in digits] == kinds
    done = run(program, folder / "none.bwf", input="")
    assert done.returncode == 2 and done.stderr.startswith(f"-1: {folder}/none.bwf: cannot open"), done.stderr


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", (SOURCE / "docs/library.md").read_text(), re.M | re.S)


def install(folder):
    """The library below folder/usr; the environment in which pkg-config finds it."""
    fine("cmake", "--install", BUILD / "library", "--prefix", folder / "usr")
    found = next((folder / "usr").rglob("bloomwall.pc"))
    return dict(os.environ, PKG_CONFIG_PATH=str(found.parent), LD_LIBRARY_PATH=str(found.parent.parent))


def check_examples(folder, environment):
    make_filter(folder, "ads.example.test\nhttp://files.example.test/bad/\n")
    c_sources, python_sources, outputs = blocks("c"), blocks("python"), blocks("text")
    assert len(c_sources) == len(python_sources) == 2 and len(outputs) == 4, "an output behind each example, C before Python"
    flags = fine("pkg-config", "--cflags", "--libs", "bloomwall", env=environment).split()
    for source, output in reversed(list(zip(c_sources, outputs[::2]))):  # the first one last: check_cmake() builds it again
        (folder / "example.c").write_text(source)
        fine(COMPILER, *FLAGS, "-o", folder / "example", folder / "example.c", *flags, env=environment)
        said = fine(folder / "example", cwd=folder, env=environment)
        assert said == output, said
    (folder / "example.cc").write_text("#include <bloomwall.h>\nint main() { return bw_version() == nullptr; }\n")
    fine(COMPILER, "-x", "c++", "-std=c++11", "-pedantic", "-Werror", "-o", folder / "cplusplus", folder / "example.cc", *flags, env=environment)
    if MODULE.is_dir():
        for source, output in zip(python_sources, outputs[1::2]):
            said = fine(sys.executable, "-c", source, cwd=folder, env=dict(os.environ, PYTHONPATH=str(MODULE)))
            assert said == output, said


def check_cmake(folder, environment):
    project = folder / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(example C)\nfind_package(bloomwall 0.1 REQUIRED)\n"
                                            "add_executable(example ../example.c)\ntarget_link_libraries(example bloomwall::bloomwall)\n")
    fine("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={folder}/usr", f"-DCMAKE_C_COMPILER={COMPILER}")
    fine("cmake", "--build", project / "build")
    assert "files.example.test/bad/" in fine(project / "build/example", cwd=folder, env=environment)


def raises(kind, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except kind as error:
        return error
    raise AssertionError(f"{call} did not raise {kind}")


def check_module(folder):
    sys.path.insert(0, str(MODULE))
    bloomwall = importlib.import_module("bloomwall")
    file = make_filter(folder, "ads.example.test\nhttp://files.example.test/bad/\n198.51.100.0/24\n")
    policy = bloomwall.open(file)
    assert policy.ask("http://www.ADS.example.test/x") == (bloomwall.BLOCKED, "lists", "ads.example.test", "listed")
    assert policy.ask(b"http://ok.example.test/") == (bloomwall.ALLOWED, None, None, "unlisted")
    assert policy.ask("http://a@b/").verdict == bloomwall.REJECTED and policy.ask("http://a@b/").reason == "user info before the host"
    assert policy.ask("198.51.100.7", bloomwall.ADDRESS).expression == "198.51.100.0/24"
    assert policy.ask("files.example.test", bloomwall.HOST).verdict == bloomwall.ALLOWED
    spellings = urls() + ["http://ads.example.test/", "http://files.example.test/bad/%62", ""]
    one_by_one = bytes(policy.ask(url).verdict for url in spellings)
    assert policy.ask_many(spellings) == one_by_one == policy.ask_many(url.encode() for url in spellings)
    assert policy.ask_lines("".join(url + "\n" for url in spellings)) == one_by_one
    assert policy.ask_lines(bytearray(b"ads.example.test"), bloomwall.HOST) == bytes([bloomwall.BLOCKED])
    assert policy.ask_many([]) == b"" == policy.ask_lines(b"")

    assert "none.bwf" in str(raises(bloomwall.Error, bloomwall.open, folder / "none.bwf"))
    assert raises(bloomwall.Error, bloomwall.open, folder / "none.bwf").code == -1
    assert raises(bloomwall.Error, bloomwall.Policy().ask, "a").code == -15
    assert "is none of" in str(raises(bloomwall.Error, bloomwall.Policy().add_filter, file, action="stop"))
    raises(bloomwall.Error, policy.ask, "a", 9)
    raises(TypeError, policy.ask, 7)
    raises(TypeError, policy.ask_many, ["a", None])
    raises(TypeError, policy.ask_many, 7)
    raises(UnicodeEncodeError, policy.ask, "\ud800")

    # Reloads while threads ask, with the interpreter's lock released.
    wrong, over = [], threading.Event()

    def ask():
        while not over.is_set():
            verdicts = policy.ask_many(["http://ads.example.test/"] * 100)
            if verdicts not in (bytes([2]) * 100, bytes(100)) or policy.ask("http://ok.example.test/").verdict != 0:
                wrong.append(verdicts)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for text, verdict in (("other.test\n", 0), ("ads.example.test\n", 2)) * 3:
        make_filter(folder, text)
        policy.reload()
        assert policy.ask("http://ads.example.test/").verdict == verdict
    over.set()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


def check_seen(folder):
    bloomwall = importlib.import_module("bloomwall")
    seen = bloomwall.Seen(folder / "seen.bwf", bloomwall.RAW, keys=40_000, error=1e-9)
    assert (seen.capacity, seen.error) == (40_000, 1e-9) and seen.bytes % 4096 == 0 and seen.error_now < 1e-9
    assert seen.add("a") and not seen.add(b"a") and "a" in seen and "b" not in seen and len(seen) == 1
    assert seen.add_many(iter(["a", b"b", "b"])) == bytes([bloomwall.SEEN, bloomwall.NEW, bloomwall.SEEN])
    assert seen.add_lines(bytearray(b"b\nc\r\nc")) == bytes([1, 0, 0]) and seen.add_many([]) == b"" == seen.add_lines(b"")

    # Threads add the same keys with the interpreter's lock released, while another one saves.
    keys, fresh, over = [str(number) for number in range(39_000)], [], threading.Event()

    def add():
        fresh.append(sum(seen.add_many(keys[i:i + 1000]).count(bloomwall.NEW) for i in range(0, len(keys), 1000)))

    def save():
        while not over.is_set():
            seen.save()

    saver, threads = threading.Thread(target=save), [threading.Thread(target=add) for _ in range(3)]
    for thread in [saver, *threads]:
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    saver.join()
    assert sum(fresh) == len(keys), fresh
    seen.save()
    assert len(bloomwall.Seen(folder / "seen.bwf", bloomwall.RAW)) == len(keys) + 4
    assert raises(bloomwall.Error, bloomwall.Seen, folder / "seen.bwf", bloomwall.URL).code == -12

    full = bloomwall.Seen(keys=2)
    assert full.add_many(["http://a/", "http://b/"]) == bytes(2)
    assert raises(bloomwall.Error, full.add, "http://c/").code == -11
    error = raises(bloomwall.Error, full.add_lines, b"http://c/\nHTTP://A:80")
    assert error.code == -11 and error.outcomes == bytes([bloomwall.FULL, bloomwall.SEEN]), error.outcomes
    raises(bloomwall.Error, full.save)
    raises(bloomwall.Error, bloomwall.Seen)
    raises(OverflowError, bloomwall.Seen, keys=-1)
    raises(TypeError, full.add, 7)
    raises(TypeError, full.add_many, ["a", None])
    raises(TypeError, bloomwall.Seen, 7)


def check_pip(folder, environment):
    """`pip install ./python`, with Debian's setuptools."""
    python = next((each for each in (sys.executable, "/usr/bin/python3") if all(run(each, *words).returncode == 0 for words in (
        ("-c", "import setuptools, wheel"), ("-m", "pip", "--version"), ("-c", "import sys; sys.exit(sys.version_info < (3, 11))")))), None)
    if python is None:
        print("pip or setuptools are not here: the module was not installed by them")
        return
    copy = folder / "copy"
    fine("cp", "-R", SOURCE / "python", copy)  # setuptools writes beside the sources
    fine(python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-index", "--no-deps", "--disable-pip-version-check",
         "--root-user-action=ignore", "--target", folder / "modules", copy, env=dict(environment, CC=COMPILER))
    script = "import bloomwall; print(bloomwall.__file__, bloomwall.open('lists.bwf').ask('ads.example.test').verdict)"
    said = fine(python, "-c", script, cwd=folder, env=dict(environment, PYTHONPATH=str(folder / "modules")))
    assert said == f"{folder}/modules/bloomwall/__init__.py 2\n", said


def main():
    if not LIBRARY.exists() or not (BUILD / "bloomwall-filter").exists():
        print("the library is not built: skipped")
        return 77
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        check_program(folder)
        if "BLOOMWALL_SANITIZE:STRING=\n" not in (BUILD / "CMakeCache.txt").read_text():
            return 0  # what links it needs the sanitizer, too
        check_symbols()
        environment = install(folder)
        check_examples(folder, environment)
        check_cmake(folder, environment)
        if MODULE.is_dir():
            check_module(folder)
            check_seen(folder)
            check_pip(folder, environment)
    return 0


sys.exit(main())
