// The commands of `bloomwall`: functions on streams, so that tests call them directly. Each returns the exit status:
//   0 done, allowed    1 blocked, refused, corrupt    2 usage or runtime error    78 configuration error
// Messages go to err, one a line, with the program's name before them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/terminal.h"
#include "proxy/explain/client_question.h"

namespace CLI {
class App;
}

namespace bloomwall::proxy {

// Serves until a signal ends it. Blocks signals and opens the logs of the whole process: once a process.
// With `lists` there is no configuration: list_run.h.
struct ServeCommand {
  std::filesystem::path config;                          // here and below: empty for the default place
  std::vector<std::string> lists = {}, more_lists = {};  // an option takes one word; what follows are more of them
  std::string listen = "127.0.0.1:3128";                 // of `lists`: an address and a port
};
int run_serve(const ServeCommand& command, const Streams& io);

// Validates the configuration and everything it names; prints what would be served and its false-positive rate.
// Names what a running proxy would not take over by a reload.
struct CheckCommand {
  std::filesystem::path config;
  bool json = false;
  // The user that the service runs as: files that it cannot read are refused (1). Empty: the user "bloomwall", if there
  // is one and the caller is root, and a warning.
  std::string as_user = {};
  std::filesystem::path place = {};  // where `config` is to stand, itself or as a file of conf.d; empty: where it is
};
int run_check(const CheckCommand& command, const Streams& io);

// Explains what the proxy would do with each URL. With URLs as arguments: the full explanation of each, with the
// verdict of a tunnel (https) and of the access rules; 1 if any is blocked, rejected or refused, as a URL or as a
// tunnel. None (or "-"): one URL a line from `in`, answered by "listed<TAB>URL<TAB>expression",
// "refused<TAB>URL<TAB>error", "clear<TAB>URL" or "invalid<TAB>URL<TAB>why"; 1 if any is listed (monitored counts, too)
// or refused. `json`: one object a line either way. Filters are not verified: that is `check`.
struct ExplainCommand {
  std::filesystem::path config;
  std::vector<std::string> urls;
  bool json = false;
  ClientQuestion asker = {};
  std::vector<std::string> under = {};  // other names of the connection, each of which must let the URL pass
};
int run_explain(const ExplainCommand& command, const Streams& io);

// Whether TLS to each host would be decrypted, and why: one line each, "decrypt<TAB>host<TAB>why", or tunnel, page,
// refuse, invalid in the first place. Hosts may have a port; URLs are taken for their host. None (or "-"): one a line
// from `in`. 1 if any is invalid. Filters are not verified. `asker`: for whom, where groups differ.
struct TlsCommand {
  std::filesystem::path config;
  std::vector<std::string> hosts;
  bool json = false;  // one object a line: action, host, why
  ClientQuestion asker = {};
};
int run_tls(const TlsCommand& command, const Streams& io);

// Connects to an origin as an intercepted connection would be (origin_trial.h), and prints what was found: whether it
// is verified, and why not; versions, ALPN, the certificates that came. `host`: as in TlsCommand. 1: the origin is
// refused; 2: it cannot be reached.
struct TlsTryCommand {
  std::filesystem::path config;
  std::string host;
};
int run_tls_try(const TlsTryCommand& command, const Streams& io);

// Asks the running proxy which clients refuse the certificates of TLS inspection (tls_api.h): one line each,
// "client<TAB>host<TAB>since<TAB>how<TAB>signal", sorted by client and host. 2: nobody there.
struct TlsRefusedCommand {
  std::filesystem::path config;
  bool json = false;
};
int run_tls_refused(const TlsRefusedCommand& command, const Streams& io);

// Asks the running proxy to reload, waits, and prints the outcome. 1: refused, the edition served before stays in use;
// 2: no proxy answers.
struct ReloadCommand {
  std::filesystem::path config;
};
int run_reload(const ReloadCommand& command, const Streams& io);

// Has the program that is installed by now take over from the running proxy (upgrade.h), and prints the process that
// then serves. 1: it could not, and the old one still serves; 2: no proxy answers, or one that knows no upgrade.
struct UpgradeCommand {
  std::filesystem::path config;
  std::uint32_t silence = 60;  // seconds that it may load without a word
};
int run_upgrade(const UpgradeCommand& command, const Streams& io);

// Whether the running proxy serves (/readyz), in one line. 1: it answers that it does not; 2: nobody answers within
// 5 s.
struct HealthCommand {
  std::filesystem::path config;
  bool json = false;  // {"ready":true,"text":"ready"}
};
int run_health(const HealthCommand& command, const Streams& io);

// Looks at everything (proxy/doctor): the configuration and what it names, the running proxy, this machine; one line
// for each thing, and what to do about what is wrong. 1: something is wrong. 2: the configuration may not be read, so
// that nearly nothing could be seen.
struct DoctorCommand {
  std::filesystem::path config;
  bool json = false;
};
int run_doctor(const DoctorCommand& command, const Streams& io);

// Which program has the address of each listener and door (port_holders.h): "key<TAB>address<TAB>program" each, and a
// message for each that another program holds; then 1. `json`: {"key":"listeners[0].address",
// "address":"127.0.0.1:3128","holder":{"program":"squid","pid":812}}; holder null: it is free; its members null: it is
// not seen from here.
struct ListenersCommand {
  std::filesystem::path config;
  bool json = false;
  bool after_failure = false;  // messages alone, and only where systemd says that the service has just ended with 2
};
int run_listeners(const ListenersCommand& command, const Streams& io);

// Answers the lines of another program, on stdin, by what the running proxy says at `socket` (an entry of `answers:`
// with protocol: squid): squid_helper.h. Each answer is one write(2) to stdout. Where nobody answers there for
// `timeout` seconds, or at all, there is no verdict; each further line tries again. Ends with stdin.
struct AnswerCommand {
  std::string program;  // squid
  std::filesystem::path socket;
  bool rewrites = false;
  std::string page;
  bool fails_closed = false;
  unsigned timeout = 10;
};
int run_answer(const AnswerCommand& command, const Streams& io);

// Prints lines for a shell that set http_proxy and the like. `address`: where the proxy is reached, as of
// conf::Pac::proxies; empty: what the configuration says. 2: it says none.
struct EnvCommand {
  std::filesystem::path config;
  std::string address = {};
};
int run_env(const EnvCommand& command, const Streams& io);

// Allows or denies an entry at once, in the running proxy (exceptions_api.h), and says until when. 1: it cannot be
// taken; 2: nobody there, or it could not be kept.
struct ExceptCommand {
  std::filesystem::path config;
  bool deny = false;
  std::string entry, why;
  std::vector<std::string> filters;
  std::string lasts = {};                          // a duration, or "ever"; empty: a day
  std::string until = {};                          // or a time, as in 2026-01-31T12:00:00Z
  bool until_build = false;                        // or until its filters do not list it any more
  std::string client = {}, user = {}, group = {};  // whom it is for, at most one of these; none: everybody
};
int run_except(const ExceptCommand& command, const Streams& io);

// Without words shows the exceptions of the running proxy, a line each. "remove" ID removes one, 1 where there is none;
// "export" prints those that an allow list can say; "import" FILE makes those of a JSON file, in their order, 1 where
// one of them is refused. 2: nobody there, or a file that is not one of exceptions, of which none is made then.
struct ExceptionsCommand {
  std::filesystem::path config;
  bool json = false;
  std::vector<std::string> words;
};
int run_exceptions(const ExceptionsCommand& command, const Streams& io);

// Reports of mistakes (reports_api.h): those that are open, or all, a line each, the newest first:
// "id<TAB>state<TAB>count<TAB>last<TAB>filter and expression<TAB>URL<TAB>for whom<TAB>comment". 2: nobody there.
struct ReportsCommand {
  std::filesystem::path config;
  bool all = false, json = false;
};
int run_reports(const ReportsCommand& command, const Streams& io);

// Decides on one, and prints it; of one that is accepted also the exception. 1: there is none that is open, or it
// cannot be accepted so; 2: nobody there, or it could not be kept.
struct ReportCommand {
  std::filesystem::path config;
  std::uint64_t id = 0;
  std::string why = {};  // for whoever has reported it
  // Of accept.
  std::string scope = {}, group = {};  // client, group or all; another group than the report's
  std::string lasts = {};              // a duration, or "ever"; empty: until a build
  bool until_build = false;
  std::string entry = {};  // another one than the report's
};
int run_report_accept(const ReportCommand& command, const Streams& io);
int run_report_reject(const ReportCommand& command, const Streams& io);

// Which filters list a URL, and in which lines of the lists that they were built from (why.h). 1: some filter lists it
// and no line could be found, or a list could not be read.
struct WhyCommand {
  std::filesystem::path config;
  std::string url = {}, filter = {};
  std::vector<std::string> lists = {};
  std::vector<std::string> under = {};  // as in ExplainCommand
  bool json = false;
};
int run_why(const WhyCommand& command, const Streams& io);

// Fetches the lists of filters[].sources that are due, builds the filters whose lists have changed, and has the running
// proxy take them over (proxy/update). 1: something failed or was refused, which it names; what was good before is
// kept. 2: nothing could be done: another update runs, a folder cannot be written.
struct UpdateCommand {
  std::filesystem::path config;
  std::vector<std::string> names;  // filters; these alone, and at once. Of `add`: of lists of the catalogue
  bool add = false;  // makes a filter of each first, in Config::drop_in_folder; one that cannot be built is removed
  bool catalogue = false;  // shows the lists that `add` knows: "name<TAB>category<TAB>entries<TAB>licence<TAB>page"
  bool force = false, missing = false, loop = false, json = false;
  bool refuse_exceptions = false;  // with `add`: of the filters that it makes
  std::string why = {};            // of `force`, for the audit
};
int run_update_command(const UpdateCommand& command, const Streams& io);

// Devices with names (conf/device_file.h), in devices.yaml of Config::drop_in_folder. add and remove write it, only if
// the configuration is then taken, and have the running proxy reload; where that refuses, the file is put back. list:
// "name<TAB>addresses<TAB>group" each. 1: it cannot be taken, or there is none of that name; 2: the file cannot be
// written.
struct DeviceCommand {
  std::filesystem::path config;
  std::string name = {}, group = {};
  std::vector<std::string> addresses = {};
  bool json = false;
};
int run_device_add(const DeviceCommand& command, const Streams& io);
int run_device_remove(const DeviceCommand& command, const Streams& io);
int run_device_list(const DeviceCommand& command, const Streams& io);

// Puts a switch over what a group does until a time (groups_api.h), or ends it. Without words shows those that there
// are: "group<TAB>switch<TAB>end<TAB>who<TAB>why" each. 1: it cannot be taken, or there is none; 2: nobody there, or it
// could not be kept.
struct SwitchCommand {
  std::filesystem::path config;
  std::string group = {}, what = {};  // "filters.games=off", "otherwise=deny", "pause"; to end it the key suffices
  std::string lasts = {}, why = {};
  bool ends = false, json = false;
};
int run_switch(const SwitchCommand& command, const Streams& io);

// Tokens, with which programs log in (state_api.h). add: prints it, once; 1: it cannot be taken, or there is none of
// that name to remove; 2: nobody there, or it could not be kept.
struct TokenCommand {
  std::filesystem::path config;
  std::string name = {};
  std::vector<std::string> groups = {};
  std::string role = {};   // viewer, reviewer, operator or admin: at the API; empty: for the proxy alone
  std::string lasts = {};  // a duration, or "ever"
  bool json = false;
};
int run_token_add(const TokenCommand& command, const Streams& io);
int run_token_list(const TokenCommand& command, const Streams& io);  // "name<TAB>groups<TAB>role<TAB>end" each
int run_token_remove(const TokenCommand& command, const Streams& io);

// Who has changed what in the running proxy, the newest first:
// "time<TAB>who<TAB>via<TAB>what<TAB>subject<TAB>why" each.
struct AuditCommand {
  std::filesystem::path config;
  std::string since = {};  // a time, or how far back; empty: all
  bool json = false;       // one object a line
};
int run_audit(const AuditCommand& command, const Streams& io);

// Searches the query log of the running proxy (requests_api.h), the newest first. Each: "time<TAB>decision<TAB>client
// <TAB>user<TAB>method<TAB>URL<TAB>status<TAB>filter and expression<TAB>id"; "-" for what is missing. 1: something
// of it is not understood; 2: nobody there.
struct LogCommand {
  std::filesystem::path config;
  std::string host = {}, path = {}, client = {}, user = {}, group = {}, filter = {}, decision = {}, id = {};
  std::string since = {};      // as of AuditCommand
  std::uint64_t limit = 1000;  // 0: all
  bool json = false;           // one object a line
};
int run_log(const LogCommand& command, const Streams& io);

// The certificate authority of TLS inspection. The files are those that the configuration names, unless `certificate`
// and `key` are given; then the configuration is not read.
struct CaCommand {
  std::filesystem::path config, certificate, key;
  std::filesystem::path folder = {};           // init: where ca.crt and ca.key are written
  std::string name = "bloomwall";              // init, next: the organisation in its name
  int days = 3650;                             // init, next
  std::filesystem::path constraints = {};      // init, next: a file of the domains that it may sign for
  std::filesystem::path passphrase_file = {};  // of the key
  bool with_intermediate = false, force = false, json = false;
  bool as_der = false, as_profile = false, as_bundle = false;  // export; none: PEM
};
int run_ca_init(const CaCommand& command, const Streams& io);      // 1: there is a CA already
int run_ca_show(const CaCommand& command, const Streams& io);      // what is published; reads no key
int run_ca_check(const CaCommand& command, const Streams& io);     // 78: it cannot be used as it is
int run_ca_export(const CaCommand& command, const Streams& io);    // what clients install
int run_ca_next(const CaCommand& command, const Streams& io);      // makes the CA to come
int run_ca_activate(const CaCommand& command, const Streams& io);  // puts it in place of the one in use

// Hands the command line, nothing of it parsed yet, to `use`; a parse of it runs the command and sets `status`. Returns
// what `use` returns.
int with_command_line(const Streams& io, const std::function<int(CLI::App& app, const int& status)>& use);

// The command line, without the program's name. Never throws.
int run_program(std::vector<std::string> arguments, const Streams& io);

// Turns configurations of other proxies into one of ours (import.h): writes `out`/bloomwall.yaml and the lists that it
// names, and prints the report, a line for each line of them. 1: something that they refused passes now, or the result
// is no configuration yet; 2: a file cannot be read or written, or there is a bloomwall.yaml in `out` (not with force).
struct ImportCommand {
  std::vector<std::filesystem::path> files;
  std::filesystem::path out;
  bool json = false, force = false;
};
int run_import(const ImportCommand& command, const Streams& io);

}  // namespace bloomwall::proxy
