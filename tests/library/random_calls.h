// Calls of bloomwall.h as the octets of an input say: in any order, with any arguments that a program may give, over
// filter files that are whole, torn, random, replaced and cut meanwhile. What the header promises is required of each;
// the process ends where it does not hold.
// Threads: one, for the files of a RandomFiles are written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "include/bloomwall.h"
#include "tests/filter/policy/filter_maker.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/sealed_file.h"
#include "tests/library/library_maker.h"
#include "tests/library/random_seen.h"

namespace bloomwall::library {

// The folder in which all calls of this process work, and the octets of a good filter file.
class RandomFiles {
 public:
  RandomFiles() {
    filter::make_filter(folder_ / "good.bwf",
                        {.entries = {"S listed.test", "D files.test/bad/", "R key", "N 192.0.2.0/24"}});
    std::ifstream in(folder_ / "good.bwf", std::ios::binary);
    good_.assign(std::istreambuf_iterator<char>(in), {});
  }
  std::string path(std::string_view name) const { return (folder_ / name).string(); }
  const std::string& good() const { return good_; }
  // Another file of this name. Removed before, since some file systems first write to the disk what replaces a file.
  void put(std::string_view name, std::string_view octets) const {
    folder_.write("new", octets);
    std::filesystem::remove(folder_ / name);
    std::filesystem::rename(folder_ / "new", folder_ / name);
  }

 private:
  filter::TempFolder folder_;
  std::string good_;
};

class RandomCalls final : Choices {
 public:
  RandomCalls(const RandomFiles& files, std::span<const std::uint8_t> input)
      : files_(files), input_(input), seen_(*this, files.path("seen.bwf")) {
    for (const char* const name : kSlots) files_.put(name, files_.good());
  }

  void run() {
    using Call = void (RandomCalls::*)();
    constexpr std::array kCalls{&RandomCalls::ask,       &RandomCalls::ask_many, &RandomCalls::ask_lines,
                                &RandomCalls::add,       &RandomCalls::set,      &RandomCalls::reload,
                                &RandomCalls::put_file,  &RandomCalls::cut_file, &RandomCalls::begin_anew,
                                &RandomCalls::give_null, &RandomCalls::ask,      &RandomCalls::ask,
                                &RandomCalls::seen,      &RandomCalls::seen};
    while (!input_.empty()) {
      const Call call = kCalls.at(octet() % kCalls.size());
      (this->*call)();
    }
  }
  std::size_t answered() const { return answered_; }  // questions that got a verdict
  std::size_t found_again() const { return seen_.found_again(); }

 private:
  static constexpr std::array kSlots{"a.bwf", "b.bwf", "c.txt"};

  std::uint8_t octet() override {
    if (input_.empty()) return 0;
    const std::uint8_t out = input_.front();
    input_ = input_.subspan(1);
    return out;
  }
  std::string text() override {
    constexpr std::array kTexts{"listed.test",          "http://files.test/bad/x", "192.0.2.7", "key", "",
                                "http://[2001:db8::1]/"};
    const std::size_t choice = octet();
    if (choice < kTexts.size()) return kTexts.at(choice);
    const std::size_t length = std::min<std::size_t>(choice, input_.size());
    std::string out(input_.begin(), input_.begin() + static_cast<std::ptrdiff_t>(length));
    input_ = input_.subspan(length);
    return out;
  }
  // Without NUL, as names and values are given.
  std::string word() {
    std::string out = text();
    std::erase(out, '\0');
    return out;
  }
  std::string slot() {
    const std::size_t choice = octet() % (kSlots.size() + 1);
    return files_.path(choice < kSlots.size() ? kSlots.at(choice) : "none");
  }
  int kind() { return static_cast<int>(octet() % 6); }  // 0 and 5 are none

  // Of a call that returned this.
  static void check(int outcome, int highest = 0) {
    fuzz::require(outcome <= highest);
    if (outcome >= 0) return;
    fuzz::require(outcome == bw_error_code() && *bw_error_text() != '\0' && outcome != BW_ERROR_INTERNAL);
  }

