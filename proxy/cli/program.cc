// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <utility>

#include "base/terminal.h"
#include "filter/cli/command_tree.h"
#include "proxy/cli/command_line.h"
#include "proxy/cli/commands.h"
#include "proxy/cli/footers.h"
#include "proxy/reload/loading.h"

namespace bloomwall::proxy {
namespace {

// What the command lines of exceptions fill in.
struct ExceptionCommands {
  ExceptCommand allow, deny;
  ExceptionsCommand all;

  void add(CLI::App& app, int& status, const Streams& io) {
    deny.deny = true;
    CLI::App* const allow_app = add_asking_command(
        app, "allow", "Lets an entry pass at once, whatever the filters say.", allow, status, io, run_except);
    add_options(*allow_app, allow);
    allow_app->add_flag("--until-build", allow.until_build, "until its filters no longer list it")
        ->excludes("--for")
        ->excludes("--until");
    allow_app->add_option("--filter", allow.filters, "only against this filter; may be given several times");
    add_options(*add_asking_command(app, "deny", "Blocks an entry at once.", deny, status, io, run_except), deny);
    CLI::App* const all_app =
        add_asking_command(app, "exceptions", "Shows the exceptions made by `allow` and `deny`, or removes one.", all,
                           status, io, run_exceptions);
    all_app->add_flag("--json", all.json, "as JSON");
    all_app->add_option(
        "WORDS", all.words,
        "remove ID; export: those that allow everybody against every filter, as an allow list; or import FILE: makes "
        "those that `exceptions --json` has written elsewhere, - for standard input");
  }
  static void add_options(CLI::App& app, ExceptCommand& command) {
    app.add_option("ENTRY", command.entry, "a host, a URL or a directory, as in an allow list")->required();
    app.add_option("--why", command.why, "the reason, stored and shown with it")->type_name("TEXT")->required();
    CLI::Option* lasts = app.add_option("--for", command.lasts, "how long: 30m, 12h, 7d, or ever; default: a day");
    app.add_option("--until", command.until, "or until this time")->type_name("2026-01-31T12:00:00Z")->excludes(lasts);
    CLI::Option* const group = app.add_option("--group", command.group, "only for the clients of this group");
    CLI::Option* const client =
        app.add_option("--client", command.client, "only for this client")->type_name("ADDRESS")->excludes(group);
    CLI::Option* const user = app.add_option("--user", command.user, "only for this user");
    user->type_name("NAME")->excludes(group)->excludes(client);
    // An empty name would be for everybody: of a script whose variable is not set.
    const auto names_somebody = [](const std::string& name) { return name.empty() ? "a name is needed" : ""; };
    for (CLI::Option* const whom : {group, client, user}) whom->check(names_somebody);
    app.footer(kExceptFooter);
  }
};

// What the command lines of `switch`, `token` and `audit` fill in.
struct TokenCommands {
  TokenCommand added, listed, removed;
  AuditCommand audit;
  SwitchCommand switched;

