#!/usr/bin/env python3
"""Builds in slices with the linked program: count, plan, map, reduce and assemble make, octet for octet, what one build makes; what is
missing, double, foreign or damaged makes nothing.

Usage: slices_test.py BUILD_DIR [unittest arguments]. BLOOMWALL_SEED repeats the choice of octets and moments. Lists as they are
published are looked for in BLOOMWALL_LISTS, else beside the source tree in ../shared/lists.
SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

from interception_site import BUILD, main, until
from seed import test_seed

ROOT = pathlib.Path(__file__).resolve().parent.parent
LISTS = pathlib.Path(os.environ.get("BLOOMWALL_LISTS", ROOT.parent / "shared/lists"))
PINS = ("--file-id", "0123456789abcdef0123456789abcdef", "--created", "1700000000", "--sequence", "1")
HEADER = 4096


def text_of_slice(number, lines=3000):
    """Overlaps with its neighbours; hosts, URLs with and without a query, directories."""
    out = []
    for k in range(number * lines * 3 // 4, number * lines * 3 // 4 + lines):
        ending = ("", "/", "?q=%d" % k)[k % 3]
        out.append(f"http://h{k // 7}.example/a/{k}{ending}" if k % 5 else f"d{k}.test")
    return "\n".join(out) + "\n"


class Site(unittest.TestCase):
    fpr, options = "1e-4", ()

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bloomwall-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "key").write_text("b" * 64)
        (self.folder / "key").chmod(0o600)

    def lists(self, count, text=text_of_slice):
        for i in range(count):
            (self.folder / f"list{i:03}.txt").write_text(text(i))
        return [[f"list{i:03}.txt"] for i in range(count)]

    def call(self, *words, **kwargs):
        return subprocess.run([str(BUILD / "bloomwall-filter"), *map(str, words)], cwd=self.folder, capture_output=True, text=True, **kwargs)

    def tool(self, *words):
        done = self.call(*words)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr}")
        return done

    def refused(self, status, words, *command, output=None):
        done = self.call(*command)
        self.assertEqual(done.returncode, status, f"{command}: {done.stderr}")
        for word in words if isinstance(words, tuple) else (words,):
            self.assertIn(word, done.stderr)
        if output:
            self.assertFalse((self.folder / output).exists())
        self.assertEqual([p.name for p in self.folder.iterdir() if p.name.endswith("-tmp")], [])

    def count(self, slices, *more):
        for i, lists in enumerate(slices):
            self.tool("count", "-q", "-o", f"{i}.bwk", "--slice", f"{i}/{len(slices)}", "--series-key", "key", *self.options, *more, *lists)
        self.tool("plan", "-o", "G.bwg", "--fpr", self.fpr, *[f"{i}.bwk" for i in range(len(slices))])

    def map(self, slices, *more, name="{}.bwr"):
        for i, lists in enumerate(slices):
            self.tool("map", "-q", "-o", name.format(i), "--slice", f"{i}/{len(slices)}", "--like", "G.bwg", "--series-key", "key",
                      *self.options, *more, *lists)
        return [name.format(i) for i in range(len(slices))]

    def reduce(self, records, parts, *more):
        for i in range(parts):
            self.tool("reduce", "-o", f"{i}.bwp", "--part", f"{i}/{parts}", *more, *records)
        return [f"{i}.bwp" for i in range(parts)]

    def assemble_words(self, inputs, *more, output="F.bwf"):
        return ("assemble", "-o", output, "--like", "G.bwg", "--series-key", "key", *PINS, *more, *inputs)

    def assemble(self, inputs, *more, output="F.bwf"):
        self.tool(*self.assemble_words(inputs, *more, output=output))
        return (self.folder / output).read_bytes()

    def one_build(self, slices, *more):
        lists = sorted(name for each in slices for name in each)
        self.tool("build", "-q", "-o", "W.bwf", "--like", "G.bwg", "--series-key", "key", *PINS, *self.options, *more, *lists)
        return (self.folder / "W.bwf").read_bytes()

    def made_of(self, slices, parts=3):
        """Everything up to the parts."""
        self.count(slices)
        return self.map(slices), parts and self.reduce([f"{i}.bwr" for i in range(len(slices))], parts)


class Identity(Site):
    def test_slices_and_parts(self):
        for slices, parts in ((1, 1), (1, 7), (7, 3), (16, 1), (16, 64)):
            with self.subTest(slices=slices, parts=parts):
                records, made = self.made_of(self.lists(slices), parts)
                names = [[f"list{i:03}.txt"] for i in range(slices)]
                random.Random(slices).shuffle(records)
                self.assertEqual(self.assemble(made + records), self.one_build(names))

    def test_threads_and_memory(self):
        """Bytes of every file; with the least memory most records go to temporary files."""
        slices = self.lists(2, lambda i: text_of_slice(i, 120_000))
        self.count(slices, "--threads", 1)
        counts = [(self.folder / f"{i}.bwk").read_bytes() for i in range(2)]
        self.count(slices, "--threads", 3)
        self.assertEqual(counts, [(self.folder / f"{i}.bwk").read_bytes() for i in range(2)])
        made = set()
        for threads, ram in ((1, "1MiB"), (1, "300MiB"), (3, "3MiB")):
            records = self.map(slices, "--threads", threads, "--ram", ram)
            self.reduce(records, 2, "--threads", threads)
            made.add(hashlib.sha256(b"".join((self.folder / name).read_bytes() for name in (*records, "0.bwp", "1.bwp"))).hexdigest())
        self.assertEqual(len(made), 1)
        self.assertEqual(self.assemble(["0.bwp", "1.bwp", *records]), self.one_build(slices))
        self.refused(2, "--ram", "map", "-o", "x.bwr", "--slice", "0/2", "--like", "G.bwg", "--series-key", "key", "--ram", "100KB",
                     "list000.txt", output="x.bwr")

    def test_empty_slice_equal_lists_ranges(self):
        (self.folder / "a.txt").write_text("a.test\nb.test/x?y=1\n")
        (self.folder / "b.txt").write_text("a.test\nb.test/x?y=1\n")  # the same under another name
        (self.folder / "c.txt").write_text("")
        (self.folder / "d.txt").write_text("192.0.2.0/24\n2001:db8::/32\n")
        (self.folder / "e.txt").write_text("192.0.2.128/25\n192.0.3.0/24\n")
        slices = [["a.txt", "d.txt"], ["b.txt"], ["c.txt"], [], ["e.txt"]]
        records, parts = self.made_of(slices, 2)
        self.assertEqual(self.assemble(parts + records), self.one_build(slices))

    def test_exceptions_of_lists(self):
        (self.folder / "a.txt").write_text("||bad.test^\n@@||good.bad.test^\n||worse.test^$important\n")
        (self.folder / "b.txt").write_text("||other.test^\n@@||good.other.test^\n@@||worse.test^\n")
        slices = [["a.txt"], ["b.txt"]]
        records, parts = self.made_of(slices)
        self.assertEqual(self.assemble(parts + records), self.one_build(slices))
        rules = [[line for line in path.read_text().splitlines() if not line.startswith("# What")]
                 for path in (*self.folder.glob("F.bwf.*.allow"), *self.folder.glob("W.bwf.*.allow"))]
        self.assertEqual(len(rules), 2)
        self.assertEqual(rules[0], rules[1])
        self.assertEqual(rules[0], ["# $important worse.test", "good.bad.test", "good.other.test"])

    def test_known_good(self):
        """At 1 in 100 some of the known-good URLs test positive; those that a slice lists are no exceptions."""
        self.fpr = "1e-2"
        (self.folder / "good.txt").write_text("".join(f"http://h{i}.example/a/{i}\n" for i in range(3000, 9000)))
        slices = self.lists(3)
        self.count(slices)
        good = ("--known-good", "good.txt")
        records = self.map(slices, *good)
        parts = self.reduce(records, 2)
        whole = self.assemble(parts + records, *good)
        self.assertEqual(whole, self.one_build(slices, *good))
        without = self.map(slices)
        self.assertNotEqual(whole, self.assemble(self.reduce(without, 2) + without))
        (self.folder / "F.bwf").unlink()
        self.refused(2, "mapped without it", *self.assemble_words(["0.bwp", "1.bwp", *without], *good), output="F.bwf")
        records = self.map(slices, *good)
        parts = self.reduce(records, 2)
        self.refused(2, "give the same ones", *self.assemble_words(parts + records), output="F.bwf")
        (self.folder / "other.txt").write_text("http://other.test/\n")
        self.refused(2, "other known-good", *self.assemble_words(parts + records, "--known-good", "other.txt"), output="F.bwf")

    def test_signed(self):
        slices = self.lists(2)
        records, parts = self.made_of(slices)
        self.tool("keygen", "sign.key")
        self.assemble(parts + records, "--key", "sign.key")
        self.tool("verify", "F.bwf", "--key", "sign.key.pub")
        plain = self.one_build(slices)
        self.tool("sign", "W.bwf", "--key", "sign.key")
        self.assertEqual((self.folder / "W.bwf").read_bytes(), (self.folder / "F.bwf").read_bytes())
        self.assertNotEqual(plain, (self.folder / "F.bwf").read_bytes())

    def test_merge_like_a_geometry(self):
        slices = self.lists(2)
        self.count(slices)
        for i in range(2):
            self.tool("build", "-q", "-o", f"s{i}.bwf", "--like", "G.bwg", "--series-key", "key", *slices[i])
        self.tool("merge", "-o", "M.bwf", "--like", "G.bwg", *PINS, "--no-provenance", "s0.bwf", "s1.bwf")
        self.assertEqual((self.folder / "M.bwf").read_bytes(), self.one_build(slices))
        self.tool("build", "-q", "-o", "other.bwf", "--series-key", "key", *slices[0])
        self.refused(2, "--like", "merge", "-o", "x.bwf", "--like", "G.bwg", "other.bwf", output="x.bwf")
        self.refused(2, "--series-key", "build", "-q", "-o", "x.bwf", "--like", "G.bwg", *slices[0], output="x.bwf")


class Raw(Site):
    options = ("--raw",)

    def test_raw_keys(self):
        slices = self.lists(3, lambda i: "".join(f"mail{i * 700 + k}@a.test\n" for k in range(1000)))
        records, parts = self.made_of(slices)
        self.assertEqual(self.assemble(parts + records), self.one_build(slices))


class Refused(Site):
    def setUp(self):
        super().setUp()
        self.slices = self.lists(3)
        self.records, self.parts = self.made_of(self.slices)

    def test_missing_and_double(self):
        reduce = ("reduce", "-o", "x.bwp", "--part", "0/1")
        self.refused(3, ("incomplete", "slice", "missing: 1"), *reduce, "0.bwr", "2.bwr", output="x.bwp")
        self.refused(2, "given twice", *reduce, *self.records, "1.bwr", output="x.bwp")
        self.refused(3, ("incomplete", "missing: 2"), "plan", "-o", "x.bwg", "0.bwk", "1.bwk", output="x.bwg")
        both = self.parts + self.records
        for lost, what in (("1.bwp", "part"), ("2.bwr", "slice")):
            self.refused(3, ("incomplete", what), *self.assemble_words([name for name in both if name != lost]), output="F.bwf")
            self.refused(2, "given twice", *self.assemble_words([*both, lost]), output="F.bwf")
        self.refused(3, "incomplete", *self.assemble_words(self.records), output="F.bwf")

    def test_sources(self):
        names = [f"list{i:03}.txt" for i in range(3)]
        sums = "".join(f"{hashlib.sha256((self.folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names)
        (self.folder / "sums").write_text(sums)
        both = self.parts + self.records
        self.assemble(both, "--sources", "sums")
        (self.folder / "F.bwf").unlink()
        (self.folder / "more").write_text(sums + "0" * 64 + "  forgotten.txt\n")
        self.refused(3, "forgotten.txt", *self.assemble_words(both, "--sources", "more"), output="F.bwf")
        (self.folder / "less").write_text("".join(sums.splitlines(True)[:2]))
        self.refused(2, "list002.txt", *self.assemble_words(both, "--sources", "less"), output="F.bwf")
        words = ("--slice", "0/3", "--series-key", "key", "--sources", "sums")
        self.tool("count", "-o", "x.bwk", *words, "list000.txt")  # a part of those that are named
        (self.folder / "list000.txt").write_text("cut.test\n")
        self.refused(2, "altered or cut", "count", "-o", "y.bwk", *words, "list000.txt", output="y.bwk")
        self.refused(2, "altered or cut", "map", "-o", "y.bwr", "--like", "G.bwg", *words, "list000.txt", output="y.bwr")

    def test_a_list_in_two_slices(self):
        self.tool("map", "-q", "-o", "1.bwr", "--slice", "1/3", "--like", "G.bwg", "--series-key", "key", "list000.txt")
        parts = self.reduce(self.records, 1)
        self.refused(2, ("list000.txt", "another slice"), *self.assemble_words(parts + self.records), output="F.bwf")

    def test_of_another_build(self):
        (self.folder / "other-key").write_text("c" * 64)
        words = ("--slice", "1/3", "list001.txt")
        self.refused(2, "another series", "map", "-o", "x.bwr", "--like", "G.bwg", "--series-key", "other-key", *words, output="x.bwr")
        self.refused(2, "other options", "map", "-o", "x.bwr", "--like", "G.bwg", "--series-key", "key", "--exact", *words, output="x.bwr")
        self.refused(2, "--query-spellings", "map", "-o", "x.bwr", "--like", "G.bwg", "--series-key", "key", "--query-spellings", *words,
                     output="x.bwr")
        self.tool("count", "-q", "-o", "x.bwk", "--series-key", "other-key", *words)
        self.refused(2, "another series key", "plan", "-o", "x.bwg", "0.bwk", "x.bwk", "2.bwk", output="x.bwg")
        self.tool("plan", "-o", "H.bwg", "--fpr", "1e-6", "0.bwk", "1.bwk", "2.bwk")
        self.tool("map", "-q", "-o", "x.bwr", "--like", "H.bwg", "--series-key", "key", *words)
        self.refused(2, "other sizes", "reduce", "-o", "x.bwp", "--part", "0/1", "0.bwr", "x.bwr", "2.bwr", output="x.bwp")
        self.refused(2, "--part", "reduce", "-o", "x.bwp", "--part", "3/3", *self.records, output="x.bwp")
        self.refused(2, "a count", "reduce", "-o", "x.bwp", "--part", "0/1", "0.bwk", output="x.bwp")
        # Parts of one run of maps with the records of another.
        self.map([["list000.txt"], ["list001.txt", "list001.txt"], ["list002.txt"]])
        self.refused(2, "other records", *self.assemble_words(self.parts + self.records), output="F.bwf")

    def test_planned_for_fewer(self):
        self.tool("count", "-q", "-o", "s.bwk", "--slice", "0/1", "--series-key", "key", "list000.txt")
        self.tool("plan", "-o", "G.bwg", "--fpr", "1e-6", "s.bwk")
        (self.folder / "large.txt").write_text("".join(text_of_slice(i) for i in range(4)))
        words = ("-o", "x.bwr", "--slice", "0/1", "--like", "G.bwg", "--series-key", "key", "large.txt")
        self.refused(2, "made for fewer", "map", *words, output="x.bwr")
        self.tool("map", "--force", *words)
        parts = self.reduce(["x.bwr"], 1)
        self.refused(2, "made for fewer", *self.assemble_words([*parts, "x.bwr"]), output="F.bwf")
        self.assemble([*parts, "x.bwr"], "--force")

    def test_twice_at_once(self):
        command = [str(BUILD / "bloomwall-filter"), "map", "-q", "-o", "1.bwr", "--slice", "1/3", "--like", "G.bwg", "--series-key", "key",
                   "list001.txt"]
        before = (self.folder / "1.bwr").read_bytes()
        both = [subprocess.Popen(command, cwd=self.folder, stderr=subprocess.DEVNULL) for _ in range(4)]
        self.assertEqual([each.wait() for each in both], [0] * 4)
        self.assertEqual((self.folder / "1.bwr").read_bytes(), before)


class Damage(Site):
    """Octets of headers, sections and leaves: refused, or nothing comes of it."""

    def setUp(self):
        super().setUp()
        self.random = random.Random(test_seed())
        slices = self.lists(2, lambda i: text_of_slice(i, 300))
        self.records, self.parts = self.made_of(slices, 2)
        self.whole = self.assemble(self.parts + self.records)

    def check(self, name, at, *command):
        path, output = self.folder / name, self.folder / "out"
        before = path.read_bytes()
        path.write_bytes(before[:at] + bytes([before[at] ^ 1 << self.random.randrange(8)]) + before[at + 1:])
        done = self.call(*command)
        if done.returncode == 0:
            self.assertEqual(output.read_bytes(), self.expected, f"{name}: octet {at}")
            output.unlink()
        else:
            self.assertEqual(done.returncode, 2, f"{name}: octet {at}: {done.stderr}")
            self.assertFalse(output.exists())
        path.write_bytes(before)

    def octets(self, name, some=60):
        """Of the header all fields' first octets and some others, and some of everything behind it."""
        size = (self.folder / name).stat().st_size
        return [*range(0, 300, 7), 1024, 1032, 1040, 1048, 4080, 4095,
                *(self.random.randrange(HEADER) for _ in range(some)), *(self.random.randrange(HEADER, size) for _ in range(some))]

    def test_of_records(self):
        self.expected = (self.folder / "0.bwp").read_bytes()
        for at in self.octets("0.bwr"):
            self.check("0.bwr", at, "reduce", "-o", "out", "--part", "0/2", *self.records)

    def test_of_parts(self):
        self.expected = self.whole
        for at in self.octets("1.bwp", 40):
            self.check("1.bwp", at, *self.assemble_words(self.parts + self.records, output="out"))

    def test_of_counts_and_geometry(self):
        self.expected = (self.folder / "G.bwg").read_bytes()
        for at in self.octets("0.bwk", 40):
            self.check("0.bwk", at, "plan", "-o", "out", "--fpr", self.fpr, "0.bwk", "1.bwk")
        self.expected = (self.folder / "0.bwr").read_bytes()
        for at in self.octets("G.bwg", 40):
            self.check("G.bwg", at, "map", "-q", "-o", "out", "--slice", "0/2", "--like", "G.bwg", "--series-key", "key", "list000.txt")

    def test_cut(self):
        for name, command in (("0.bwr", ("reduce", "-o", "out", "--part", "0/2", *self.records)),
                              ("0.bwp", self.assemble_words(self.parts + self.records, output="out"))):
            whole = (self.folder / name).read_bytes()
            for length in (0, 7, 100, HEADER - 1, HEADER, len(whole) - 1):
                (self.folder / name).write_bytes(whole[:length])
                self.refused(2, name, *command, output="out")
            (self.folder / name).write_bytes(whole + b"\0")
            self.refused(2, name, *command, output="out")
            (self.folder / name).write_bytes(whole)