  // Some calls on end, so that what a set has is asked about again.
  void seen() {
    for (int calls = octet() % 16; calls >= 0; --calls) seen_.step();
  }
  void ask() {
    const int of = kind();
    const std::string asked = text();
    bw_answer* const answer = octet() % 2 == 0 ? answer_.get() : nullptr;
    const int verdict = bw_ask(policy_.get(), of, asked.data(), asked.size(), answer);
    check(verdict, BW_REJECTED);
    if (verdict >= 0) ++answered_;
    if (answer == nullptr || verdict < 0) return;
    std::size_t length = 0;
    const char* const expression = bw_answer_expression(answer, &length);
    fuzz::require(expression[length] == '\0' && *bw_answer_reason(answer) != '\0');
    const bool is_decided = verdict == BW_BLOCKED || verdict == BW_MONITORED;
    fuzz::require(!is_decided || *bw_answer_filter(answer) != '\0');
  }
  void ask_many() {
    std::vector<std::string> texts(octet() % 8);
    for (std::string& each : texts) each = word();
    std::vector<const char*> pointers;
    std::vector<std::size_t> lengths;
    for (const std::string& each : texts) {
      pointers.push_back(each.c_str());
      lengths.push_back(each.size());
    }
    std::vector<unsigned char> verdicts(texts.size(), 9), again(texts.size(), 9);
    const int of = kind();
    const int outcome = bw_ask_many(policy_.get(), of, texts.size(), pointers.data(), lengths.data(), verdicts.data());
    check(outcome);
    if (outcome != 0) return;
    fuzz::require(std::ranges::all_of(verdicts, [](unsigned char verdict) { return verdict <= BW_REJECTED; }));
    fuzz::require(bw_ask_many(policy_.get(), of, texts.size(), pointers.data(), nullptr, again.data()) == 0 || is_cut_);
    fuzz::require(verdicts == again || is_cut_);  // what is cut may be found only now
  }
  void ask_lines() {
    const std::string lines = text();
    const int of = kind();
    std::size_t count = 0;
    const int counted = bw_ask_lines(policy_.get(), of, lines.data(), lines.size(), nullptr, 0, &count);
    check(counted);
    fuzz::require(count <= lines.size());
    const std::size_t room = count + octet() % 3;
    std::vector<unsigned char> verdicts(room + 1, 9);
    const std::size_t less = octet() % 8 == 0 && count > 0 ? count - 1 : room;
    const int outcome = bw_ask_lines(policy_.get(), of, lines.data(), lines.size(), verdicts.data(), less, &count);
    check(outcome);
    fuzz::require(less >= count || outcome == BW_ERROR_USAGE);
    fuzz::require(std::all_of(verdicts.begin() + static_cast<std::ptrdiff_t>(count), verdicts.end(),
                              [](unsigned char verdict) { return verdict == 9; }));
  }
  void add() {
    if (added_++ > 8) return;  // each reload opens them all
    const std::string name = word();
    if (octet() % 4 == 0) {
      check(bw_add_allow_list(policy_.get(), slot().c_str()));
    } else {
      check(bw_add_filter(policy_.get(), octet() % 4 == 0 ? nullptr : name.c_str(), slot().c_str()));
    }
  }
  void set() {
    constexpr std::array kKeys{"delta", "exact", "public_key", "action", "on_error", "otherwise", "check"};
    constexpr std::array kValues{"block", "monitor", "allow", "off", "deny", "load", "read"};
    const std::size_t key = octet(), value = octet();
    const std::string other = octet() % 2 == 0 ? word() : slot();
    check(bw_set(policy_.get(), key < kKeys.size() * 30 ? kKeys.at(key % kKeys.size()) : other.c_str(),
                 value < kValues.size() * 20 ? kValues.at(value % kValues.size()) : other.c_str()));
  }
  void reload() { check(bw_reload(policy_.get())); }
  void put_file() {
    std::string octets = files_.good();
    const std::size_t at = (std::size_t{octet()} << 8 | octet()) % octets.size();
    switch (octet() % 5) {
      case 0:
        octets.resize(at);
        break;
      case 1:
        octets[at] = static_cast<char>(octets[at] ^ (1 + octet() % 255));
        break;
      case 2:
        octets = text();
        break;
      case 3:
        octets = sealed(octets, at);
        break;
      default:
        break;
    }
    files_.put(kSlots.at(octet() % kSlots.size()), octets);
  }
  // With a header that was changed and has the right digest.
  std::string sealed(std::string_view octets, std::size_t at) {
    const auto from = std::as_bytes(std::span(octets));
    std::vector<std::byte> file(from.begin(), from.end());
    file[at % filter::kHeaderBytes] = static_cast<std::byte>(octet());
    fuzz::seal(file);
    return {reinterpret_cast<const char*>(file.data()), file.size()};
  }
  void cut_file() {
    std::error_code ignored;
    const auto file = files_.path(kSlots.at(octet() % kSlots.size()));
    const auto size = std::filesystem::file_size(file, ignored);
    std::filesystem::resize_file(file, size * (octet() % 4) / 4, ignored);
    is_cut_ = true;
  }
  void begin_anew() {
    added_ = 0;
    if (octet() % 8 == 0) {
      policy_.reset(bw_new());
      return;
    }
    OwnPolicy opened(bw_open(slot().c_str()));
    if (opened == nullptr) check(bw_error_code());
    if (opened != nullptr) policy_ = std::move(opened);
  }
  void give_null() {
    std::size_t count = 7;
    check(bw_ask(nullptr, BW_URL, "a", 1, answer_.get()), -1);
    check(bw_ask(policy_.get(), BW_URL, nullptr, 1, nullptr), -1);
    check(bw_ask_many(policy_.get(), BW_URL, 2, nullptr, nullptr, nullptr), -1);
    check(bw_ask_lines(policy_.get(), BW_URL, nullptr, 1, nullptr, 0, &count), -1);
    check(bw_ask_lines(policy_.get(), BW_URL, "a", 1, nullptr, 0, nullptr), -1);
    check(bw_add_filter(policy_.get(), "a", nullptr), -1);
    check(bw_set(policy_.get(), nullptr, "a"), -1);
    check(bw_reload(nullptr), -1);
  }

  const RandomFiles& files_;
  std::span<const std::uint8_t> input_;
  OwnPolicy policy_{bw_new()};
  OwnAnswer answer_{bw_answer_new()};
  int added_ = 0;
  std::size_t answered_ = 0;
  RandomSeen seen_;
  bool is_cut_ = false;
};

}  // namespace bloomwall::library
