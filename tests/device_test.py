"""`bloomwall device`: what it writes into conf.d, what the configuration does not take, and what the running proxy then does with the device.

Called with BUILD_DIR.
SPDX-License-Identifier: Apache-2.0
"""
import contextlib
import http.client
import json
import pathlib
import socket
import subprocess
import tempfile
import threading
import unittest

from api_site import Proxy
from interception_site import BUILD, WAIT, until

GROUPS = ("{name: kiosks, clients: [127.0.0.8]}, {name: children, clients: [127.0.0.200], filters: {list: block}}, "
          "{name: rest, filters: {list: 'off'}}")


class Devices(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="bloomwall-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "conf.d").mkdir()
        self.file = self.folder / "conf.d/devices.yaml"

    def start(self):
        self.proxy = Proxy(self.folder, groups=GROUPS, authentication="", more="include: [conf.d/*.yaml]\n")
        self.addCleanup(self.proxy.stop)

    def device(self, *words, status=0):
        done = subprocess.run([BUILD / "bloomwall", "device", *words, "--config", self.folder / "bloomwall.yaml"], capture_output=True, text=True,
                              timeout=WAIT)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def asked_from(self, client):
        """The status of a page that only `children` may not see."""
        connection = http.client.HTTPConnection("127.0.0.1", self.proxy.own_port, timeout=WAIT, source_address=(client, 0))
        connection.request("GET", "http://listed.example.test/")
        status = connection.getresponse().status
        connection.close()
        return status

    def here(self, client):
        items = json.loads(self.proxy.ask("GET", "/clients", token=self.token)[2])["items"]
        return next((item for item in items if item["client"] == client), {"requests": 0})

    def test_a_device_is_put_in_a_group_and_taken_out_again(self):
        self.start()
        self.token = self.proxy.command("token", "add", "anna", "--role", "operator", "--for", "1h").strip()
        self.assertNotEqual(self.asked_from("127.0.0.7"), 403)
        self.device("add", "Anna's tablet", "127.0.0.7", "fd00::7", "--group", "children")
        self.assertEqual(self.asked_from("127.0.0.7"), 403)
        seen = until(lambda: (row := self.here("127.0.0.7"))["requests"] == 2 and row)  # the last is counted once it has ended
        self.assertEqual((seen["device"], seen["device_group"], seen["group"], seen["blocked"]), ("Anna's tablet", "children", "children", 1))
        self.assertTrue(self.file.read_text().endswith(
            "devices:\n- {name: Anna's tablet, addresses: [127.0.0.7, \"fd00::7\"], group: children}\n"), self.file.read_text())
        self.file.write_text(self.file.read_text().replace("children}\n", "children}   # since May\n"))
        self.device("add", "Anna's tablet")  # in no group any more, with the same addresses
        self.assertIn("- {name: Anna's tablet, addresses: [127.0.0.7, \"fd00::7\"]}   # since May\n", self.file.read_text())
        self.assertNotEqual(self.asked_from("127.0.0.7"), 403)
        self.assertEqual(self.device("list"), "Anna's tablet\t127.0.0.7,fd00::7\t-\n")
        self.assertEqual(json.loads(self.device("list", "--json")), {"name": "Anna's tablet", "addresses": ["127.0.0.7", "fd00::7"], "group": None})
        self.device("remove", "Anna's tablet")
        self.assertEqual(self.device("list"), "")
        self.assertIn("there is no device Anna's tablet", self.device("remove", "Anna's tablet", status=1))
        self.device("add", "radio", "127.0.0.9")

    def test_what_the_configuration_does_not_take_is_not_written(self):
        self.start()
        self.device("add", "radio", "127.0.0.9")
        before = self.file.read_text()
        for words, status, why in ((("add", "a", "127.0.0.7", "--group", "childen"), 78, "there is no group childen; did you mean children?"),
                                   (("add", "a", "127.0.0.7", "--group", "rest"), 78, "does not ask for clients"),
                                   (("add", "a", "127.0.0.8", "--group", "children"), 1, "would stay in the group kiosks, which comes before children"),
                                   (("add", "a", "lamp.lan"), 78, "expected an IP address"),
                                   (("add", "a", "127.0.0.9"), 78, "127.0.0.9 is an address of radio and of a"),
                                   (("add", " a", "127.0.0.7"), 78, "a name for people"),
                                   (("add", "a"), 1, "there is no device a yet: give its addresses")):
            self.assertIn(why, self.device(*words, status=status), words)
            self.assertEqual(self.file.read_text(), before, words)
        self.file.write_text(before + "groups: []\n")
        self.assertIn("devices.yaml: line 4: groups: only devices are kept here", self.device("add", "a", "127.0.0.7", status=1))
        self.assertEqual(sorted(path.name for path in (self.folder / "conf.d").iterdir()), ["devices.yaml"])

    def test_a_reload_that_is_refused_puts_the_file_back(self):
        self.start()
        self.device("add", "radio", "127.0.0.9")
        before = self.file.read_text()
        (self.folder / "list.bwf").rename(self.folder / "list.away")  # what the command need not read, and a reload must
        self.assertIn("as it was before, since the reload was refused", self.device("add", "lamp", "127.0.0.10", status=1))
        self.assertEqual(self.file.read_text(), before)

    def test_what_somebody_has_edited_meanwhile_is_not_put_back(self):
        self.start()
        self.device("add", "radio", "127.0.0.9")
        edited = self.file.read_text() + "# the lamp is Anna's\n"
        changes = {"changed the file meanwhile": lambda: self.file.write_text(edited), "file meanwhile": self.file.unlink,
                   "removed again": lambda: None}
        for i, (said, change) in enumerate(changes.items()):
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
                listener.bind(str(self.folder / f"busy{i}.sock"))
                listener.listen()
                thread = threading.Thread(target=self.refuse_reload, args=(listener, change))
                thread.start()
                self.assertIn(said, self.device("add", "lamp", "127.0.0.10", "--socket", self.folder / f"busy{i}.sock", status=1))
                thread.join(WAIT)
            if i == 0:
                self.assertEqual(self.file.read_text(), edited)
            self.assertEqual(self.file.exists(), i == 0)

    @staticmethod
    def refuse_reload(listener, change):
        """A proxy that is asked to reload, and refuses it after the change."""
        client = listener.accept()[0]
        with contextlib.closing(client):
            said = b""
            while b"\r\n\r\n" not in said:
                said += client.recv(65536)
            assert said.startswith(b"POST /api/v1/reload "), said
            change()
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nConnection: close\r\n\r\n"
                           b'{"pid":1,"configuration":"x"}\n{"text":"no"}\n{"exit_status":1}\n')

    def test_without_a_running_proxy_the_file_waits_for_the_next_start(self):
        self.start()
        self.proxy.stop()
        self.assertIn("no running proxy was asked to reload", self.device("add", "radio", "127.0.0.9"))
        self.assertEqual(self.device("list"), "radio\t127.0.0.9\t-\n")

    def test_a_configuration_that_includes_nothing_says_so(self):
        self.proxy = Proxy(self.folder, groups=GROUPS, authentication="")
        self.addCleanup(self.proxy.stop)
        self.assertIn("add `include: [conf.d/*.yaml]`", self.device("add", "radio", "127.0.0.9", status=2))


if __name__ == "__main__":
    unittest.main()
