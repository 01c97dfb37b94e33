// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/delta.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <system_error>
#include <utility>

#include "base/encoding.h"
#include "base/text.h"
#include "filter/policy/delta_line.h"
#include "filter/policy/delta_signature.h"
#include "filter/policy/entry_text.h"
#include "filter/url/address_range.h"

namespace bloomwall::filter {
namespace {

constexpr std::string_view kDeltaMagic = "bloomwall-delta";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kBase = "base=";
constexpr std::string_view kSequence = "sequence=";
constexpr std::string_view kChanges = "changes=";

// "sequence=7": takes the word off the line. Nothing where the line goes on otherwise; what is no number spoils it.
std::optional<std::uint64_t> take_number(std::string_view& line, std::string_view name) {
  std::string_view rest = line;
  std::string_view word = next_word(rest);
  if (!word.starts_with(name)) return std::nullopt;
  word.remove_prefix(name.size());
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  line = rest;
  return value;
}

}  // namespace

class DeltaParser final : DeltaLineParser::Sink {
 public:
  DeltaParser(const std::string& name, const KeyMaker& keys, const std::optional<FileId>& base,
              const DeltaReading& reading)
      : base_(base), reading_(reading), name_(name), keys_(keys), errors_(name), delta_(keys) {}

  Delta::Loaded parse(std::string_view text) {
    if (auto checked = check_signatures(text); !checked) {
      return tl::unexpected(std::vector<Error>{std::move(checked).error()});
    }
    LineWalk lines(text);
    if (!lines.next() || !first_line(lines.line())) {
      if (errors_.empty()) bad_first_line();
      return tl::unexpected(errors_.take());
    }
    const std::size_t first_end = text.find('\n');
    if (first_end == std::string_view::npos) fail(Errc::bad_syntax, "is cut: the first line has no line end");
    std::string_view rest = text.substr(std::min(first_end, text.size() - 1) + 1);
    rest.remove_prefix(take_body(rest));
    entries_ = &delta_.entries_;
    read(rest);
    check_count(text);
    if (!errors_.empty()) return tl::unexpected(errors_.take());
    delta_.added_ = networks_of(DeltaAnswer::added);
    delta_.removed_ = networks_of(DeltaAnswer::removed);
    return std::move(delta_);
  }

 private:
  // Cuts them off. What nobody trusts is not looked at further.
  Result<void> check_signatures(std::string_view& text) {
    auto parts = split_signatures(text, name_);
    if (!parts) return unexpected(parts.error());
    text = parts->text;
    if (reading_.trusted == nullptr) return {};
    delta_.signed_message_ = signed_message(text);
    delta_.signatures_ = std::move(parts->signatures);
    auto signer = reading_.trusted->check(delta_.signatures_, delta_.signed_message_);
    if (signer) return {};
    signer.error().where = name_;
    return unexpected(std::move(signer).error());
  }

  void fail(Errc code, std::string what) override { errors_.add(number_, code, std::move(what)); }

  // The lines behind those that were read already.
  void read(std::string_view text) {
    LineWalk lines(text, number_ + 1);
    while (!is_full_ && lines.next()) {
      number_ = lines.number();
      change(lines.line());
    }
  }

  // Makes the body of the delta: that of the former one where the text begins with the same lines, else of this text.
  // Returns its bytes.
  std::size_t take_body(std::string_view rest) {
    const std::size_t size = size_before_networks(rest);  // likely to begin the next text as well
    if (may_continue_former() && begins_with(rest, size, *reading_.former->body_)) {
      delta_.body_ = reading_.former->body_;
      set_all(delta_.body_->added, DeltaAnswer::added);
      set_all(delta_.body_->removed, DeltaAnswer::removed);
      number_ += delta_.body_->lines;
      lines_ = delta_.body_->changes;
    } else {
      const auto body = std::make_shared<Delta::Body>(keys_);
      entries_ = &body->entries;
      read(rest.substr(0, size));
      body->added = networks_of(DeltaAnswer::added);
      body->removed = networks_of(DeltaAnswer::removed);
      body->bytes = size;
      body->lines = number_ - 1;
      body->changes = lines_;
      body->digest = keys_.hash(rest.substr(0, size));
      delta_.body_ = body;
    }
    delta_.entries_ = ExactSet(std::shared_ptr<const ExactSet>(delta_.body_, &delta_.body_->entries));
    return delta_.body_->bytes;
  }

