"""`admin.tls: internal`: the dashboard and the API with a certificate that the proxy's own authority signs, asked by curl and by
Python's ssl: who accepts it, by which names, and what happens at a reload, a day later, and when the machine's addresses change.

Called with BUILD_DIR.
SPDX-License-Identifier: Apache-2.0
"""
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import unittest

from interception_site import BUILD, SANITIZED, WAIT, clock_ahead, set_clock, until

CONFIGURATION = """listeners: [{address: "127.0.0.1:0"}]
state_dir: state
filters: [{name: list, file: list.bwf}]
tls_inspection: {ca: {certificate: ca/ca.crt, key: ca/ca.key}}
admin: {address: "0.0.0.0:0", tls: internal, hosts: [Box.Home.Arpa], control_socket: control.sock}
log: {file: daemon.log, access: {file: off}}
"""


def bloomwall(*words, **how):
    return subprocess.run([BUILD / "bloomwall", *[str(word) for word in words]], capture_output=True, text=True, timeout=WAIT * 3, **how)


def names_of(certificate):
    return {name for _, name in certificate["subjectAltName"]}


class AdminTls(unittest.TestCase):
    within = ()  # a command that becomes the program
    environment = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "bloomwall.yaml"
        self.file.write_text(CONFIGURATION)
        (self.folder / "list.txt").write_text("listed.example.test\n")
        subprocess.run([BUILD / "bloomwall-filter", "build", "-q", "-o", self.folder / "list.bwf", self.folder / "list.txt"], check=True)

    def make_authority(self, *words):
        made = bloomwall("ca", "init", "--out", self.folder / "ca", *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        shutil.copy(self.folder / "ca/ca.crt", self.folder / "trusted.crt")  # what a client has installed

    def start(self):
        log = self.folder / "daemon.log"
        self.process = subprocess.Popen([*self.within, BUILD / "bloomwall", "run", "--config", self.file], env=self.environment)
        self.addCleanup(self.stop)
        until(lambda: log.exists() and "listening on" in log.read_text())
        self.port = int(re.search(r"admin on [\d.]+:(\d+)", log.read_text())[1])

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(WAIT)

    def log(self):
        return (self.folder / "daemon.log").read_text()

    def certificate(self, name="localhost", trusted="trusted.crt"):
        """As a client reads it that verifies all of it, and the octets."""
        context = ssl.create_default_context(cafile=self.folder / trusted)
        context.verify_flags |= ssl.VERIFY_X509_STRICT
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT) as plain, context.wrap_socket(plain, server_hostname=name) as client:
            return client.getpeercert(), client.getpeercert(True)

    def curl(self, url, *words):
        done = subprocess.run(["curl", "-sS", "--max-time", str(WAIT), "--cacert", self.folder / "trusted.crt", *words, url],
                              capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


class WithAnAuthority(AdminTls):
    def test_serves_dashboard_and_api_under_every_name_of_the_address(self):
        self.make_authority()
        self.start()
        for host in ("box.home.arpa", "localhost", "127.0.0.1"):
            status, page = self.curl(f"https://{host}:{self.port}/", "--resolve", f"{host}:{self.port}:127.0.0.1")
            self.assertEqual(status, 0, page)
            self.assertIn("<html", page)
        token = bloomwall("token", "add", "parent", "--role", "admin", "--for", "1h", "--config", self.file).stdout.strip()
        status, answer = self.curl(f"https://127.0.0.1:{self.port}/api/v1/status", "-H", f"Authorization: Bearer {token}")
        self.assertEqual(status, 0, answer)
        self.assertEqual(json.loads(answer)["phase"], "serving")
        status, answer = self.curl(f"https://127.0.0.1:{self.port}/api/v1/session", "-i", "-d", json.dumps({"token": token}))
        self.assertRegex(answer, r"Set-Cookie: bloomwall_session_\d+=\S+; Path=/; HttpOnly; SameSite=Strict; Secure")
        shown, _ = self.certificate()
        self.assertLessEqual({"box.home.arpa", "localhost", "127.0.0.1"}, names_of(shown))

    def test_is_refused_under_other_names_and_by_clients_without_the_authority(self):
        self.make_authority()
        self.start()
        with self.assertRaisesRegex(ssl.SSLCertVerificationError, "Hostname mismatch"):
            self.certificate("other.home.arpa")
        with self.assertRaises(ssl.SSLCertVerificationError):
            ssl.create_default_context().wrap_socket(socket.create_connection(("127.0.0.1", self.port), timeout=WAIT), server_hostname="localhost")
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            self.assertNotIn(b"alive", plain.recv(65536))
        # The certificate is no leave for a page with another name.
        status, answer = self.curl(f"https://localhost:{self.port}/", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Host: evil.test")
        self.assertEqual((status, answer), (0, "421"))

    def test_another_authority_is_used_after_a_reload(self):
        self.make_authority()
        self.start()
        self.certificate()
        with socket.create_connection(("127.0.0.1", self.port), timeout=WAIT) as held:  # open before, served with what it began with
            shutil.copy(self.folder / "trusted.crt", self.folder / "old.crt")
            self.make_authority("--force")
            self.assertEqual(bloomwall("reload", "--config", self.file).returncode, 0)
            self.certificate()
            with self.assertRaises(ssl.SSLCertVerificationError):
                self.certificate(trusted="old.crt")
            context = ssl.create_default_context(cafile=self.folder / "old.crt")
            context.check_hostname = False
            try:
                with context.wrap_socket(held):
                    pass
            except ssl.SSLCertVerificationError:
                pass  # accepted after the reload: the loop had not taken it before
        (self.folder / "ca/ca.key").unlink()
        refused = bloomwall("reload", "--config", self.file)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("admin.tls: internal needs the authority of tls_inspection.ca", refused.stdout + refused.stderr)
        self.certificate()  # what was served is served on

    def test_check_and_doctor_say_whom_it_is_for(self):
        self.make_authority()
        checked = bloomwall("check", "--config", self.file)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertRegex(checked.stdout, r"admin\.tls: a certificate for box\.home\.arpa, localhost, .*127\.0\.0\.1.*; browsers must trust what signs it, "
                                         r".*CN=bloomwall .*\(`bloomwall ca export`\)")
        self.start()
        told = json.loads(bloomwall("doctor", "--json", "--config", self.file).stdout)
        line = next(each for each in told["findings"] if each["subject"] == "dashboard")
        self.assertEqual(line["grade"], "ok")
        self.assertIn("https://box.home.arpa:", line["what"])
        self.assertIn("browsers warn until they trust the CA", line["what"])

    def test_names_that_the_authority_may_not_sign_are_left_out_and_told(self):
        limits = self.folder / "limits"
        limits.write_text("permitted home.arpa\n")
        self.make_authority("--constrain", limits)
        checked = bloomwall("check", "--config", self.file)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertRegex(checked.stderr, r"admin\.tls: internal: the CA's name constraints forbid localhost, .*127\.0\.0\.1")
        self.start()
        shown, _ = self.certificate("box.home.arpa")
        self.assertEqual(names_of(shown), {"box.home.arpa"})
        self.file.write_text(CONFIGURATION.replace(", hosts: [Box.Home.Arpa]", ""))
        refused = bloomwall("check", "--config", self.file)
        self.assertEqual(refused.returncode, 78, refused.stderr)
        self.assertIn("its name constraints forbid all that the address is called by", refused.stderr)


class WithoutAnAuthority(AdminTls):
    def test_says_which_file_is_missing_and_what_makes_it(self):
        for command in ("check", "run"):
            refused = bloomwall(command, "--config", self.file)
            self.assertNotEqual(refused.returncode, 0, command)
            self.assertRegex(refused.stderr + refused.stdout + (self.log() if command == "run" else ""),
                             r"admin\.tls: internal needs the authority of tls_inspection\.ca.*ca/ca\.crt: there is no such file; "
                             r"`bloomwall ca init` makes a CA", command)

    def test_another_word_is_an_error_with_its_place(self):
        self.file.write_text(CONFIGURATION.replace("tls: internal", "tls: automatic"))
        refused = bloomwall("check", "--config", self.file)
        self.assertEqual(refused.returncode, 78)
        self.assertRegex(refused.stderr, r"bloomwall\.yaml:5:\d+: admin\.tls: .*internal, or keys below it")


class ADayLater(AdminTls):
    """With a clock that a file sets: the program runs on, and shows another certificate."""

    def setUp(self):
        super().setUp()
        if SANITIZED:
            self.skipTest("a sanitizer comes before every other library")
        self.clock = self.folder / "clock"
        set_clock(self.clock, 0)
        self.environment = clock_ahead(file=self.clock)

    def test_it_is_renewed_without_a_restart(self):
        self.make_authority()
        self.start()
        shown, first = self.certificate()
        self.assertEqual(self.certificate()[1], first)
        set_clock(self.clock, 86500)
        until(lambda: "admin.tls: a new certificate, for box.home.arpa, localhost" in self.log())
        later, second = self.certificate()
        self.assertNotEqual(first, second)
        self.assertGreater(ssl.cert_time_to_seconds(later["notAfter"]), ssl.cert_time_to_seconds(shown["notAfter"]))
        set_clock(self.clock, 400000000)  # the authority has ended
        until(lambda: "the certificate before it is shown on" in self.log())
        self.assertEqual(self.log().count("the certificate before it is shown on"), 1)


class OnAnotherAddress(AdminTls):
    """A machine that gets another address while the program runs."""
    within = ("unshare", "--user", "--map-root-user", "--net", "--", "sh", "-c", 'ip link set lo up; exec "$@"', "-")

    def inside(self, *command):
        return subprocess.run(["nsenter", "--target", str(self.process.pid), "--user", "--net", "--preserve-credentials", *command],
                              capture_output=True, text=True, timeout=WAIT)

    def test_the_certificate_follows(self):
        probe = subprocess.run([*self.within, "true"], capture_output=True)
        if probe.returncode != 0 or not shutil.which("ip") or not shutil.which("nsenter"):
            self.skipTest("no network of its own")
        self.make_authority()
        self.start()
        ask = ["openssl", "s_client", "-connect", f"10.9.8.7:{self.port}", "-CAfile", self.folder / "trusted.crt", "-verify_ip", "10.9.8.7",
               "-verify_return_error"]
        done = self.inside("ip", "address", "add", "10.9.8.7/32", "dev", "lo")
        self.assertEqual(done.returncode, 0, done.stderr)
        until(lambda: re.search(r"a new certificate, for .*10\.9\.8\.7", self.log()))
        shown = self.inside(*[str(word) for word in ask])
        self.assertIn("Verification: OK", shown.stdout, shown.stderr)


if __name__ == "__main__":
    unittest.main()
