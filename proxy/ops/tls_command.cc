// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "filter/cli/terminal.h"
#include "proxy/ops/commands.h"
#include "proxy/ops/host_argument.h"
#include "proxy/ops/policy_of_files.h"
#include "proxy/ops/tls_explanation.h"

namespace bloomwall::proxy {
namespace {

using filter::printable;

class HostAnswers {
 public:
  HostAnswers(std::shared_ptr<const filter::Policy> policy, TlsExplainer explainer, std::ostream& out)
      : policy_(std::move(policy)), explainer_(std::move(explainer)), out_(out) {}

  // False: no host.
  bool print(std::string_view raw, bool too_long) {
    if (too_long) return invalid(raw, "over 64 KiB");
    const auto host = hosts_.read(raw);
    if (!host) return invalid(raw, host.error());
    const TlsAnswer answer = explainer_.answer(host->host, host->port, *policy_);
    out_ << answer.word() << '\t' << printable(raw) << '\t' << printable(answer.source) << '\n';
    return true;
  }

 private:
  bool invalid(std::string_view raw, const char* why) {
    out_ << "invalid\t" << printable(raw) << '\t' << why << '\n';
    return false;
  }

  std::shared_ptr<const filter::Policy> policy_;
  TlsExplainer explainer_;
  std::ostream& out_;
  HostArgumentReader hosts_;
};

}  // namespace

int run_tls(const TlsCommand& command, const Streams& io) {
  const auto settings = load_settings(command.config);
  if (!settings) {
    print_lines(io.err, settings.error().lines);
    return settings.error().status;
  }
  auto explainer = TlsExplainer::compile(*settings);
  if (!explainer) {
    print_lines(io.err, explainer.error());
    return kExitConfiguration;
  }
  auto policy = load_policy_of_files(*settings, io.err);
  if (!policy) {
    print_lines(io.err, policy.error().lines);
    return policy.error().status;
  }
  HostAnswers answers(*std::move(policy), *std::move(explainer), io.out);
  bool all_hosts = true;
  if (command.hosts.empty() || command.hosts == std::vector<std::string>{"-"}) {
    filter::LineSource lines(io.in, io.out);
    while (lines.next()) all_hosts &= answers.print(lines.line(), lines.too_long());
  } else {
    for (const std::string& host : command.hosts) all_hosts &= answers.print(host, host.size() > filter::kMaxQueryLine);
  }
  return all_hosts ? kExitDone : kExitRefused;
}

}  // namespace bloomwall::proxy
