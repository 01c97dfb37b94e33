"""`./dev test NAME` says at once where no test has the name, and which names are near. SPDX-License-Identifier: Apache-2.0"""
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent


class DevTest(unittest.TestCase):
    def test_mistyped_names(self):
        for name, near in (("proxy/nett", "proxy/net"), ("QuerySpeling", "filter/update.QuerySpellings"), ("qqqq", None)):
            done = subprocess.run([SOURCE / "dev", "test", name], capture_output=True, text=True, timeout=100)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"no test is named {name}.", done.stderr)
            self.assertNotIn("building", done.stderr)
            if near is None:
                self.assertNotIn("Near it:", done.stderr)
            else:
                self.assertIn(near, done.stderr.partition("Near it: ")[2].partition(". NAME")[0].split(", "))


if __name__ == "__main__":
    unittest.main(argv=["dev_test"], verbosity=2)
