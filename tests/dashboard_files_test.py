#!/usr/bin/env python3
"""The files of the dashboard as they lie in the source tree: vendored ones are those that were recorded, modules import what
is there and nothing from elsewhere, and the made-up answers by which the page is looked at are answers of the API.

Usage: dashboard_files_test.py [unittest arguments]. SPDX-License-Identifier: Apache-2.0
"""
import hashlib
import json
import pathlib
import re
import unittest

from dashboard_site import ANSWERS, POLICY, ROLES

ROOT = pathlib.Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "dashboard"
IMPORT = re.compile(r"""^(?:import|export)\b[^"'`;]*?\bfrom\s*["']([^"']+)["']|^import\s*["']([^"']+)["']""", re.MULTILINE)
MAX_LINES, MAX_COLUMNS = 250, 160


def modules():
    return sorted(path for folder in ("app", "views") for path in (DASHBOARD / folder).glob("*.js"))


def imports(path):
    return [one or other for one, other in IMPORT.findall(path.read_text())]


class Files(unittest.TestCase):
    def test_vendored_files_are_the_recorded_ones(self):
        vendor, recorded = DASHBOARD / "vendor", {}
        for line in (vendor / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split("  ")
            recorded[name] = digest
        own = {"README.md", "SHA256SUMS", "fetch.py"}
        there = {str(path.relative_to(vendor)) for path in vendor.rglob("*") if path.is_file() and "__pycache__" not in path.parts} - own
        self.assertEqual(there, set(recorded))
        self.assertGreater(len(recorded), 20)
        for name, digest in recorded.items():
            self.assertEqual(hashlib.sha256((vendor / name).read_bytes()).hexdigest(), digest, name)

    def test_modules_import_what_is_there(self):
        checked = 0
        for path in [*modules(), *DASHBOARD.glob("vendor/*.mjs")]:
            for name in imports(path):
                self.assertRegex(name, r"^\.\.?/", f"{path.name} imports {name}")
                target = (path.parent / name).resolve()
                self.assertTrue(target.is_file(), f"{path.name} imports {name}")
                self.assertIn(target.parent.name, ("app", "views", "vendor"), name)
                checked += 1
        self.assertGreater(checked, 80)

    def test_every_module_is_imported(self):
        used = {(path.parent / name).resolve() for path in modules() for name in imports(path)}
        self.assertEqual({path for path in modules() if path not in used}, {DASHBOARD / "app/main.js"})

    def test_nothing_comes_from_elsewhere_and_nothing_is_markup(self):
        for path in [*modules(), *DASHBOARD.glob("app/*.css"), DASHBOARD / "index.html"]:
            text = path.read_text()
            addresses = [url for url in re.findall(r"(?:https?:)?//[a-z0-9.-]+\.[a-z]{2,}", text) if "example.com" not in url]
            self.assertEqual(addresses, [], path.name)
            for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "dangerouslySet", "eval(", "new Function", "style="):
                self.assertNotIn(word, text, path.name)

    def test_modules_say_what_they_are(self):
        for path in modules():
            lines = path.read_text().splitlines()
            self.assertTrue(lines[0].startswith("// "), path.name)
            self.assertIn("// SPDX-" + "License-Identifier: Apache-2.0", lines[:8], path.name)  # reuse takes the whole for a licence
            self.assertLessEqual(len(lines), MAX_LINES if path.name != "texts.js" else 2 * MAX_LINES, path.name)
            self.assertEqual([number for number, line in enumerate(lines, 1) if len(line) > MAX_COLUMNS], [], path.name)

    def test_texts_are_there_and_used(self):
        code = "".join(path.read_text() for path in modules() if path.name != "texts.js")
        named, section = set(), None
        for line in (DASHBOARD / "app/texts.js").read_text().splitlines():
            if begin := re.match(r"  (\w+): \{$", line):
                section = begin[1]
            elif inner := re.match(r"    (\w+): ", line):
                named.add(f"texts.{section}.{inner[1]}")
            elif outer := re.match(r"  (\w+): (.)", line):
                named.add(f"texts.{outer[1]}")
        used = set(re.findall(r"\btexts(?!\.js)(?:\.\w+){1,2}", code))
        whole = set(re.findall(r"\b(texts\.\w+)(?:\[|\)| [?:;]|;)", code))  # a value of the API or an action chooses one
        self.assertGreater(len(named), 200)
        self.assertEqual({text for text in named if text not in used and text.rsplit(".", 1)[0] not in whole and
                          not any(each.startswith(text + ".") for each in used)}, set(), "is not used")
        known = named | {text.rsplit(".", 1)[0] for text in named}
        self.assertEqual({text for text in used if text not in known and text.rsplit(".", 1)[0] not in named}, set(), "is missing")

    def test_every_change_in_the_audit_has_a_name(self):
        audited = set()
        for folder in ("proxy/state", "proxy/api", "proxy/daemon"):
            for path in (ROOT / folder).glob("*.cc"):
                audited |= set(re.findall(r'\.what = "([a-z.]+)"', path.read_text()))
                audited |= set(re.findall(r'"((?:exception|switch|token|report|device|group|schedule|list)\.(?!json)[a-z]+)"', path.read_text()))
        named = set(re.findall(r'^      "([a-z.]+)": ', (DASHBOARD / "app/texts.js").read_text(), re.M))
        self.assertGreater(len(audited), 12)
        self.assertEqual(audited, named)

    def test_the_policy_is_the_programs(self):
        program = re.sub(r'"\s*"', "", (ROOT / "proxy/api/dashboard.cc").read_text())
        self.assertIn(f"Content-Security-Policy: {POLICY}\\r\\n", program)


class MadeUpAnswers(unittest.TestCase):
    def test_are_answers_of_the_api(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no python3-jsonschema")
        # What the page does not know of may be there besides.
        document = json.loads((ROOT / "proxy/api/openapi.json").read_text().replace('"additionalProperties": false', '"additionalProperties": true'))
        checked = 0
        for path, answer in ANSWERS.items():
            operation = document["paths"].get(path, {}).get("get")
            if operation is None:
                continue
            self.assertIn(operation["x-role"], ROLES)
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            validator = jsonschema.Draft202012Validator({**schema, "components": document["components"]}, format_checker=jsonschema.FormatChecker())
            for query in ({}, {"span": "24h", "state": "accepted", "cursor": "x", "decision": "blocked"}):
                problems = [f"{list(error.path)}: {error.message}" for error in validator.iter_errors(answer(query))]
                self.assertEqual(problems, [], path)
                checked += 1
        self.assertGreater(checked, 15)


if __name__ == "__main__":
    unittest.main()
