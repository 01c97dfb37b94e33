// One line of a delta, "+example.com" or "-N 192.0.2.0/24": which entries and networks it adds or removes. What the
// lines mean: delta.h.
// Not thread-safe. Linear; allocates while its scratch grows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "filter/policy/delta.h"
#include "filter/url/entry.h"

namespace bloomwall::filter {

// Raw keys keep the blanks at their end, so only this side is trimmed before the kind is known.
inline std::string_view without_leading_blanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

// The address that a host entry stands for; nothing for a name or a URL.
std::optional<IpAddress> address_of(const Entry& entry);

class DeltaLineParser {
 public:
  class Sink {
   public:
    virtual void set(const Entry& entry, DeltaAnswer answer) = 0;  // its texts are valid during the call
    virtual void set(const AddressRange& range, DeltaAnswer answer) = 0;
    virtual void fail(Errc code, std::string what) = 0;

   protected:
    ~Sink() = default;
  };
  explicit DeltaLineParser(Sink& sink) : sink_(sink) {}

  // `line` begins, behind blanks, with '+' or '-'. An ambiguous URL gives one change for each form, a removal without a
  // kind two.
  void parse(std::string_view line);

 private:
  void raw(std::string_view bytes, DeltaAnswer answer);
  bool network(std::string_view text, std::optional<Kind> kind, DeltaAnswer answer);
  void remove_address(const IpAddress& address);
  void entry(std::string_view text, std::optional<Kind> kind, DeltaAnswer answer);
  void typed_with_kind(std::span<const Entry> found, Kind kind, DeltaAnswer answer, std::string_view text);
  void by_shape(Entry entry, DeltaAnswer answer);
  bool of_kind(Entry entry, Kind kind, DeltaAnswer answer, std::string_view text);

  Sink& sink_;
  EntryParser parser_;
};

}  // namespace bloomwall::filter
