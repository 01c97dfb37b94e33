// What stands below the options in --help of the commands.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace bloomwall::proxy {

inline constexpr const char* kFooter =
    "Exit status: 0 done, allowed; 1 blocked, refused, corrupt; 2 usage or runtime error; 78 configuration error.\n"
    "Every key of the configuration is described in bloomwall.yaml(5).";
inline constexpr const char* kRunFooter =
    "Signals: SIGHUP reloads all that can change without new listeners and reopens logs; SIGUSR1 reopens logs;\n"
    "SIGTERM announces the end and drains (timeouts.announce, .drain), a second one stops now; SIGINT stops now.";
inline constexpr const char* kExplainFooter =
    "Without a URL (or with -) URLs are read from stdin, one a line, and answered in their order:\n"
    "  listed<TAB>URL<TAB>expression    refused<TAB>URL<TAB>error    clear<TAB>URL    invalid<TAB>URL<TAB>reason\n"
    "Control octets in a URL are shown as \\xNN. An https URL reaches the proxy as CONNECT host:port: the line "
    "\"through a tunnel\" says what becomes of that.\n"
    "Beside \"asked\" stands what each filter was asked for: S a host with its subdomains, X a host alone, W its "
    "subdomains\n"
    "alone, U a URL, Q a URL with its query, D a directory (D1: of one level), N a range of addresses. A mark says "
    "whether\n"
    "a host has entries for URLs of that kind at all.\n"
    "With groups in the configuration it answers for the group of --client and --user at --listener, at the time --at, "
    "and says\n"
    "until when that holds. Read from the files, not from the running proxy. Exit status 1: something is blocked, "
    "rejected\n"
    "or refused (on stdin: listed or refused).";
inline constexpr const char* kTlsFooter =
    "One line each: decrypt, tunnel, page or refuse, the host, and why. Without a host (or with -) hosts are read from "
    "stdin.\n"
    "Answered for a browser of any client that tls_inspection.clients includes. Read from the files, not from the "
    "running\n"
    "proxy. Exit status 1: something is no host.";
inline constexpr const char* kTryFooter =
    "With the resolver, the parent proxy, access.deny_destinations and tls_inspection.verify of the configuration; "
    "without its\n"
    "filters, and without the authority's key. No request is sent. Exit status: 0 verified; 1 the origin is refused; "
    "2 it cannot\nbe reached.";
inline constexpr const char* kRefusedFooter =
    "One line each: client, host, since when, how, the last signal (alert, eof, silent). Asked of the running proxy, "
    "over\nadmin.control_socket. Listed from the auto_pass.after-th signal within a minute on, for auto_pass.for.";
inline constexpr const char* kExceptFooter =
    "In force when the command returns, without a reload, and kept over a restart. It comes before allow lists and "
    "filters;\n"
    "of several that match a URL the most specific decides, then the one for fewer people, then the newest. It prints "
    "ID, action, entry, end and "
    "reason.\n"
    "Exit status: 0 it is in force; 1 it cannot be taken; 2 nobody to ask, or it could not be kept.";
inline constexpr const char* kReportFooter =
    "Accepting makes an exception against the filter that has blocked the page, in one step with the decision: for the "
    "report's\n"
    "group, or for all where it has none; until a build of the filter does not list it any more, or for a day where no "
    "filter\n"
    "has blocked it. Whoever reported it reads --why on the page of the report. Exit status: 0 done; 1 there is no "
    "such "
    "report\n"
    "that is open, or it cannot be accepted so; 2 nobody to ask, or it could not be kept.";
inline constexpr const char* kWhyFooter =
    "Read from the files and lists, not from the running proxy. Without lists as arguments those in "
    "filters[].sources_folder are\nread, or the copies of filters[].sources. What is in none of the lists that a "
    "filter was built from is an error of the\nfilter itself. Exit status: 0 a line was found for each filter that "
    "lists it, or none does; 1 not for each; 2 filters cannot\nbe read.";
inline constexpr const char* kSwitchFooter =
    "In force when the command returns, without a reload; it ends by itself, and open tunnels are judged again both "
    "times.\n"
    "pause: every filter that blocks or monitors is off, but for those with exceptions: refused. One of a group and a "
    "key\ncounts, the newest. Exit status: 0 it is in force; 1 it cannot be taken; 2 nobody to ask, or it could not be "
    "kept.";
inline constexpr const char* kCaFooter =
    "Private keys are never printed or exported. Exit status: 0 done; 1 there is one already; 2 files cannot be read "
    "or written;\n78 it cannot be used.";
inline constexpr const char* kReloadFooter =
    "Exit status: 0 the new files are served; 1 they were refused, and the old ones are served on; 2 nobody to ask.";
inline constexpr const char* kUpgradeFooter =
    "No connection is refused or cut: the new process gets the listening sockets, loads, and serves; the old one ends "
    "when its\nconnections have, or after timeouts.drain. It takes what is installed where the running program was, "
    "and "
    "the configuration\nas it is now. Exit status: 0 the new process serves; 1 it could not, and the old one serves "
    "on; "
    "2 nobody to ask.";
inline constexpr const char* kHealthFooter =
    "Asked of the running proxy, over admin.control_socket, for at most 5 s. Exit status: 0 it serves; 1 it starts or "
    "stops, or\na filter is lost; 2 nobody to ask.";
inline constexpr const char* kListenersFooter =
    "One line each: key, address, and free or the program that listens there. Only root sees the programs of others.\n"
    "Exit status: 0 done; 1 another program is seen to hold one of them.";
inline constexpr const char* kLogFooter =
    "One line each, the newest first: time, decision, client, user, method, URL, status, filter and expression, id of "
    "the\ndecision; - for what is missing. Asked of the running proxy, over admin.control_socket. Exit status: 0 done; "
    "1 "
    "it cannot be\nunderstood; 2 nobody to ask.";

}  // namespace bloomwall::proxy
