"""`./dev test NAME` says at once where no test has the name, and which names are near.

SPDX-License-Identifier: Apache-2.0
"""
import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


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
