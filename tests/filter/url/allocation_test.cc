// Counts what the canonicaliser asks of the heap: this program's operator new is replaced by a counting one.
// A sanitizer brings an operator new of its own, so there is nothing to count with one.
// SPDX-License-Identifier: Apache-2.0
#ifndef BLOOMWALL_SANITIZED
#include <algorithm>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "filter/url/canonical_url.h"
#include "filter/url/entry.h"
#include "tests/filter/url/url_generator.h"

namespace {
thread_local std::size_t allocations = 0;
}

void* operator new(std::size_t size) {
  ++allocations;
  if (void* const p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace bloomwall::filter {
namespace {

TEST(AllocationTest, ACanonicalUrlTakesNoneFromTheFirstOn) {
  const std::string url = "https://www.example.test/a/long/enough/path/to/need/memory.html?if=it&were=copied";
  const std::string host = "a.very.long.name.of.a.host.that.fits.no.string.example.test";
  const std::size_t before = allocations;
  Canonicaliser canonicaliser;
  const bool fine = canonicaliser.url(url).has_canonical && canonicaliser.host(host).has_canonical;
  const std::size_t taken = allocations - before;
  EXPECT_TRUE(fine);
  EXPECT_EQ(taken, 0U);
}

TEST(AllocationTest, OtherUrlsTakeNoneOnceScratchIsWarm) {
  constexpr std::uint64_t kSeed = 3;
  UrlGenerator generator(kSeed);
  std::vector<std::string> urls;
  for (int i = 0; i < 2000; ++i) {
    urls.push_back(generator.url());
    urls.push_back("http://h.test/" + generator.path());
  }
  Canonicaliser canonicaliser;
  for (int round = 0; round < 3; ++round) {  // strings swap places, so each of them has to meet the longest
    for (const std::string& url : urls) canonicaliser.url(url);
  }
  std::size_t most = 0;
  for (const std::string& url : urls) {
    bool ascii = true;  // other names go through ICU
    for (const char c : url) ascii = ascii && static_cast<unsigned char>(c) < 0x80;
    const std::size_t before = allocations;
    canonicaliser.url(url);
    if (ascii) most = std::max(most, allocations - before);
  }
  EXPECT_EQ(most, 0U) << "seed " << kSeed;
}

TEST(AllocationTest, EntriesTakeNoneOnceScratchIsWarm) {
  const std::string domain = "some.rather.long.domain.name.example.test";
  const std::string url = "http://some.rather.long.domain.name.example.test/a/long/path/to/a/file.html?query";
  EntryParser parser;
  parser.any(domain);
  parser.any(url);
  const std::size_t before = allocations;
  parser.any(domain);
  parser.any(url);
  parser.domain(domain);
  parser.url(url);
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace bloomwall::filter
#endif
