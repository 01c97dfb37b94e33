// What would become of TLS to a host, and why, in words: for `bloomwall tls`, `explain` and `check`. Answers for any
// client that the rules do not exempt, as for a browser whose ClientHello names the host of its CONNECT.
// Reads the never files once. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "conf/config.h"
#include "filter/policy/policy.h"
#include "filter/url/canonical_url.h"
#include "proxy/access/tls_decision.h"
#include "proxy/decision/passage.h"

namespace bloomwall::proxy {

struct TlsAnswer {
  TlsDecision decision;
  std::string source;        // "mode urls: mark U example.com in malware", "/etc/never.txt:14 example.com"
  const char* word() const;  // decrypt, tunnel, page or refuse
  bool is_decrypted() const { return decision.action == TlsAction::intercept; }
};

class TlsExplainer {
 public:
  // Errors of tls_inspection, one line each.
  static tl::expected<TlsExplainer, std::vector<std::string>> compile(const conf::Config& settings);
  // By rules that a snapshot has. `self_host`: self_page.host.
  static TlsExplainer of(std::shared_ptr<const InspectionRules> rules, std::string self_host) {
    return {std::move(rules), std::move(self_host)};
  }
  bool is_on() const { return rules_->is_on(); }
  const InspectionRules& rules() const { return *rules_; }
  // `host`: canonical, with brackets around IPv6. `client`: nothing where anybody may ask.
  TlsAnswer answer(std::string_view host, std::uint16_t port, const filter::AskedPolicy& asked,
                   const std::optional<IpAddress>& client);

 private:
  TlsExplainer(std::shared_ptr<const InspectionRules> rules, std::string self_host)
      : rules_(std::move(rules)), self_host_(std::move(self_host)) {}
  std::string reason_in_filters(TlsReason reason, const filter::CanonicalUrl& host, const filter::Policy& policy) const;
  static std::string unenforced_urls(const filter::CanonicalUrl& host, const filter::Policy& policy);
  bool concerns(const filter::FilterSpec& spec, TlsReason reason) const;

  std::shared_ptr<const InspectionRules> rules_;
  std::string self_host_;
  filter::Canonicaliser canonicaliser_;
};

// What TLS makes of a passage, which may be judged anew: where URLs are allowed on a blocked host, and each is going to
// be asked about, its CONNECT passes. True: it does.
bool note_tls(Passage& passage, const std::optional<TlsAnswer>& tls);

// Entries of the never files on whose hosts URLs are listed, which are then not enforced there; one line each, sorted:
// "/etc/never.txt:14 github.com: URLs are listed there, and not enforced". At most kMostNeverWarnings, and how many
// more.
inline constexpr std::size_t kMostNeverWarnings = 20;
std::vector<std::string> never_entries_with_marks(const InspectionRules& rules, const filter::Policy& policy);

// "decrypted: yes, mode urls: mark U example.com in malware", or no and why; one line with its line feed.
std::string decryption_text(const TlsAnswer& answer);

}  // namespace bloomwall::proxy
