"""`./dev test NAME` says at once where no test has the name, and which names are near; `./dev on` works in another root; what is hosted
runs what is here.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent
JOBS = 'case "${1:-}" in\n'  # the line before the jobs of ./dev


def put_program(root, program):
    """The program at its place below the root, with what it is linked to."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    for file in ("/usr/bin/" + os.path.basename(program), *re.findall(r"(/\S+) \(", said)):
        target = root / file.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)


class DevTest(unittest.TestCase):
    def test_mistyped_names(self):
        for name, near in (("proxy/workr", "proxy/worker"), ("QuerySpeling", "filter/update.QuerySpellings"), ("qqqq", None)):
            done = subprocess.run([SOURCE / "dev", "test", name], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"no test is named {name}.", done.stderr)
            self.assertNotIn("building", done.stderr)
            if near is None:
                self.assertNotIn("Near it:", done.stderr)
            else:
                self.assertIn(near, done.stderr.partition("Near it: ")[2].partition(". NAME")[0].split(", "))

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("mmdebstrap"), "only root can make a system, with mmdebstrap")
    def test_another_system_has_its_own_root(self):
        """A job there sees the sources and a build folder of its own, and may mount things and make namespaces, as in no chroot."""
        with tempfile.TemporaryDirectory() as name:
            place = pathlib.Path(name).resolve() / "sources"
            root = place / "build/on/small/root"
            for folder in ("proc", "dev", "sys", "mnt", "etc/apt/apt.conf.d"):
                (root / folder).mkdir(parents=True)
            for tool in ("bash", "cat", "dirname", "env", "mount", "readlink", "umount", "unshare"):
                put_program(root, shutil.which(tool, path="/usr/bin:/bin"))
            (root / "etc/os-release").write_text("VERSION_CODENAME=small\n")
            (place / "build/outside").write_text("")
            text = (SOURCE / "dev").read_text().replace(JOBS, JOBS + """  look)
    unshare --mount --map-root-user cat build/inside
    unshare --mount bash -c 'mount -t tmpfs tmpfs mnt && echo mounted'
    for name in /mnt/* build/outside; do [ ! -e "$name" ] || echo "seen: $name"; done ;;
""")
            (place / "build/on/small/build").mkdir()
            (place / "build/on/small/build/inside").write_text("of its own\n")
            (place / "dev").write_text(text)
            (place / "dev").chmod(0o755)
            (place / "mnt").mkdir()
            done = subprocess.run([place / "dev", "on", "small", "look"], capture_output=True, text=True, timeout=100)
            self.assertEqual((done.returncode, done.stdout), (0, "of its own\nmounted\n"), done.stderr)

    def test_hosted_definitions(self):
        """They run what is here, and keep nothing from one run to the next."""
        jobs = re.findall(r"^  (\w+)\)", (SOURCE / "dev").read_text(), re.M)
        files = sorted((SOURCE / ".github/workflows").iterdir())
        self.assertEqual([file.name for file in files], ["ci.yml", "nightly.yml"])
        for file in files:
            text = file.read_text()
            self.assertNotRegex(text, r"actions/cache|://", file.name)
            matrix = re.search(r"job: \[(.*)\]", text)
            named = matrix[1].split(", ") if matrix else []
            self.assertEqual(text.count("run: .ci/run\n") + text.count("run: ./dev ${{ matrix.job }}\n"), 1, file.name)
            self.assertLessEqual(set(named), set(jobs), file.name)
        self.assertTrue(os.access(SOURCE / ".ci/run", os.X_OK))


if __name__ == "__main__":
    unittest.main(argv=["dev_test"], verbosity=2)
