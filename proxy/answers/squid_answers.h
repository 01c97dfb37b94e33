// `protocol: squid`: lines of Squid's helpers (external_acl_type with %URI %METHOD %SRC %LOGIN), as `bloomwall answer
// squid` passes them on:
//   [CHANNEL] URI [METHOD [SRC [LOGIN]]]       each escaped with %, "-" for none; a CHANNEL is digits alone
//   [CHANNEL] OK                               it may pass
//   [CHANNEL] ERR message="..." log=ID         it may not: by filter, or by a rule, which has no ID
//   [CHANNEL] BH message="..."                 there is no verdict
// Lines with a channel are answered in any order, others in theirs. A URI without a scheme is the host:port of a
// CONNECT. SRC counts where the asker is trusted, LOGIN where it is believed for users, too. Each answer is one write:
// Squid 5 misreads a line that comes in pieces. A line of more than kMostLine octets is answered BH and ends the
// connection.
// Squid writes # as %23 (to a rewriter as it is), and forwards it as it came. Which %23 of a URI was a # is not known:
// it is judged up to each of them as well, as an origin reads it that knows fragments. With more of them than
// Question::kMostReadings it is refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/answers/answers.h"

namespace bloomwall::proxy {

struct HelperQuestion {
  std::string channel;  // empty: none
  std::string target, method, client, user;
  std::vector<std::string> cuts;  // the target up to each %23, which Squid writes for the # that a client has sent
};
// Error: a literal, what is wrong with the line (without its end). The channel is set in any case.
tl::expected<void, std::string_view> read_helper_line(std::string_view line, HelperQuestion& out);

class SquidAnswers final : public AnswerProtocol {
 public:
  static constexpr std::size_t kMostLine = std::size_t{64} * 1024;
  static constexpr std::size_t kMostOpen = 1024;

  explicit SquidAnswers(Asker& asker) : asker_(asker) {}

  std::size_t on_data(std::span<const char> octets) override;
  void on_answer(std::uint64_t tag, const Answer& answer) override;
  bool is_idle() const override { return line_.empty(); }
  std::size_t most_open() const override { return is_in_order_ ? 1 : kMostOpen; }

 private:
  void take(std::string_view line);
  void reply(std::string_view channel, std::string_view text);

  Asker& asker_;
  std::string line_;                               // that has no end yet
  std::map<std::uint64_t, std::string> channels_;  // of open questions, by tag
  std::uint64_t last_tag_ = 0;
  bool is_in_order_ = false;  // a question without a channel is open
};

}  // namespace bloomwall::proxy
