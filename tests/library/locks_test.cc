// Who asks takes no lock: the calls of this program and of the library that take one are replaced by counting ones. A
// sanitizer replaces them, too: nothing to count then.
// SPDX-License-Identifier: Apache-2.0
#ifndef BLOOMWALL_SANITIZED
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <cstddef>
#include <mutex>
#include <string_view>

#include "tests/filter/policy/policy_maker.h"
#include "tests/library/library_maker.h"

namespace {

thread_local std::size_t locks_taken = 0;

template <typename Call>
Call next_of(const char* name) {
  return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto next = next_of<int (*)(pthread_mutex_t*)>("pthread_mutex_lock");
  ++locks_taken;
  return next(mutex);
}
extern "C" int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static const auto next = next_of<int (*)(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++locks_taken;
  return next(lock);
}

namespace bloomwall::library {
namespace {

TEST(LibraryLocks, AreCounted) {
  std::mutex mutex;
  const std::size_t before = locks_taken;
  {
    const std::scoped_lock lock(mutex);
  }
  EXPECT_EQ(locks_taken, before + 1);
  const OwnPolicy policy(bw_new());
  bw_set(policy.get(), "check", "read");
  EXPECT_EQ(locks_taken, before + 2);  // in the library, too
}

TEST(LibraryLocks, WhoAsksTakesNone) {
  filter::PolicyMaker maker({{.name = "a", .entries = {"S listed.test", "U b.test/c"}, .changes = "+new.test\n"},
                             {.name = "b", .entries = {"D b.test/listed/", "R key"}}},
                            "free.test\n");
  for (const char* const check : {"load", "read"}) {
    const OwnPolicy policy(bw_new());
    bw_add_filter(policy.get(), "a", maker.file_of("a").c_str());
    bw_set(policy.get(), "delta", (maker.folder / "a.delta").c_str());
    bw_add_filter(policy.get(), "b", maker.file_of("b").c_str());
    bw_add_allow_list(policy.get(), (maker.folder / "allow.txt").c_str());
    bw_set(policy.get(), "check", check);
    ASSERT_EQ(bw_reload(policy.get()), 0) << bw_error_text();
    const OwnAnswer answer(bw_answer_new());
    const std::size_t before = locks_taken;
    for (int round = 0; round < 2; ++round) {
      for (const std::string_view text :
           {"http://www.listed.test/", "http://b.test/listed/x", "free.test", "other.test"}) {
        for (int kind = BW_URL; kind <= BW_RAW; ++kind) {
          EXPECT_GE(bw_ask(policy.get(), kind, text.data(), text.size(), answer.get()), 0);
        }
      }
      constexpr std::string_view kLines = "listed.test\nother.test\n";
      std::array<unsigned char, 2> verdicts{};
      std::size_t lines = 0;
      EXPECT_EQ(bw_ask_lines(policy.get(), BW_URL, kLines.data(), kLines.size(), verdicts.data(), 2, &lines), 0);
      EXPECT_EQ(verdicts, (std::array<unsigned char, 2>{BW_BLOCKED, BW_ALLOWED}));
    }
    EXPECT_EQ(locks_taken, before) << "check: " << check;
  }
}

}  // namespace
}  // namespace bloomwall::library
#endif