  void add_switch(CLI::App& app, int& status, const Streams& io) {
    CLI::App* const sub =
        add_asking_command(app, "switch", "Overrides what a group does for a while, or shows such switches.", switched,
                           status, io, run_switch);
    CLI::Option* const group = sub->add_option("GROUP", switched.group, "the group's name");
    CLI::Option* const what =
        sub->add_option("SWITCH", switched.what, "filters.NAME=ACTION, otherwise=allow, otherwise=deny or pause");
    group->needs(what);
    CLI::Option* const lasts = sub->add_option("--for", switched.lasts, "how long: 45m, at most 30d");
    sub->add_option("--why", switched.why, "the reason, stored and shown with it")->type_name("TEXT");
    sub->add_flag("--end", switched.ends, "end it now")->excludes(lasts);
    sub->add_flag("--json", switched.json, "show them as JSON, one object a line");
    sub->footer(kSwitchFooter);
  }
  void add(CLI::App& app, int& status, const Streams& io) {
    add_switch(app, status, io);
    CLI::App* const token = app.add_subcommand("token", "Tokens that programs log in with.");
    token->require_subcommand(1);
    CLI::App* const add_app =
        add_asking_command(*token, "add", "Makes one and prints it, once.", added, status, io, run_token_add);
    add_app->add_option("NAME", added.name, "of its owner: A-Z a-z 0-9 . _ -")->required();
    add_app->add_option("--group", added.groups,
                        "a user group that it belongs to; a reviewer may change things for its groups only; may be "
                        "given several times");
    add_app->add_option("--role", added.role, "viewer, reviewer, operator or admin: what it may do with the API");
    add_app->add_option("--for", added.lasts, "how long it is valid: 12h, 90d, or ever")->required();
    add_asking_command(*token, "list", "Shows names, groups, roles and ends.", listed, status, io, run_token_list)
        ->add_flag("--json", listed.json, "as JSON");
    add_asking_command(*token, "remove", "Removes one, which is then refused.", removed, status, io, run_token_remove)
        ->add_option("NAME", removed.name, "as `token list` shows it")
        ->required();
    CLI::App* const audit_app =
        add_asking_command(app, "audit", "Who has changed what, and why.", audit, status, io, run_audit);
    audit_app->add_option("--since", audit.since, "2d, or a time such as 2026-01-31T12:00:00Z; default: all");
    audit_app->add_flag("--json", audit.json, "as JSON, one object a line");
  }
};

// What the command lines of `device` fill in.
struct DeviceCommands {
  DeviceCommand added, removed, listed;

  void add(CLI::App& app, int& status, const Streams& io) {
    CLI::App* const device = app.add_subcommand("device", "Devices with names, and the groups that they are put in.");
    device->require_subcommand(1);
    CLI::App* const add_app =
        add_asking_command(*device, "add", "Names one, or changes it, in conf.d/devices.yaml, and reloads.", added,
                           status, io, run_device_add);
    add_app->add_option("NAME", added.name, "for people: 'the living room'")->required();
    add_app->add_option("ADDRESS", added.addresses, "its IP addresses, all of them; default: those that it has");
    add_app->add_option("--group", added.group,
                        "the group that it is put in, which must ask for clients; default: none");
    add_asking_command(*device, "remove", "Removes one from conf.d/devices.yaml, and reloads.", removed, status, io,
                       run_device_remove)
        ->add_option("NAME", removed.name, "as `device list` shows it")
        ->required();
    add_command(*device, "list", "Shows names, addresses and groups.", listed, status, io, run_device_list)
        ->add_flag("--json", listed.json, "as JSON, one object a line");
  }
};

// What the command lines of `reports` and `report` fill in.
struct ReportCommands {
  ReportsCommand all;
  ReportCommand accepted, rejected;

