// What stands below the options in --help of the commands. Lines that are not indented become one paragraph of the
// manual page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bloomwall::proxy {

inline constexpr const char* kFooter =
    R"(Exit status: 0 done, allowed; 1 blocked, refused, corrupt; 2 usage or runtime error; 78 configuration error.
Every key of the configuration is described in bloomwall.yaml(5).)";

inline constexpr const char* kRunFooter =
    R"(Signals: SIGHUP reloads everything that does not need new listeners, and reopens logs; SIGUSR1 reopens logs;
SIGTERM announces the shutdown and drains (timeouts.announce, .drain), a second one stops at once; SIGINT stops at once.
With --list the filter is built at the start, and again by SIGHUP; a list that is refused then leaves the one before in use.
Only this machine may use the proxy, and nothing is kept when it ends: everything else is said in a configuration.)";

inline constexpr const char* kExplainFooter =
    R"(Without a URL (or with -) URLs are read from stdin, one a line, and answered in order:
  listed<TAB>URL<TAB>expression    refused<TAB>URL<TAB>error    clear<TAB>URL    invalid<TAB>URL<TAB>reason
Control octets in a URL are shown as \xNN. An https URL reaches the proxy as CONNECT host:port; the line "through a
tunnel" shows the decision on that CONNECT. "asked" lists the kinds of entries that each filter was asked for: S a host
and its subdomains, X a host alone, W only its subdomains, U a URL, Q a URL with its query, D a directory (D1: of one
level), N a range of addresses. A mark says whether a host has any URL entries of that kind.
Where groups are configured, the answer is that of the group of --client and --user at --listener, at the time --at, with
the time until which it holds. The answer comes from the files, not from the running proxy. Exit status 1: something is
blocked, rejected or refused, also since --client is not in access.clients (on stdin: listed or refused).)";

inline constexpr const char* kTlsFooter =
    R"(Prints one line for each host: decrypt, tunnel, page or refuse, the host, and why. Without a host (or with -) hosts are
read from stdin. The answer is that for a browser of any client in tls_inspection.clients; it comes from the files, not
from the running proxy. Exit status 1: an argument is not a host.)";

inline constexpr const char* kTryFooter =
    R"(Uses the resolver, the parent proxy, access.deny_destinations and tls_inspection.verify of the configuration, but not
its filters or the authority's key. No request is sent. Exit status: 0 verified; 1 the origin is refused; 2 it cannot be
reached.)";

inline constexpr const char* kRefusedFooter =
    R"(Prints one line for each: client, host, since when, how, the last signal (alert, eof, silent). Asks the running proxy
through admin.control_socket. A pair is listed for auto_pass.for after auto_pass.after signals within a minute.)";

inline constexpr const char* kExceptFooter =
    R"(The exception is in force when the command returns, without a reload, and is kept over a restart. Exceptions come
before allow lists and filters; of several that match a URL the most specific decides, then the one for fewer people, then
the newest. Prints ID, action, entry, end and reason.
Exit status: 0 it is in force; 1 it was refused; 2 no proxy answers, or the exception could not be stored.)";

inline constexpr const char* kReportFooter =
    R"(Accepting makes an exception against the filters that stop the page, in one step with the decision: for the report's
group, or for everybody where it has none; until a build of these filters no longer lists the page, or for a day where no
filter has blocked it. Whoever reported it reads --why on the page of the report.
Exit status: 0 done; 1 there is no such open report, or it cannot be accepted like this; 2 no proxy answers, or the
decision could not be stored.)";

inline constexpr const char* kWhyFooter =
    R"(Reads the files and lists, and does not ask the running proxy. Without lists as arguments it searches
filters[].sources_folder, or the copies of filters[].sources. A match that is in none of the lists that a filter was built
from is a false positive of the filter. With --under the URL is looked up under each of these names as well. Exit status:
0 a line was found for each filter that matches, or none matches; 1 not for each of them; 2 filters cannot be read.)";

inline constexpr const char* kImportFooter =
    R"(The report has a line for each directive, rule and block: taken, not needed, nearly, not, or not with a deny lost, and what
