#!/usr/bin/env python3
"""What recipes_test.py does inside the system that it boots: each recipe of /guide is pasted into a shell, and what it promises is
asked of the service that came out. As root; nothing but this runs there. The devices of the recipes, the sites and the server of the
lists are all addresses of this machine.

Usage: recipes_steps.py RESULTS. One JSON object a step, as system_steps.py says.
SPDX-License-Identifier: Apache-2.0
"""
import base64
import http.server
import io
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tarfile
import threading

from system_steps import BOUND, journal, must, run, run_steps, step, wait_for

ETC = pathlib.Path("/etc/bloomwall")
STATE = pathlib.Path("/var/lib/bloomwall")
GUIDE = pathlib.Path("/guide")
SITES = "5.5.5.5"  # where all names lead: an address that is not private
# What is in the lists that the recipes add.
LISTED = {"hagezi-threats": "malware.example", "hagezi-nsfw": "adult.example", "ut1-games": "games.example", "ut1-social": "social.example",
          "ut1-webmail": "webmail.example", "hagezi-pro": "telemetry.example", "hagezi-doh": "doh.example", "ut1-vpn": "vpn.example"}
OTHERS = ["plain.example", "exam.example", "video.example", "partner.example", "updates.example", "mail.example", "registry.npmjs.org",
          "crates.example", "bedtime-stories.example"]
DEVICES = ["192.168.1.1", "192.168.1.2", "192.168.1.3", "192.168.1.17", "192.168.1.33", "192.168.1.99", "10.2.7.1", "10.2.7.3", "10.2.7.40",
           "10.1.0.2", "10.1.0.5", "10.9.0.7"]


# ---- the world around