  void add(CLI::App& app, int& status, const Streams& io) {
    CLI::App* const all_app =
        add_asking_command(app, "reports", "Shows open reports of mistakes.", all, status, io, run_reports);
    all_app->add_flag("--all", all.all, "those already decided as well");
    all_app->add_flag("--json", all.json, "as JSON");
    CLI::App* const report = app.add_subcommand("report", "Decides on a report of a mistake.");
    report->require_subcommand(1);
    CLI::App* const accept_app =
        add_one(*report, "accept", "Makes an exception for the page.", accepted, status, io, run_report_accept);
    CLI::Option* const lasts = accept_app->add_option("--for", accepted.lasts, "1h, 1d, 7d, or ever");
    accept_app->add_flag("--until-build", accepted.until_build, "until its filters no longer list it; default")
        ->excludes(lasts);
    accept_app->add_option("--scope", accepted.scope, "for whom: client, group or all");
    accept_app->add_option("--group", accepted.group, "for this group instead of the report's");
    accept_app->add_option("--entry", accepted.entry, "allow this entry instead of what was blocked");
    add_one(*report, "reject", "Leaves the page blocked.", rejected, status, io, run_report_reject);
  }
  static CLI::App* add_one(CLI::App& report, const char* name, const char* what, ReportCommand& command, int& status,
                           const Streams& io, int (*run)(const ReportCommand&, const Streams&)) {
    CLI::App* const app = add_asking_command(report, name, what, command, status, io, run);
    app->add_option("ID", command.id, "as `bloomwall reports` shows it")->required();
    app->add_option("--why", command.why, "for the person who reported it")->type_name("TEXT");
    app->footer(kReportFooter);
    return app;
  }
};

void add_asker(CLI::App& app, ClientQuestion& asker) {
  app.add_option("--client", asker.client, "as a client of this address")->type_name("ADDRESS");
  app.add_option("--listener", asker.listener, "at this one of listeners[].address; default: the first");
  app.add_option("--user", asker.user, "logged in as this user")->type_name("NAME");
  app.add_option("--user-group", asker.user_groups,
                 "in this user group; may be given several times; default: those of authentication.users_file")
      ->type_name("NAME");
  app.add_option("--certificate", asker.certificates,
                 "with this name in its certificate, where the listener asks for one; may be given several times")
      ->type_name("cn:NAME");
  app.add_option("--at", asker.at, "at this time of time_zone, or of UTC with Z; default: now")
      ->type_name("2026-11-23T21:15");
}

// What the command lines of `tls` fill in. A host of the name "try" or "refused" is written with a port.
struct TlsCommands {
  TlsCommand all;
  TlsTryCommand tried;
  TlsRefusedCommand refused;

  void add(CLI::App& app, int& status, const Streams& io) {
    CLI::App* const tls =
        add_command(app, "tls", "Whether TLS to a host would be decrypted, and why.", all, status, io, run_tls);
    tls->add_option("HOST", all.hosts, "hosts, with or without a port; none or - for stdin");
    add_asker(*tls, all.asker);
    tls->add_flag("--json", all.json, "as JSON, one object a line");
    tls->footer(kTlsFooter);
    tls->callback([this, tls, &status, &io] {
      if (tls->get_subcommands().empty()) status = run_tls(all, io);
    });
    CLI::App* const try_app =
        add_command(*tls, "try", "Verifies an origin as the proxy would, and shows its certificates.", tried, status,
                    io, run_tls_try);
    try_app->add_option("HOST", tried.host, "a host, with or without a port")->required();
    try_app->footer(kTryFooter);
    try_app->callback([this, &status, &io] {
      if (tried.config.empty()) tried.config = all.config;
      status = run_tls_try(tried, io);
    });
    CLI::App* const refused_app = add_asking_command(*tls, "refused", "Which clients refuse our certificates, and how.",
                                                     refused, status, io, run_tls_refused);
    refused_app->add_flag("--json", refused.json, "as JSON");
    refused_app->footer(kRefusedFooter);
    refused_app->callback([this, &status, &io] {
      if (refused.config.empty()) refused.config = all.config;
      status = run_tls_refused(refused, io);
    });
  }
};

// What the command lines of `check` and `explain` fill in.
struct PolicyCommands {
  CheckCommand check;
  ExplainCommand explain;
  WhyCommand why;

