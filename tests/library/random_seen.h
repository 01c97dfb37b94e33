// A set of bloomwall.h that grows, in any order of its calls, with its file torn, changed and removed meanwhile: part
// of RandomCalls (random_calls.h). What a set has been given, it says "seen" of, and what was saved it says that of in
// the next process too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "include/bloomwall.h"
#include "tests/fuzz/require.h"

namespace bloomwall::library {

// What an input chooses.
class Choices {
 public:
  virtual std::uint8_t octet() = 0;
  virtual std::string text() = 0;

 protected:
  ~Choices() = default;
};

class RandomSeen {
 public:
  // `file`: where its checkpoints are; removed first.
  RandomSeen(Choices& choose, std::string file) : choose_(choose), file_(std::move(file)) { remove_file(); }

  void step() {
    using Call = void (RandomSeen::*)();
    constexpr std::array<Call, 10> kCalls{
        &RandomSeen::open, &RandomSeen::add,    &RandomSeen::add,  &RandomSeen::add_many, &RandomSeen::add_lines,
        &RandomSeen::save, &RandomSeen::reopen, &RandomSeen::tear, &RandomSeen::count,    &RandomSeen::give_null};
    (this->*kCalls.at(choose_.octet() % kCalls.size()))();
  }

  std::size_t found_again() const { return found_again_; }  // keys of checkpoints that were opened

 private:
  struct Free {
    void operator()(bw_seen* seen) const noexcept { bw_seen_free(seen); }
  };

  static void check(int outcome, int highest = 0) {
    fuzz::require(outcome <= highest);
    if (outcome < 0) fuzz::require(outcome == bw_error_code() && *bw_error_text() != '\0');
    fuzz::require(outcome != BW_ERROR_INTERNAL);
  }