  bool may_continue_former() const {
    return reading_.former != nullptr && reading_.former->entries().keys() == keys_ && !reading_.on_change &&
           !reading_.on_range && !reading_.on_comment;
  }

  // What stands on top must stay small beside the body: it is read again each time, and asked besides.
  bool begins_with(std::string_view rest, std::size_t size, const Delta::Body& body) const {
    constexpr std::size_t kSmallPart = 8;
    if (size < body.bytes || size - body.bytes > body.bytes / kSmallPart) return false;
    return keys_.hash(rest.substr(0, body.bytes)) == body.digest;
  }

  RangeSet networks_of(DeltaAnswer answer) const { return networks_.of(static_cast<std::uint32_t>(answer)); }
  void set_all(const RangeSet& networks, DeltaAnswer answer) {
    for (const AddressRange& range : networks.ranges()) networks_.set(range, static_cast<std::uint32_t>(answer));
  }

  void bad_first_line() {
    fail(Errc::bad_syntax,
         fmt::format("the first line must be '{} {} {}' and the 32 hex digits of the filter's content id", kDeltaMagic,
                     kVersion, kBase));
  }

  bool first_line(std::string_view line) {
    if (next_word(line) != kDeltaMagic) return false;
    const std::string_view version = next_word(line);
    if (version != kVersion) {
      fail(Errc::unsupported,
           fmt::format("deltas of version {} are not known here, only {}", in_quotes(version), kVersion));
      return false;
    }
    const std::string_view base = next_word(line);
    if (!base.starts_with(kBase)) return false;
    const auto sequence = take_number(line, kSequence);
    count_ = take_number(line, kChanges);
    if (!line.empty() || sequence == 0) return false;
    delta_.sequence_ = sequence.value_or(0);
    const std::optional<FileId> id = parse_hex<sizeof(FileId)>(base.substr(kBase.size()));
    if (!id) return false;
    delta_.base_ = *id;
    if (!base_ || *id == *base_) return true;
    fail(Errc::wrong_base, fmt::format("made for {}, but the filter is {}, another one or another build of it",
                                       to_hex(*id), to_hex(*base_)));
    return false;
  }

  // A copy that ran out of disk ends anywhere, at the end of a line too.
  void check_count(std::string_view text) {
    if (!count_ || (*count_ == lines_ && text.ends_with('\n'))) return;
    number_ = 1;
    const bool mid_line = *count_ == lines_;
    fail(Errc::bad_syntax,
         fmt::format(
             "is cut or was edited: the first line says {}{}, and there are {}{}; `update` writes it anew, after "
             "editing by hand take {}{} out of the first line",
             kChanges, *count_, lines_, mid_line ? ", the last of them without a line end" : "", kChanges, *count_));
  }

  // One line after the first.
  void change(std::string_view whole) {
    const std::string_view line = without_leading_blanks(whole);
    if (line.empty()) return;
    if (line.front() == '#') {
      if (reading_.on_comment) reading_.on_comment(line);
      return;
    }
    if (line.front() != '+' && line.front() != '-') {
      return fail(Errc::bad_syntax,
                  fmt::format("a change starts with '+' or '-', not with {}", in_quotes(line.substr(0, 1))));
    }
    ++lines_;
    parser_.parse(whole);
    is_full_ = entries_->size() + networks_.pieces() > kMaxExactEntries;
    if (is_full_) fail(Errc::limit, fmt::format("more than {} entries; build a new filter instead", kMaxExactEntries));
  }

