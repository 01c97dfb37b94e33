# SPDX-License-Identifier: Apache-2.0
"""Apache Traffic Server and e2guardian."""
from lib import *
from peer import *


class Ats(Peer):
    name = "trafficserver"; port = BASE + 9

    def command(self):
        d = self.dir
        for s in ("conf", "log", "run", "cache"):
            os.makedirs(f"{d}/{s}", exist_ok=True)
            os.chmod(f"{d}/{s}", 0o777)
        for f in os.listdir("/etc/trafficserver"):
            s = "/etc/trafficserver/" + f
            if os.path.isfile(s):
                shutil.copy(s, f"{d}/conf/{f}")
                os.chmod(f"{d}/conf/{f}", 0o644)
            elif not os.path.exists(f"{d}/conf/{f}"):
                shutil.copytree(s, f"{d}/conf/{f}")
        lib = sh(["traffic_layout", "info"]).stdout
        libdir = re.search(r"PLUGINDIR: (.*)", lib)
        write(d + "/runroot.yaml", f"""prefix: /usr
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: {d}/conf
datadir: {d}/cache
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: {libdir.group(1) if libdir else '/usr/lib/trafficserver/modules'}
localstatedir: {d}/run
runtimedir: {d}/run
logdir: {d}/log
cachedir: {d}/cache
""")
        write(d + "/conf/storage.config", "")
        write(d + "/conf/records.config", f"""
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT {NPROC}
CONFIG proxy.config.accept_threads INT 0
CONFIG proxy.config.task_threads INT 1
CONFIG proxy.config.http.server_ports STRING {self.port}:ip-in=127.0.0.1
CONFIG proxy.config.http.cache.http INT 0
CONFIG proxy.config.reverse_proxy.enabled INT 0
CONFIG proxy.config.url_remap.remap_required INT 0
CONFIG proxy.config.http.connect_ports STRING *
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 600
CONFIG proxy.config.http.keep_alive_no_activity_timeout_out INT 600
CONFIG proxy.config.http.transaction_no_activity_timeout_in INT 600
CONFIG proxy.config.http.transaction_no_activity_timeout_out INT 600
CONFIG proxy.config.http.transaction_active_timeout_in INT 0
CONFIG proxy.config.http.insert_request_via_str INT 0
CONFIG proxy.config.http.insert_client_ip INT 0
CONFIG proxy.config.http.insert_squid_x_forwarded_for INT 0
CONFIG proxy.config.http.server_session_sharing.pool STRING thread
CONFIG proxy.config.http.server_session_sharing.match STRING both
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.net.listen_backlog INT 4096
CONFIG proxy.config.hostdb.host_file.path STRING /etc/hosts
CONFIG proxy.config.crash_log_helper STRING NULL
""")
        return ["traffic_server", "--run-root=" + d + "/runroot.yaml"]


class E2guardian(Peer):
    """Direct mode (no parent proxy), URL filtering only: the storyboard asks the
    banned lists and lets the rest through without looking into the content."""
    name = "e2guardian"; port = BASE + 10; block_text = re.compile(rb"Blocked (site|URL): "); filters = ("domain", "url"); start_limit = 120

    def refresh(self):
        shutil.copyfile(self.listfile, self.dir + "/list")
        os.chmod(self.dir + "/list", 0o644)

    def command(self):
        d = self.dir
        os.makedirs(d + "/log", exist_ok=True)
        os.chmod(d + "/log", 0o777)
        empty = write(d + "/empty", "\n")
        site = d + "/list" if self.kind == "domain" else empty
        url = d + "/list" if self.kind == "url" else empty
        write(d + "/f1.story", """
function(checkrequest)
if(connect) return sslrequestcheck
if(urlin, banned) return setblock
if(true) setexception
function(sslrequestcheck)
if(sitein, banned) return setblock
if(true) setexception
function(checkresponse)
if(exceptionset) return false
function(thttps-checkrequest)
function(icap-checkrequest)
function(icap-checkresponse)
function(checknobypasslists)
function(checknoscanlists)
function(checknoscantypes)
""")
        write(d + "/pre.story", "function(pre-authcheck)\nfunction(thttps-pre-authcheck)\nfunction(icap-pre-authcheck)\n")
        write(d + "/f1.conf", f"""
groupname = 'pb'
storyboard = '{d}/f1.story'
bannedphraselist = '{empty}'
weightedphraselist = '{empty}'
exceptionphraselist = '{empty}'
sitelist = 'name=banned,messageno=500,path={site}'
urllist = 'name=banned,messageno=501,path={url}'
maxuploadsize = -1
naughtynesslimit = 50
weightedphrasemode = 0
reportinglevel = 3
disablecontentscan = on
sslmitm = off
bypass = 0
bypasskey = ''
""")
        c = write(d + "/conf", f"""
languagedir = '/usr/share/e2guardian/languages'
language = 'ukenglish'
loglevel = 0
logfileformat = 1
loglocation = '/dev/null'
statlocation = '/dev/null'
filterip = 127.0.0.1
filterports = {self.port}
proxytimeout = 100
connecttimeout = 10
proxyexchange = 300
pcontimeout = 300
filtergroups = 1
filtergroupslist = '{empty}'
weightedphrasemode = 0
phrasefiltermode = 2
maxcontentfiltersize = 1
maxcontentramcachescansize = 1
maxcontentfilecachescansize = 1
filecachedir = '{d}'
downloadmanager = '/etc/e2guardian/downloadmanagers/default.conf'
usecustombannedimage = off
usecustombannedflash = off
forwardedfor = off
logconnectionhandlingerrors = off
httpworkers = 2000
nodaemon = off
nologger = on
preauthstoryboard = '{d}/pre.story'
searchsitelistforip = off
pidfilename = '{d}/pid'
daemonuser = 'e2guardian'
daemongroup = 'e2guardian'
""")
        # e2guardian takes group N's file from <conf without .conf>fN.conf
        shutil.copyfile(c, d + "/e2.conf")
        shutil.copyfile(d + "/f1.conf", d + "/e2f1.conf")
        return ["e2guardian", "-N", "-c", d + "/e2.conf"]

    def reload(self):
        self.p.send_signal(signal.SIGUSR1)       # gentle: read the lists again