  void add(CLI::App& app, int& status, const Streams& io) {
    auto* check_app = add_command(app, "check", "Validates configuration, filters, allow lists and templates.", check,
                                  status, io, run_check);
    check_app->add_flag("--json", check.json, "as JSON");
    check_app
        ->add_option("--as-user", check.as_user,
                     "refuse files that this user cannot read; root is warned of those that bloomwall cannot read")
        ->type_name("NAME");
    check_app
        ->add_option("--as", check.place, "check the file of --config as if it stood there, also as a file of conf.d")
        ->type_name("PATH");
    auto* explain_app =
        add_command(app, "explain", "Shows the decision on a URL, and why.", explain, status, io, run_explain);
    explain_app->add_option("URL", explain.urls, "URLs; none or - for stdin");
    explain_app->add_flag("--json", explain.json, "one JSON object a line");
    add_asker(*explain_app, explain.asker);
    add_under(*explain_app, explain.under);
    explain_app->footer(kExplainFooter);
    auto* why_app =
        add_command(app, "why", "Which lines of which lists stop a URL, or let it pass.", why, status, io, run_why);
    why_app->add_option("URL", why.url, "a URL or a host")->required();
    why_app->add_option("LIST", why.lists, "lists to search, as `bloomwall-filter build` takes them");
    why_app->add_option("--filter", why.filter, "only this filter")->type_name("NAME");
    add_under(*why_app, why.under);
    why_app->add_flag("--json", why.json, "as one JSON object");
    why_app->footer(kWhyFooter);
  }
  static void add_under(CLI::App& app, std::vector<std::string>& names) {
    app.add_option("--under", names,
                   "on a connection of this name, too: in CONNECT or the ClientHello, or the address that a redirected "
                   "client went to; may be given several times")
        ->type_name("HOST");
  }
};

void add_log(CLI::App& app, LogCommand& log, int& status, const Streams& io) {
  CLI::App* const sub = add_asking_command(app, "log", "Searches the query log.", log, status, io, run_log);
  sub->add_option("--host", log.host, "a part of the host");
  sub->add_option("--path", log.path, "a part of the URL behind the host");
  sub->add_option("--client", log.client, "as in the log")->type_name("ADDRESS");
  sub->add_option("--user", log.user, "logged in as this user")->type_name("NAME");
  sub->add_option("--group", log.group, "in this group")->type_name("NAME");
  sub->add_option("--filter", log.filter, "decided by this filter")->type_name("NAME");
  sub->add_option("--decision", log.decision, "allowed, monitored, blocked, rejected or refused");
  sub->add_option("--id", log.id, "decision id, as the block page shows it");
  sub->add_option("--since", log.since, "2d, or a time such as 2026-01-31T12:00:00Z; default: all");
  sub->add_option("--limit", log.limit, "at most so many; default 1000, 0 for all")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N");
  sub->add_flag("--json", log.json, "as JSON, one object a line");
  sub->footer(kLogFooter);
}

// What the command lines of `ca` fill in.
struct CaCommands {
  CaCommand init, show, check, exported, next, activate;

