// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <string_view>

#include "proxy/cli/command_line.h"
#include "proxy/cli/footers.h"

namespace bloomwall::proxy {

void ServiceCommands::add_run(CLI::App& app, int& status, const Streams& io) {
  CLI::App* const run_app = add_command(app, "run", "The proxy, in the foreground.", serve, status, io, run_serve);
  CLI::Option* const lists = run_app->add_option(
      "--list", serve.lists,
      "without a configuration: block what this list holds, as long as it runs; may be given several times");
  lists->type_name("FILE")->excludes("--config");
  run_app->add_option("FILE", serve.more_lists, "behind --list: more lists");
  run_app->add_option("--listen", serve.listen, "with --list: where clients connect; default 127.0.0.1:3128")
      ->type_name("ADDRESS")
      ->needs(lists);
  run_app->footer(kRunFooter);
}

void ServiceCommands::add_others(CLI::App& app, int& status, const Streams& io) {
  add_asking_command(app, "reload", "Has the running proxy reload, and reports the outcome.", reload, status, io,
                     run_reload)
      ->footer(kReloadFooter);
  CLI::App* const upgrade_app = add_asking_command(
      app, "upgrade", "Has the installed program take over from the running one.", upgrade, status, io, run_upgrade);
  upgrade_app
      ->add_option("--silence", upgrade.silence, "how long the new process may stay silent while it loads; default 60")
      ->check(CLI::Range(1, 3600))
      ->type_name("SECONDS");
  upgrade_app->footer(kUpgradeFooter);
  CLI::App* const health_app =
      add_asking_command(app, "health", "Whether the running proxy serves.", health, status, io, run_health);
  health_app->add_flag("--json", health.json, "as JSON");
  health_app->footer(kHealthFooter);
  CLI::App* const doctor_app = add_asking_command(
      app, "doctor", "Looks at everything, and says what is wrong and what to do.", doctor, status, io, run_doctor);
  doctor_app->add_flag("--json", doctor.json, "as JSON");
  doctor_app->footer(kDoctorFooter);
  CLI::App* const ports = add_command(app, "listeners", "Which program holds the address of each listener.", listeners,
                                      status, io, run_listeners);
  ports->footer(kListenersFooter);
  ports->add_flag("--json", listeners.json, "as JSON, one object a line");
  ports->add_flag("--after-failure", listeners.after_failure, "for ExecStopPost= of systemd")->group("");
  add_answer(app, status, io);
}

namespace {

// As a value in quotes on a line of its own.
bool is_plain_word(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

void ServiceCommands::add_answer(CLI::App& app, int& status, const Streams& io) {
  CLI::App* const helper = app.add_subcommand("answer", "Answers for another program, as a helper that it starts.");
  helper->add_option("PROGRAM", answer.program, "whose lines are answered: squid")
      ->required()
      ->check(CLI::IsMember({"squid"}));
  helper->add_option("--socket", answer.socket, "the unix socket of answers[] with protocol: squid")
      ->type_name("PATH")
      ->required();
  CLI::Option* const rewrite =
      helper->add_flag("--rewrite", answer.rewrites, "as url_rewrite_program instead of external_acl_type");
  CLI::Option* const page =
      helper
          ->add_option("--page", answer.page,
                       "with --rewrite: the URL that blocked requests are sent to; {id}: of the decision")
          ->type_name("URL")
          ->check([](const std::string& url) {
            return is_plain_word(url) ? "" : "a URL without blanks and quotes is needed";
          })
          ->needs(rewrite);
  rewrite->needs(page);
  helper->add_flag("--fail-closed", answer.fails_closed, "with --rewrite: without a verdict to the page as well")
      ->needs(rewrite)
      ->needs(page);
  helper->add_option("--timeout", answer.timeout, "how long the proxy may take for a verdict; default 10")
      ->check(CLI::Range(1, 600))
      ->type_name("SECONDS");
  helper->footer(kAnswerFooter);
  helper->callback([this, &status, &io] { status = run_answer(answer, io); });
}

}  // namespace bloomwall::proxy
