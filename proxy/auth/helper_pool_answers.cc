// What the processes of a helper say, and what of it is logged (declared in helper_pool.h).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string_view>
#include <utility>

#include "proxy/auth/helper_pool.h"
#include "proxy/log/log.h"

namespace bloomwall::proxy {
namespace {

constexpr std::size_t kMostSaid = 1000;  // octets of a process's stderr that are logged

// Whether `message` holds so many octets of `secret` one after the other, or all of a shorter one.
bool quotes(std::string_view message, std::string_view secret) {
  constexpr std::size_t kMany = 8;
  const std::size_t run = std::min(kMany, secret.size());
  for (std::size_t at = 0; at + run <= message.size(); ++at) {
    if (secret.find(message.substr(at, run)) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace

// Once: what is left is there the next time.
void HelperPool::read_answers(Process& process) {
  std::array<char, 65536> piece{};
  const ssize_t got = ::read(process.helper->answers(), piece.data(), piece.size());
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0 && process.fault.empty()) process.fault = "has ended";
  if (got <= 0) return;
  process.in.append(piece.data(), static_cast<std::size_t>(got));
  std::size_t begin = 0;
  for (std::size_t end = 0; process.fault.empty(); begin = end + 1) {
    end = process.in.find('\n', begin);
    if (end == std::string::npos) break;
    take_line(process, std::string_view(process.in).substr(begin, end - begin));
  }
  process.in.erase(0, begin);
  if (process.in.size() >= kMostHelperLine && process.fault.empty()) process.fault = "printed a line of over 64 KiB";
  OPENSSL_cleanse(piece.data(), piece.size());
}

// An answer to a question that still lies in the pipe is none: it would let in whoever comes next.
void HelperPool::take_line(Process& process, std::string_view line) {
  std::optional<std::uint32_t> channel = 0;
  if (process.settings.concurrency > 0) channel = take_channel(line);
  const bool is_asked = channel && *channel < process.slots.size() && process.slots[*channel].item != nullptr;
  if (!is_asked || process.read() < process.slots[*channel].end) {
    process.fault = "answered a question that was not asked";
    return;
  }
  auto answer = parse_helper_answer(line);
  if (!answer) {
    process.fault = "gave an invalid answer; run it by hand to see why";
    return;
  }
  failures_ = 0;
  next_start_ = Milliseconds(0);
  Slot& slot = process.slots[*channel];
  const ItemPtr item = std::move(slot.item);
  if (is_refusal(process, *answer)) answer->result = HelperAnswer::Result::error;
  if (answer->result == HelperAnswer::Result::broken) tell_fault(*answer, item->question.words);
  const bool is_awaited = secrets_ == Secrets::tickets && !item->askers.empty();
  const bool goes_on = answer->result == HelperAnswer::Result::more && is_awaited;
  HelperConversationPtr conversation = goes_on ? keep(slot, item->client) : nullptr;
  settle(*item, {.has_answer = true, .answer = *std::move(answer), .conversation = std::move(conversation)});
}

bool HelperPool::is_refusal(Process& process, const HelperAnswer& answer) {
  if (answer.result != HelperAnswer::Result::broken || answer.message != "Success") return false;
  if (!process.is_mute) read_words(process);  // a complaint is there before the answer
  return !process.has_complained;
}

void HelperPool::tell_fault(const HelperAnswer& answer, std::string_view words) {
  const Milliseconds now = clock();
  if (fault_told_ != Milliseconds(0) && now - fault_told_ < kTellAgain) return;
  fault_told_ = now;
  switch (secrets_) {
    case Secrets::passwords:
      return log::warning("authentication.{}: BH: it could not tell; run it by hand to see why", name_);
    case Secrets::tickets:
      if (!quotes(answer.message, words.substr(words.rfind(' ') + 1))) break;
      return log::warning("authentication.{}: BH (quotes the question)", name_);
    case Secrets::none:
      break;
  }
  log::warning("authentication.{}: BH {}", name_, answer.message);
}

// All, where nobody can tell.
std::size_t HelperPool::Process::read() const {
  int unread = 0;
  const bool is_told = ::ioctl(helper->questions(), FIONREAD, &unread) == 0;
  return is_told ? sent - std::min(sent, static_cast<std::size_t>(unread)) : sent;
}

// What it says while every octet of the questions lies in the pipe still cannot hold any of them.
void HelperPool::read_words(Process& process) {
  std::array<char, 4096> piece{};
  const ssize_t got = ::read(process.helper->words(), piece.data(), piece.size());
  process.is_mute = got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN);
  if (got <= 0) return;
  process.has_complained = true;
  process.has_read |= process.read() != 0;
  if (!process.has_read && process.said < kMostSaid) {
    std::size_t shown = std::min(static_cast<std::size_t>(got), kMostSaid - process.said);
    process.said += shown;
    while (shown > 0 && piece[shown - 1] == '\n') --shown;
    log::info("authentication.{}: process {} says: {}", name_, process.helper->pid(),
              std::string_view(piece.data(), shown));
  }
  OPENSSL_cleanse(piece.data(), piece.size());
}

}  // namespace bloomwall::proxy