stands for it or why nothing does. Lists of squidGuard and ufdbGuard are read where they are; those in squid.conf, and the
files that it names, are copied into lists/. `bloomwall update --config DIR/bloomwall.yaml` builds the filters, `bloomwall
check` validates them, `bloomwall explain` shows what is decided on a URL.
Exit status: 0 written, and nothing that was refused passes; 1 written, but a rule that refused something could not be
taken whole, or the result is not valid yet; 2 a file cannot be read or written.)";

inline constexpr const char* kSwitchFooter =
    R"(The switch is in force when the command returns, without a reload, and ends by itself; open tunnels are judged again
when it begins and when it ends. pause turns off every filter that blocks or monitors, except those with exceptions:
refused. A new switch replaces the one of the same group and key.
Exit status: 0 it is in force; 1 it was refused; 2 no proxy answers, or the switch could not be stored.)";

inline constexpr const char* kCaFooter =
    R"(Private keys are never printed or exported. Exit status: 0 done; 1 there is one already; 2 files cannot be read or
written; 78 it cannot be used.)";

inline constexpr const char* kReloadFooter =
    R"(Exit status: 0 the new files are in use; 1 they were refused and the old ones stay in use; 2 no proxy answers.)";

inline constexpr const char* kUpgradeFooter =
    R"(No connection is refused or cut: the new process takes over the listening sockets, loads and serves; the old one ends
once its connections have ended, or after timeouts.drain. The new process runs the program that is now installed at the
running one's path, with the present configuration.
Exit status: 0 the new process serves; 1 it failed, and the old one goes on serving; 2 no proxy answers.)";

inline constexpr const char* kHealthFooter =
    R"(Asks the running proxy through admin.control_socket, for at most 5 s. Exit status: 0 it serves; 1 it is starting or
stopping, or a filter is lost; 2 no proxy answers.)";

inline constexpr const char* kDoctorFooter =
    R"(Prints one line for each thing: ok, note (it works, and you may want it otherwise), unseen (it could not be looked at)
or wrong, and below what to do. It looks at the configuration, filters and certificates (as `bloomwall check`), lists and the
timer that updates them, the running proxy, its last reload and whether it serves the files as they are, its ports and who
can reach them, folders and disk space, the limit of descriptors and the clock. A firewall or a router before this machine
it cannot see. It changes nothing and works without a running proxy; root sees more.
Exit status: 0 nothing is wrong; 1 something is; 2 the configuration may not be read.)";

inline constexpr const char* kListenersFooter =
    R"(Prints one line for each: key, address, and "free" or the program that listens there. Only root sees the programs of
other users. Exit status: 0 done; 1 another program holds one of the addresses.)";

inline constexpr const char* kAnswerFooter =
    R"(Squid starts it: external_acl_type with %URI %METHOD %SRC, and %LOGIN where users log in (users: true at the door), gets
OK for what may pass and ERR for what may not; `acl clean external NAME` with `http_access deny !clean` denies also where
there is no verdict (BH).
As url_rewrite_program Squid lets pass what has no verdict, unless --fail-closed is given. Works with concurrency= and
without. The proxy may be started, reloaded and restarted meanwhile.
Exit status: 0 stdin has ended; 2 stdin or stdout cannot be used.)";

inline constexpr const char* kLogFooter =
    R"(Prints one line for each request, the newest first: time, decision, client, user, method, URL, status, filter and
expression, id of the decision; - for what is missing. Asks the running proxy through admin.control_socket.
Exit status: 0 done; 1 the question is not valid; 2 no proxy answers, or the search cannot be finished.)";

inline constexpr const char* kUpdateFooter =
    R"(Without names it fetches the lists that are due (filters[].sources[].every); with names, the lists of these filters at
once. A list that cannot be fetched, or that a guard refuses, stays as it was, and so does a filter that a guard refuses.
Started by root it works as the owner of update.folder. --force is noted in the audit of the running proxy; where none
runs, stderr says so.
Exit status: 0 done; 1 something failed or was refused, and is named; 2 nothing could be done.)";

inline constexpr const char* kEnvFooter =
    R"env(For a shell: eval "$(bloomwall env)", or a file in /etc/profile.d. Names are given in lower and in upper case, since
programs read one or the other. Without --address it is the first of pac.proxies, else the first listener that is not
transparent; for one on every address this machine's name is used.
Exit status: 0 done; 2 no address is known; 78 configuration error.)env";

}  // namespace bloomwall::proxy