  void set(const Entry& entry, DeltaAnswer answer) override {
    entries_->at(entry) = static_cast<std::uint32_t>(answer);
    if (reading_.on_change) reading_.on_change(entry, answer);
    if (answer == DeltaAnswer::added) close_network(entry);
  }

  // An address that was taken out of the networks and is added is in them again.
  void close_network(const Entry& entry) {
    const auto address = address_of(entry);
    if (!address) return;
    const AddressRange range = range_of(*address);
    if (!networks_.has(range, static_cast<std::uint32_t>(DeltaAnswer::removed))) return;
    set(range, DeltaAnswer::added);
  }

  void set(const AddressRange& range, DeltaAnswer answer) override {
    networks_.set(range, static_cast<std::uint32_t>(answer));
    if (reading_.on_range) reading_.on_range(range, answer);
  }

  const std::optional<FileId>& base_;
  const DeltaReading& reading_;
  const std::string& name_;
  const KeyMaker& keys_;
  std::size_t number_ = 1;              // of the last line that was read
  bool is_full_ = false;                // no use in reading on
  std::optional<std::uint64_t> count_;  // of changes, where the first line says it
  std::uint64_t lines_ = 0;             // that are changes
  LineErrors errors_;
  DeltaLineParser parser_{*this};
  RangeMap networks_;
  ExactSet* entries_ = nullptr;  // that lines go into now: those of the body, then those on top
  Delta delta_;
};

bool Delta::is_signed_by(const TrustedKeys& trusted) const {
  return !signed_message_.empty() && trusted.check(signatures_, signed_message_).has_value();
}

std::string Delta::first_line(const FileId& base, std::uint64_t sequence, std::optional<std::uint64_t> changes) {
  std::string line = fmt::format("{} {} {}{}", kDeltaMagic, kVersion, kBase, to_hex(base));
  if (sequence != 0) line += fmt::format(" {}{}", kSequence, sequence);
  if (changes) line += fmt::format(" {}{}", kChanges, *changes);
  return line;
}

std::size_t size_before_networks(std::string_view text) {
  const auto begin_of_line = [text](std::size_t end) {  // that ends there, line end included
    const std::size_t before = end < 2 ? std::string_view::npos : text.rfind('\n', end - 2);
    return before == std::string_view::npos ? 0 : before + 1;
  };
  const std::size_t last = text.rfind('\n');
  std::size_t end = last == std::string_view::npos ? 0 : last + 1;
  while (end > 0) {
    const std::size_t begin = begin_of_line(end);
    const std::string_view line = text.substr(begin, end - begin);
    if (!line.starts_with("+N ") && !line.starts_with("-N ")) break;
    end = begin;
  }
  return end;
}

void name_remedy(std::vector<Error>& errors, const std::filesystem::path& filter, const std::filesystem::path& delta) {
  std::error_code ignored;
  const bool is_absent = !std::filesystem::exists(delta, ignored);
  for (Error& error : errors) {
    if (error.code != Errc::wrong_base && !is_absent) continue;
    error.what += fmt::format("; `bloomwall-filter update {} --delta {} --rebase` {}", filter.string(), delta.string(),
                              is_absent ? "makes an empty one" : "carries its additions over");
  }
}

double delta_share(std::uint64_t delta_entries, const Header& filter) {
  return static_cast<double>(delta_entries) / static_cast<double>(std::max<std::uint64_t>(distinct_entries(filter), 1));
}

Delta::Loaded Delta::parse(std::string_view text, const std::string& name, const KeyMaker& keys,
                           const std::optional<FileId>& base, const DeltaReading& reading) {
  return DeltaParser(name, keys, base, reading).parse(text);
}

Delta::Loaded Delta::load(const std::filesystem::path& file, const KeyMaker& keys, const std::optional<FileId>& base,
                          const DeltaReading& reading) {
  const Result<std::string> text = read_entry_text(file);
  if (!text) return tl::unexpected(std::vector<Error>{text.error()});
  return parse(*text, file.string(), keys, base, reading);
}

}  // namespace bloomwall::filter