  void open() {
    constexpr std::array<unsigned long long, 6> kKeys{0,   1,    7,
                                                      100, 5000, std::numeric_limits<unsigned long long>::max()};
    constexpr std::array kErrors{0.0, 1e-6, 1e-3, 0.5, 1e-300, -1.0, 2.0, std::numeric_limits<double>::quiet_NaN()};
    const int kind = choose_.octet() % 6;
    const auto keys = kKeys.at(choose_.octet() % kKeys.size());
    const double error = kErrors.at(choose_.octet() % kErrors.size());
    const bool has_file = choose_.octet() % 4 != 0;
    const std::unique_ptr<bw_seen, Free> former = std::move(seen_);
    seen_.reset(bw_seen_open(has_file ? file_.c_str() : nullptr, kind, keys, error));
    if (seen_ == nullptr) return check(bw_error_code(), -1);
    has_file_ = has_file;
    held_ = has_file ? saved_ : std::set<std::string>();
    fuzz::require(bw_seen_capacity(seen_.get()) > 0 && bw_seen_bytes(seen_.get()) > 0);
    const double chance = bw_seen_error(seen_.get());
    fuzz::require(chance > 0 && chance < 1 && (error == 0 || chance <= error * 1.000001 || !held_.empty() || is_torn_));
    require_held();
  }
  // With what the file remembers.
  void reopen() {
    if (saved_.empty()) return;
    seen_.reset(bw_seen_open(file_.c_str(), choose_.octet() % 4 + 1, 0, 0));
    if (seen_ == nullptr) return check(bw_error_code(), -1);
    has_file_ = true;
    held_ = saved_;
    require_held();
  }
  void require_held() {
    found_again_ += has_file_ ? held_.size() : 0;
    for (const std::string& each : held_) {
      fuzz::require(bw_seen_has(seen_.get(), each.data(), each.size()) == BW_SEEN);
    }
  }
  void note(const std::string& text, int outcome) {
    fuzz::require(outcome != BW_NEW || !held_.contains(text));
    if (outcome == BW_NEW || outcome == BW_SEEN) held_.insert(text);
  }
  void add() {
    const std::string text = choose_.text();
    const int before = bw_seen_has(seen_.get(), text.data(), text.size());
    const int outcome = bw_seen_add(seen_.get(), text.data(), text.size());
    check(before, BW_SEEN);
    check(outcome, BW_SEEN);
    if (seen_ == nullptr) return fuzz::require(before < 0 && outcome < 0);
    fuzz::require(outcome == before || (before == BW_NEW && outcome == BW_ERROR_LIMIT));
    note(text, outcome);
    if (outcome >= 0) fuzz::require(bw_seen_has(seen_.get(), text.data(), text.size()) == BW_SEEN);
  }
  void add_many() {
    std::vector<std::string> texts(choose_.octet() % 40);
    for (std::string& each : texts) each = choose_.text();
    std::vector<const char*> pointers;
    std::vector<std::size_t> lengths;
    for (const std::string& each : texts) {
      pointers.push_back(each.data());
      lengths.push_back(each.size());
    }
    std::vector<unsigned char> outcomes(texts.size(), 9);
    const int done = bw_seen_add_many(seen_.get(), texts.size(), pointers.data(), lengths.data(), outcomes.data());
    check(done);
    if (done != 0 && done != BW_ERROR_LIMIT) return;
    bool is_full = false;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      fuzz::require(outcomes[i] <= BW_FULL);
      is_full = is_full || outcomes[i] == BW_FULL;
      note(texts[i], outcomes[i]);
    }
    fuzz::require(is_full == (done == BW_ERROR_LIMIT));
  }
  void add_lines() {
    const std::string lines = choose_.text();
    std::size_t count = 0;
    check(bw_seen_add_lines(seen_.get(), lines.data(), lines.size(), nullptr, 0, &count));
    if (seen_ == nullptr) return;
    const std::size_t room = choose_.octet() % 8 == 0 && count > 0 ? count - 1 : count;
    std::vector<unsigned char> outcomes(count + 1, 9);
    const int done = bw_seen_add_lines(seen_.get(), lines.data(), lines.size(), outcomes.data(), room, &count);
    check(done);
    fuzz::require(room == count || done == BW_ERROR_USAGE);
    fuzz::require(outcomes.at(count) == 9);
  }
  void save() {
    const int done = bw_seen_save(seen_.get());
    check(done);
    fuzz::require(seen_ != nullptr || done < 0);
    fuzz::require(has_file_ || done < 0);
    if (done != 0) return;
    saved_ = held_;
    is_torn_ = false;
  }
  // As a crash of something else, or a disk, leaves it. What is refused is not asked about; what is not was whole.
  void tear() {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(file_, ignored);
    if (ignored) return;
    switch (choose_.octet() % 3) {
      case 0:
        std::filesystem::resize_file(file_, size * (choose_.octet() % 4) / 4, ignored);
        break;
      case 1:
        change_octet(size);
        break;
      default:
        remove_file();
    }
    saved_.clear();
    is_torn_ = true;
  }
  void change_octet(std::uintmax_t size) const {
    if (size == 0) return;
    std::fstream file(file_, std::ios::binary | std::ios::in | std::ios::out);
    const auto at = static_cast<std::streamoff>((std::size_t{choose_.octet()} << 8 | choose_.octet()) * 16 % size);
    file.seekg(at);
    const int was = file.get();
    file.seekp(at);
    file.put(static_cast<char>(was ^ (1 + choose_.octet() % 255)));
  }
  void count() {
    fuzz::require(bw_seen_count(seen_.get()) <= bw_seen_capacity(seen_.get()));
    fuzz::require((seen_ == nullptr) == (bw_seen_bytes(seen_.get()) == 0));
    fuzz::require(bw_seen_error_now(seen_.get()) <= bw_seen_error(seen_.get()) * 1.000001);
  }
  void give_null() {
    std::size_t lines = 7;
    check(bw_seen_add(nullptr, "a", 1), -1);
    check(bw_seen_has(nullptr, "a", 1), -1);
    check(bw_seen_add(seen_.get(), nullptr, 1), -1);
    check(bw_seen_add_many(seen_.get(), 2, nullptr, nullptr, nullptr), -1);
    check(bw_seen_add_lines(seen_.get(), "a", 1, nullptr, 0, nullptr), -1);
    check(bw_seen_add_lines(seen_.get(), nullptr, 1, nullptr, 0, &lines), -1);
    check(bw_seen_save(nullptr), -1);
    fuzz::require(bw_seen_count(nullptr) == 0 && bw_seen_capacity(nullptr) == 0 && bw_seen_bytes(nullptr) == 0);
    bw_seen_free(nullptr);
  }
  void remove_file() const {
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
  }

  Choices& choose_;
  const std::string file_;
  std::unique_ptr<bw_seen, Free> seen_;
  std::set<std::string> held_, saved_;  // texts of whom "seen" must be said; those in the checkpoint
  std::size_t found_again_ = 0;
  bool has_file_ = false;
  bool is_torn_ = false;  // the file is none of our checkpoints
};

}  // namespace bloomwall::library