class Killed(Site):
    def test_in_the_middle_of_a_map(self):
        """A list that never ends is killed once it is being read; then the same task runs to its end."""
        slices = self.lists(1)
        self.count(slices)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        words = [str(BUILD / "bloomwall-filter"), "map", "-q", "-o", "0.bwr", "--slice", "0/1", "--like", "G.bwg", "--series-key", "key"]
        for how in (signal.SIGKILL, signal.SIGTERM):
            process = subprocess.Popen([*words, "fifo"], cwd=self.folder, stderr=subprocess.DEVNULL)
            with open(fifo, "w") as pipe:
                pipe.write(text_of_slice(0))
                pipe.flush()
                until(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().split()[2] == "S")
                process.send_signal(how)
                self.assertEqual(process.wait(), -how)
            self.assertEqual(sorted(p.name for p in self.folder.iterdir() if "bwr" in p.name), [])
        self.map(slices)
        self.assertEqual(self.assemble([*self.reduce(["0.bwr"], 1), "0.bwr"]), self.one_build(slices))

    def test_disk_is_full(self):
        slices = self.lists(1)
        self.count(slices)
        done = self.call("map", "-q", "-o", "0.bwr", "--slice", "0/1", "--like", "G.bwg", "--series-key", "key", *slices[0],
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual([p.name for p in self.folder.iterdir() if "bwr" in p.name], [])


class Documents(Site):
    def test_the_script_of_the_page(self):
        page = (ROOT / "docs/many-machines.md").read_text()
        script = page[page.index("    umask 077"):page.index("A task that fails")]
        (self.folder / "lists").mkdir()
        (self.folder / "key").unlink()
        for i in range(3):
            (self.folder / "lists" / f"{i} list.txt").write_text(text_of_slice(i))
        path = {"PATH": f"{BUILD}:{os.environ['PATH']}"}
        subprocess.run(["sh", "-eu", "-c", script], cwd=self.folder, env={**os.environ, **path}, check=True, capture_output=True)
        self.tool("verify", "lists.bwf")
        self.assertEqual(self.call("query", "lists.bwf", "http://d5.test/").returncode, 1)


class RealLists(Site):
    def test_published_lists(self):
        found = sorted(p for kind in ("domains", "hosts") for p in (LISTS / kind).glob("*.zst") if p.stat().st_size < 1 << 20)[:5]
        if not found:
            self.skipTest(f"no lists in {LISTS} (BLOOMWALL_LISTS)")
        slices = [[str(path)] for path in found]
        records, parts = self.made_of(slices)
        self.assertEqual(self.assemble(parts + records), self.one_build(slices))


if __name__ == "__main__":
    main()