  void add(CLI::App& app, int& status, const Streams& io) {
    CLI::App* const ca = app.add_subcommand("ca", "The certificate authority of TLS inspection.");
    ca->require_subcommand(1);
    CLI::App* const init_app =
        add_one(*ca, "init", "Makes an authority: ca.crt and ca.key.", init, status, io, run_ca_init);
    init_app->add_option("--out", init.folder, "where to write ca.crt and ca.key")->type_name("DIR");
    init_app->add_flag("--force", init.force, "overwrite an existing one");
    add_making_options(*init_app, init);
    add_one(*ca, "show", "What clients install, with its fingerprint.", show, status, io, run_ca_show)
        ->add_flag("--json", show.json, "as JSON");
    add_one(*ca, "check", "Checks whether it can be used, and whether even the strictest clients accept what it signs.",
            check, status, io, run_ca_check);
    CLI::App* const export_app =
        add_one(*ca, "export", "The certificates that clients install, in PEM.", exported, status, io, run_ca_export);
    CLI::Option* const as_der = export_app->add_flag("--der", exported.as_der, "in DER; only the one in use");
    CLI::Option* const as_profile =
        export_app->add_flag("--mobileconfig", exported.as_profile, "as a profile for iOS and macOS")->excludes(as_der);
    export_app->add_flag("--bundle", exported.as_bundle, "in PEM, after the root certificates of this system")
        ->excludes(as_der)
        ->excludes(as_profile);
    add_making_options(*add_one(*ca, "next", "Makes the next authority, which is published but does not sign yet.",
                                next, status, io, run_ca_next),
                       next);
    add_one(*ca, "activate", "Replaces the one in use by the next one.", activate, status, io, run_ca_activate);
  }
  static CLI::App* add_one(CLI::App& ca, const char* name, const char* what, CaCommand& command, int& status,
                           const Streams& io, int (*run)(const CaCommand&, const Streams&)) {
    CLI::App* const app = add_command(ca, name, what, command, status, io, run);
    app->add_option("--certificate", command.certificate, "instead of tls_inspection.ca.certificate")
        ->type_name("FILE");
    app->add_option("--key", command.key, "instead of tls_inspection.ca.key; default: beside the certificate")
        ->type_name("FILE");
    app->add_option("--passphrase-file", command.passphrase_file, "of the key")->type_name("FILE");
    app->footer(kCaFooter);
    return app;
  }
  static void add_making_options(CLI::App& app, CaCommand& command) {
    app.add_option("--name", command.name, "the organisation in its name")->type_name("TEXT");
    app.add_option("--days", command.days, "how long it is valid");
    app.add_option("--constrain", command.constraints,
                   "lines \"permitted DOMAIN\" and \"excluded DOMAIN\": what it may sign for")
        ->type_name("FILE");
    app.add_flag("--intermediate", command.with_intermediate,
                 "an issuing CA below a root, whose key is written separately so that it can be kept offline");
  }
};

void add_import(CLI::App& app, ImportCommand& command, int& status, const Streams& io) {
  CLI::App* const sub =
      app.add_subcommand("import", "Turns a configuration of Squid, squidGuard or ufdbGuard into one of bloomwall.");
  sub->add_option("FILE", command.files, "squid.conf, squidGuard.conf, ufdbGuard.conf; several are one configuration")
      ->required();
  sub->add_option("--out", command.out, "where to write bloomwall.yaml and lists/")->type_name("DIR")->required();
  sub->add_flag("--force", command.force, "replace a bloomwall.yaml that is there");
  sub->add_flag("--json", command.json, "the report as JSON, one object a line");
  sub->footer(kImportFooter);
  sub->callback([&command, &status, &io] { status = run_import(command, io); });
}

}  // namespace

int with_command_line(const Streams& io, const std::function<int(CLI::App& app, const int& status)>& use) {
  CLI::App app{"A forward HTTP proxy that stops listed URLs.", "bloomwall"};
  app.set_version_flag("--version", "bloomwall " BLOOMWALL_VERSION);
  app.require_subcommand(1);
  app.footer(kFooter);
  int status = kExitDone;
  ServiceCommands service;
  service.add_run(app, status, io);
  PolicyCommands policy;
  policy.add(app, status, io);
  TlsCommands tls;
  tls.add(app, status, io);
  service.add_others(app, status, io);
  ExceptionCommands exceptions;
  exceptions.add(app, status, io);
  DeviceCommands devices;
  devices.add(app, status, io);
  ReportCommands reports;
  reports.add(app, status, io);
  LogCommand log;
  add_log(app, log, status, io);
  TokenCommands tokens;
  tokens.add(app, status, io);
  UpdateCommand update;
  add_update(app, update, status, io);
  CaCommands authority;
  authority.add(app, status, io);
  ImportCommand imported;
  add_import(app, imported, status, io);
  EnvCommands environment;
  environment.add(app, status, io);
  filter::add_self_description(app, status, io);
  filter::take_one_word_each(app);
  return use(app, status);
}

int run_program(std::vector<std::string> arguments, const Streams& io) {
  return with_command_line(io, [&](CLI::App& app, const int& status) {
    return filter::run_command_line(app, std::move(arguments), status, io);
  });
}

}  // namespace bloomwall::proxy