def archive_of(category, host):
    """As the University of Toulouse publishes its categories."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        text = f"{host}\nwww.{host}\n".encode()
        info = tarfile.TarInfo(f"{category}/domains")
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    return out.getvalue()


def lists():
    pages = {f"/{name}": f"||{host}^\n||other.{host}^\n".encode() for name, host in LISTED.items() if not name.startswith("ut1-")}
    return pages | {f"/{name}": archive_of(name[4:], host) for name, host in LISTED.items() if name.startswith("ut1-")}


class Web(http.server.BaseHTTPRequestHandler):
    """The sites, and the server of the lists."""
    protocol_version = "HTTP/1.1"
    pages = lists()

    def do_GET(self):
        body = self.pages.get(self.path, b"the page")
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args):
        pass


def serve(address, port, certificate=None):
    server = http.server.ThreadingHTTPServer((address, port), Web)
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, certificate.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()


# ---- what is asked

def get(host, client, port=3128, proxy="127.0.0.1", user=None):
    """The status of http://host/ for a device; None where nobody listens."""
    login = f"Proxy-Authorization: Basic {base64.b64encode(user.encode()).decode()}\r\n" if user else ""
    try:
        with socket.create_connection((proxy, port), timeout=BOUND, source_address=(client, 0)) as connection:
            connection.sendall(f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n{login}Connection: close\r\n\r\n".encode())
            answer = connection.makefile("rb").read()
    except ConnectionRefusedError:
        return None
    return int(answer.split()[1])


def gets(client, want, **how):
    """`want`: the status of each host."""
    got = {host: get(host, client, **how) for host in want}
    assert got == want, f"{client}: {got}, not {want}\n{journal()}"


def explained(host, client, at):
    return run("bloomwall", "explain", f"http://{host}/", "--client", client, "--at", at)


# ---- what is pasted

def page(name):
    return (GUIDE / f"{name}.md").read_text()


def type_into_a_shell(text):
    done = subprocess.run(["bash", "-es"], input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
    assert done.returncode == 0, f"{text}\nstatus {done.returncode}\n{done.stdout}\n{journal()}"
    return done.stdout


def paste(name):
    """The recipe, after which the service serves it; `check` has said that a reload would not do."""
    [block] = re.findall(r"^```bash\n(.*?)^```$", page(name), re.S | re.M)
    assert block.startswith("bloomwall update --add "), block
    assert block.endswith("\nbloomwall check && systemctl restart bloomwall\n"), block
    said = type_into_a_shell(block)
    assert "takes effect after a restart only: listeners" in said, said


def line_of(name, begin):
    """The one command of a page that begins so, typed into a shell."""
    found = [line for line in re.findall(r"^    (\S.*)$", page(name), re.M) if line.startswith(begin)]
    assert len(found) == 1, f"{begin}: {found}"
    return type_into_a_shell(found[0] + "\n")


def afresh():
    """As after the installation of the package."""
    run("systemctl", "stop", "bloomwall")
    for file in [*ETC.glob("conf.d/*"), *STATE.glob("*")]:
        if file.name not in ("sample.yaml", "around.yaml"):
            shutil.rmtree(file) if file.is_dir() else file.unlink()
    run("systemctl", "reset-failed", "bloomwall", "bloomwall-update.service")
    must("systemctl", "start", "bloomwall")
    assert get("blocked.example.test", "127.0.0.1") == 403
    gets("127.0.0.1", {host: 200 for host in [*LISTED.values(), "plain.example"]})
    assert get("plain.example", "192.168.1.1", proxy="192.168.1.1") is None, "it serves this machine alone"


# ---- the steps

@step
def the_package_serves_this_machine_alone():
    for device in [SITES, *DEVICES]:
        must("ip", "address", "add", f"{device}/32", "dev", "lo")
    with pathlib.Path("/etc/hosts").open("a") as hosts:
        hosts.write(f"{SITES} lists.test {' '.join([*LISTED.values(), *OTHERS])}\n127.0.0.1 localhost\n")
    certificate = pathlib.Path("/root/lists.crt")
    must("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=lists.test",
         "-addext", "subjectAltName=DNS:lists.test", "-keyout", str(certificate.with_suffix(".key")), "-out", str(certificate))
    shutil.copy(certificate, ETC / "lists.crt")
    serve("0.0.0.0", 80)
    serve(SITES, 443, certificate)
    shipped = pathlib.Path("/usr/share/bloomwall/catalogue.yaml").read_text()
    (ETC / "catalogue.yaml").write_text(re.sub(r"(- name: (.*)\n  url: ).*", r"\1https://lists.test/\2", shipped))
    (ETC / "conf.d/around.yaml").write_text(f"update: {{catalogue: {ETC}/catalogue.yaml, ca_file: {ETC}/lists.crt}}\n"
                                            "timeouts: {announce: 0, drain: 1s}\n")
    pathlib.Path("/root/sample.txt").write_text("blocked.example.test\n")
    must("bloomwall-filter", "build", "-q", "-o", "/usr/share/bloomwall/sample.bwf", "/root/sample.txt")
    afresh()


@step
def the_recipe_for_a_family():
    afresh()
    paste("family")
    parent, child, guest = "192.168.1.17", "192.168.1.33", "192.168.1.99"
    gets(parent, {"adult.example": 200, "games.example": 200, "malware.example": 403, "plain.example": 200}, proxy="192.168.1.1")
    gets(guest, {"adult.example": 403, "games.example": 403, "malware.example": 403, "plain.example": 200}, proxy="192.168.1.1")
    gets(parent, {"192.168.1.2": 200, "192.168.1.3": 200, "192.168.1.1": 403}, proxy="192.168.1.1")
    assert get("plain.example", "10.2.7.40", proxy="192.168.1.1") in (403, None), "not from their network"
    status, said = explained("plain.example", child, "2026-11-23T21:00")
    assert status == 1 and "bedtime" in said, said
    assert explained("plain.example", child, "2026-11-23T18:00")[0] == 0
    assert [explained("games.example", child, f"2026-11-23T{at}")[0] for at in ("15:00", "17:00")] == [1, 0]
    assert explained("adult.example", child, "2026-11-23T17:00")[0] == 1

    line_of("family", "bloomwall switch children otherwise=allow")
    line_of("family", "bloomwall switch children pause")
    gets(child, {"plain.example": 200, "games.example": 200, "adult.example": 403, "malware.example": 403}, proxy="192.168.1.1")
    must("bloomwall", "switch", "children", "otherwise=deny", "--for", "1h")
    gets(child, {"plain.example": 403, "bedtime-stories.example": 403})
    line_of("family", "bloomwall allow bedtime-stories.example")
    gets(child, {"plain.example": 403, "bedtime-stories.example": 200})


@step
def the_rule_of_the_router():
    [block] = re.findall(r"^```bash\n(.*?)^```$", page("README"), re.S | re.M)
    type_into_a_shell(block)
    assert "ip saddr 192.168.1.32/28" in must("nft", "list", "table", "inet", "only_the_proxy")
    gets("192.168.1.33", {"bedtime-stories.example": 200}, proxy="192.168.1.1")  # by the proxy, as before


@step
def known_ways_around_are_added():
    afresh()
    [line] = re.findall(r"`update --add (hagezi-doh [^`]*)`", page("README"))
    type_into_a_shell(f"bloomwall update --add {line}\n")
    gets("127.0.0.1", {"doh.example": 403, "vpn.example": 403})


@step
def the_recipe_for_a_class():
    afresh()
    paste("class")
    teacher, pupil = "10.2.7.1", "10.2.7.40"
    gets(teacher, {"social.example": 200, "adult.example": 403, "plain.example": 200, "10.2.7.3": 200}, proxy="192.168.1.1")
    gets(pupil, {"adult.example": 403, "malware.example": 403, "plain.example": 200, "10.2.7.3": 200}, proxy="192.168.1.1")
    assert [explained("social.example", pupil, f"2026-11-23T{at}")[0] for at in ("09:00", "16:00")] == [1, 0]
    line_of("class", "bloomwall switch room-7 otherwise=deny")
    gets(pupil, {"plain.example": 403, "exam.example": 200})
    line_of("class", "bloomwall allow video.example")
    gets(pupil, {"video.example": 200, "plain.example": 403})
    gets(teacher, {"plain.example": 200})
    line_of("class", "bloomwall switch room-7 otherwise --end")
    gets(pupil, {"plain.example": 200})
    line_of("class", "bloomwall token add")


@step
def the_recipe_for_a_company():
    afresh()
    paste("company")
    office, kiosk, anna, carl = "10.1.0.5", "10.9.0.7", "anna:her password", "carl:his password"
    gets(office, {"plain.example": 407, "updates.example": 200}, proxy="192.168.1.1")
    gets(office, {"plain.example": 200, "webmail.example": 403, "malware.example": 403, "10.1.0.2": 200}, user=anna)
    gets(office, {"plain.example": 200, "webmail.example": 200, "malware.example": 403}, user=carl)
    gets(kiosk, {"partner.example": 200, "plain.example": 403}, proxy="192.168.1.1")
    status, said = run("bloomwall", "allow", "malware.example", "--why", "please")
    assert status == 1, said
    must("bloomwall", "deny", "mail.example", "--group", "default", "--why", "its mail")
    gets(office, {"mail.example": 403}, user=anna)
    line_of("company", "bloomwall allow mail.example")
    gets(office, {"mail.example": 200}, user=anna)
    assert "ticket 4711" in line_of("company", "bloomwall audit")


@step
def the_recipe_for_a_developer():
    afresh()
    paste("developer")
    gets("127.0.0.1", {"plain.example": 200, "malware.example": 403, "telemetry.example": 403})
    gets("127.0.0.1", {"registry.npmjs.org": 200, "plain.example": 403, "telemetry.example": 403}, port=3129)
    for line in ("useradd", "nft add table", "nft 'add chain", "nft 'add rule"):
        line_of("developer", line)
    assert "reject" in must("nft", "list", "table", "inet", "builds")
    line_of("developer", "eval")
    wait_for("the log has what was blocked", lambda: "plain.example" in line_of("developer", "bloomwall log"))
    status, said = run(*re.search(r"^    (bloomwall explain .*)$", page("developer"), re.M)[1].split())
    assert status == 1 and "telemetry" in said, said
    gets("127.0.0.1", {"crates.example": 403}, port=3129)
    line_of("developer", "bloomwall allow crates.example")
    gets("127.0.0.1", {"crates.example": 200}, port=3129)


if __name__ == "__main__":
    run_steps()
