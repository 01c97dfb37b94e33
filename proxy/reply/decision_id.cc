// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/decision_id.h"

#include "base/random.h"

namespace bloomwall::proxy {

// A letter takes five bits of an octet; the other three are cheaper drawn than kept.
DecisionId DecisionIds::next() {
  static constexpr std::string_view kLetters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  DecisionId id;
  static_assert(sizeof random_ % sizeof id.text_ == 0);
  if (used_ == random_.size()) {
    fill_random(random_);
    used_ = 0;
  }
  for (char& letter : id.text_) letter = kLetters[random_[used_++] & 31U];
  id.length_ = static_cast<std::uint8_t>(id.text_.size());
  return id;
}

}  // namespace bloomwall::proxy
