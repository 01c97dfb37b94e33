// A question that no filter answers takes nothing from the heap: this program's operator new, which the library uses as
// well, is replaced by a counting one. A sanitizer brings an operator new of its own: nothing to count then.
// SPDX-License-Identifier: Apache-2.0
#ifndef BLOOMWALL_SANITIZED
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "tests/filter/policy/policy_maker.h"
#include "tests/library/library_maker.h"

namespace {
thread_local std::size_t taken_from_heap = 0;
}

void* operator new(std::size_t size) {
  ++taken_from_heap;
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace bloomwall::library {
namespace {

TEST(LibraryAllocations, AMissTakesNone) {
  filter::PolicyMaker maker({{.name = "a", .entries = {"S listed.test", "U b.test/c"}, .changes = "+new.test\n"},
                             {.name = "b", .entries = {"D b.test/listed/", "R key"}}},
                            "free.test\n");
  const OwnPolicy policy(bw_new());
  bw_add_filter(policy.get(), "a", maker.file_of("a").c_str());
  bw_set(policy.get(), "delta", (maker.folder / "a.delta").c_str());
  bw_add_filter(policy.get(), "b", maker.file_of("b").c_str());
  bw_add_allow_list(policy.get(), (maker.folder / "allow.txt").c_str());
  ASSERT_EQ(bw_reload(policy.get()), 0) << bw_error_text();
  const OwnAnswer answer(bw_answer_new());
  struct Question {
    int kind;
    std::string_view text;
  };
  const std::vector<Question> questions{{BW_URL, "http://www.b.test/a/path/to/some/file.html?with=a&query"},
                                        {BW_URL, "HTTP://WWW.b.test:80/a/../%65/b%2e%2E/./longer/than/others/x;y"},
                                        {BW_HOST, "a.long.name.of.a.host.that.fits.no.string.example.test"},
                                        {BW_ADDRESS, "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"},
                                        {BW_RAW, "somebody.with.a.long.name@mail.example.test"}};
  const std::string lines = "http://www.b.test/x\r\nhttp://b.test/y/z\nother.test\n";
  std::vector<unsigned char> verdicts(3);
  std::size_t count = 0;
  for (int round = 0; round < 5; ++round) {
    const std::size_t before = taken_from_heap;
    for (const Question& question : questions) {
      for (bw_answer* const own : {answer.get(), static_cast<bw_answer*>(nullptr)}) {
        const int verdict = bw_ask(policy.get(), question.kind, question.text.data(), question.text.size(), own);
        EXPECT_EQ(verdict, BW_ALLOWED) << question.text;
      }
    }
    bw_ask_lines(policy.get(), BW_URL, lines.data(), lines.size(), verdicts.data(), verdicts.size(), &count);
    if (round >= 3) {
      EXPECT_EQ(taken_from_heap - before, 0U) << "strings swap places, so each has to meet the longest";
    }
  }
  const std::size_t before = taken_from_heap;
  const std::string long_name = std::string(60, 'a') + ".listed.test";
  EXPECT_EQ(ask(policy, BW_URL, long_name), BW_BLOCKED);
  const OwnPolicy another(bw_new());
  EXPECT_GT(taken_from_heap, before) << "what the library takes is not counted here";
}

}  // namespace
}  // namespace bloomwall::library
#endif
