// SPDX-License-Identifier: Apache-2.0
#include "proxy/auth/user_table.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "base/handles.h"
#include "base/text.h"
#include "base/units.h"
#include "proxy/auth/password_hash.h"

namespace bloomwall::proxy {
namespace {

bool is_plain_name(std::string_view text, std::size_t most) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  return !text.empty() && text.size() <= most && std::ranges::none_of(text, is_control) && trim(text) == text;
}

// Two or four decimal digits at a place of "2027-01-31T18:00:00Z".
std::optional<int> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  const auto number = parse_integer(text.substr(at, digits));
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

// Seconds since 1970.
std::optional<std::int64_t> parse_until(std::string_view text) {
  constexpr std::string_view kDay = "0000-00-00", kMoment = "0000-00-00T00:00:00Z";
  if (text.size() != kDay.size() && text.size() != kMoment.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kMoment[i] == '0' ? !is_digit(text[i]) : text[i] != kMoment[i]) return std::nullopt;
  }
  using namespace std::chrono;
  const year_month_day date{year(*number_at(text, 0, 4)), month(static_cast<unsigned>(*number_at(text, 5, 2))),
                            day(static_cast<unsigned>(*number_at(text, 8, 2)))};
  if (!date.ok()) return std::nullopt;
  sys_seconds moment = sys_days(date) + days(1);
  if (text.size() == kMoment.size()) {
    const int hour = *number_at(text, 11, 2), minute = *number_at(text, 14, 2), second = *number_at(text, 17, 2);
    if (hour > 23 || minute > 59 || second > 59) return std::nullopt;
    moment = sys_days(date) + hours(hour) + minutes(minute) + seconds(second);
  }
  return moment.time_since_epoch().count();
}

std::uint64_t edition_of_text(std::string_view text) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::uint64_t first = 0;
  std::memcpy(&first, digest.data(), sizeof first);
  return first;
}

tl::expected<std::string, std::string> read_file(const std::filesystem::path& file) {
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a FIFO must not hold up the reload
  if (!fd) return tl::unexpected(std::generic_category().message(errno));
  std::string text;
  std::array<char, 65536> piece{};
  while (text.size() <= UserTable::kMostBytes) {
    const ssize_t got = ::read(fd.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(std::generic_category().message(errno));
    if (got == 0) return text;
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  return tl::unexpected(fmt::format("larger than {}", format_bytes(UserTable::kMostBytes)));
}

}  // namespace

tl::expected<UserTable::Ptr, std::vector<std::string>> UserTable::load(const std::filesystem::path& file,
                                                                       const Ptr& before, Form form) {
  const auto text = read_file(file);
  if (!text) return tl::unexpected(std::vector{fmt::format("{}: {}", file.string(), text.error())});
  if (before != nullptr && before->edition() == edition_of_text(*text)) return before;
  return parse(*text, file.string(), form);
}

tl::expected<UserTable::Ptr, std::vector<std::string>> UserTable::parse(std::string_view text, const std::string& name,
                                                                        Form form) {
  std::shared_ptr<UserTable> table(new UserTable);
  std::vector<std::string> errors;
  std::size_t unlisted = 0;
  for (LineWalk lines(text); lines.next();) {
    if (lines.line().empty() || lines.line().front() == '#') continue;
    const std::string fault = lines.too_long() ? "longer than 64 KiB" : table->add(lines.line(), form);
    if (fault.empty()) continue;
    if (errors.size() == kMostErrors) {
      ++unlisted;
      continue;
    }
    errors.push_back(fmt::format("{}:{}: {}", name, lines.number(), fault));
  }
  if (unlisted > 0) errors.push_back(fmt::format("{}: {} more lines are wrong", name, unlisted));
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  table->edition_ = edition_of_text(text);
  return table;
}

std::string UserTable::add(std::string_view line, Form form) {
  const std::string_view name = next_part(line, ':'), hash = next_part(line, ':');
  if (!is_plain_name(name, kMostName))
    return "expected name:hash, the name of 1 to 255 octets without blanks around it";
  if (name == "-") return "- stands for nobody in logs: choose another name";
  if (auto fault = find_hash_fault(hash)) return *std::move(fault);
  std::optional<Role> role;
  if (form == Form::people) {
    role = role_of(next_part(line, ':'));
    if (!role) return "expected name:hash:role, the role viewer, reviewer, operator or admin";
  }
  const std::string_view groups = next_part(line, ':');
  if (role && role != Role::reviewer && !groups.empty()) return "only reviewers have groups";
  auto user = std::make_shared<User>();
  user->name = name;
  user->password = edition_of_text(hash) | 1U;
  for (std::string_view rest = groups; !rest.empty();) {
    const std::string_view group = next_part(rest, ',');
    if (!is_plain_name(group, kMostGroupName)) return "a group must have 1 to 64 octets, without blanks around it";
    user->groups.emplace_back(group);
  }
  if (user->groups.size() > kMostGroups) return fmt::format("more than {} groups", kMostGroups);
  if (!line.empty()) {
    if (role) return "nothing may follow the groups";
    const auto until = parse_until(line);
    if (!until) return "the end must be a day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z";
    user->until = *until;
  }
  if (users_.size() == kMostUsers) return fmt::format("more than {} users", format_count(kMostUsers));
  const auto [at, is_new] = users_.try_emplace(std::string(name), Entry{std::move(user), std::string(hash), role});
  if (!is_new) return "this name is already in an earlier line";
  hashes_.push_back(&at->second.hash);
  return {};
}

const UserTable::Entry* UserTable::find(std::string_view name) const {
  const auto at = users_.find(name);
  return at == users_.end() ? nullptr : &at->second;
}

const std::string& UserTable::stand_in(std::string_view name) const {
  static const std::string kNobody =
      "$2b$10$abcdefghijklmnopqrstuuEUlnU5rVQ5y1Wb6MmLm7bNy4n1Hc1mC";  // of no password that is known
  if (hashes_.empty()) return kNobody;
  return *hashes_[TextHash{}(name) % hashes_.size()];
}

}  // namespace bloomwall::proxy
