// SPDX-License-Identifier: Apache-2.0
#include "proxy/io/chain.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <random>
#include <string>

namespace bloomwall::proxy {
namespace {

std::span<const char> view(const std::string& text) { return {text.data(), text.size()}; }

std::string pattern(std::size_t size, unsigned salt = 0) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>((i * 31 + i / 251 + salt) % 256);
  return out;
}

TEST(Chain, HoldsNoBlockWhileEmpty) {
  BufferPool pool(1 << 20);
  Chain chain(pool);
  EXPECT_EQ(pool.in_use(), 0u);
  ASSERT_TRUE(chain.append(view("abc")));
  EXPECT_EQ(pool.in_use(), sizeof(BufferPool::Block));
  chain.consume(3);
  EXPECT_TRUE(chain.empty());
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_TRUE(chain.front().empty());
}

TEST(Chain, GivesBackTheBytesInOrderWhateverTheCuts) {
  constexpr unsigned kSeed = 7;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  BufferPool pool(16 << 20);
  Chain chain(pool);
  std::string in, out;
  for (int round = 0; round < 500; ++round) {
    const std::string piece = pattern(random() % 40'000, static_cast<unsigned>(round));
    ASSERT_TRUE(chain.append(view(piece)));
    in += piece;
    std::size_t take = random() % 40'000;
    while (take > 0 && !chain.empty()) {
      const auto front = chain.front();
      const std::size_t n = std::min(take, front.size());
      out.append(front.data(), n);
      chain.consume(n);
      take -= n;
    }
    ASSERT_EQ(chain.size(), in.size() - out.size());
  }
  while (!chain.empty()) {
    out.append(chain.front().data(), chain.front().size());
    chain.consume(chain.front().size());
  }
  EXPECT_EQ(in, out);
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(Chain, PiecesShowWhatConsumeWillTake) {
  BufferPool pool(1 << 20);
  Chain chain(pool);
  const std::string text = pattern(100'000);
  ASSERT_TRUE(chain.append(view(text)));
  std::array<iovec, 64> pieces{};
  const std::size_t count = chain.pieces(pieces);
  std::string seen;
  for (std::size_t i = 0; i < count; ++i) seen.append(static_cast<char*>(pieces[i].iov_base), pieces[i].iov_len);
  EXPECT_EQ(seen, text);
  std::array<iovec, 2> few{};
  EXPECT_EQ(chain.pieces(few), 2u);
  chain.consume(text.size());
  EXPECT_TRUE(chain.empty());
}

TEST(Chain, SaysNoAtThePoolsLimitAndFreesEverythingAfterwards) {
  BufferPool pool(4 * sizeof(BufferPool::Block));
  Chain first(pool), second(pool);
  EXPECT_TRUE(first.append(view(pattern(3 * BufferPool::Block::kBytes))));
  EXPECT_EQ(pool.refusals(), 0u);
  EXPECT_FALSE(second.append(view(pattern(2 * BufferPool::Block::kBytes))));
  EXPECT_EQ(pool.refusals(), 1u);
  first.clear();
  second.clear();
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_TRUE(second.append(view(pattern(4 * BufferPool::Block::kBytes))));
}

TEST(Reservation, CountsAgainstTheLimitOfBlocks) {
  BufferPool pool(4 * sizeof(BufferPool::Block));
  Chain chain(pool);
  {
    Reservation heads(pool, BufferKind::heads);
    EXPECT_TRUE(heads.set(3 * sizeof(BufferPool::Block)));
    EXPECT_FALSE(heads.set(5 * sizeof(BufferPool::Block)));
    EXPECT_EQ(pool.in_use(), 3 * sizeof(BufferPool::Block));
    EXPECT_FALSE(chain.append(view(pattern(2 * BufferPool::Block::kBytes))));
    EXPECT_TRUE(heads.set(10));
    EXPECT_TRUE(chain.append(view(pattern(1))));
  }
  chain.clear();
  EXPECT_EQ(pool.in_use(), 0u);
}

TEST(BufferPool, CountsEachKindApart) {
  BufferPool pool(std::size_t{1} << 20);
  Chain chain(pool);
  {
    Reservation heads(pool, BufferKind::heads), tls(pool, BufferKind::tls), http2(pool, BufferKind::http2);
    EXPECT_TRUE(heads.set(1) && tls.set(20) && http2.set(300) && tls.set(10));
    EXPECT_TRUE(chain.append(view(pattern(1))));
    EXPECT_EQ(pool.in_use(BufferKind::heads), 1U);
    EXPECT_EQ(pool.in_use(BufferKind::tls), 10U);
    EXPECT_EQ(pool.in_use(BufferKind::http2), 300U);
    EXPECT_EQ(pool.in_use(BufferKind::waiting), sizeof(BufferPool::Block));
    EXPECT_EQ(pool.in_use(), 311U + sizeof(BufferPool::Block));
  }
  chain.clear();
  for (std::size_t i = 0; i < kBufferKinds; ++i) EXPECT_EQ(pool.in_use(static_cast<BufferKind>(i)), 0U);
}

// Octets that wait may fill the reserve, which is there for them; memory that lasts is owed.
TEST(BufferPool, TellsWhenMemoryThatLastsReachesIntoTheReserve) {
  BufferPool pool(8000);
  unsigned told = 0;
  pool.on_overdraft([](void* count) { ++*static_cast<unsigned*>(count); }, &told);
  Reservation heads(pool, BufferKind::heads), one(pool, BufferKind::tls), other(pool, BufferKind::http2);
  EXPECT_TRUE(one.set(3000) && other.set(3000));
  EXPECT_TRUE(heads.set(1500));
  EXPECT_EQ(told, 0U);
  EXPECT_TRUE(one.set(3100) && other.set(3200));
  EXPECT_EQ(told, 1U) << "once, until it is paid back";
  EXPECT_TRUE(pool.pay_back(100)) << "300 are owed";
  EXPECT_FALSE(pool.pay_back(200));
  EXPECT_TRUE(one.set(3200));
  EXPECT_EQ(told, 2U);
  other.set(0);
  EXPECT_FALSE(pool.pay_back(1)) << "the reserve is whole again";
}

TEST(BufferPool, WhoIsServedAlreadyMayExceedTheLimitByAnEighth) {
  BufferPool pool(8 * sizeof(BufferPool::Block));
  Reservation heads(pool, BufferKind::heads), tls(pool, BufferKind::tls);
  Chain chain(pool);
  ASSERT_TRUE(heads.set(pool.limit()));
  EXPECT_FALSE(tls.set(1));
  EXPECT_FALSE(chain.append(view(pattern(1))));
  EXPECT_TRUE(chain.append(view(pattern(1)), Bound::served));
  EXPECT_FALSE(tls.set(1, Bound::served)) << "that is the eighth";
  EXPECT_EQ(pool.left(), 0U);
  EXPECT_FALSE(pool.has_room(0));
  chain.clear();
  EXPECT_TRUE(tls.set(1, Bound::served));
  EXPECT_FALSE(heads.set(pool.limit() + 1)) << "what is new finds no room";
  EXPECT_TRUE(tls.set(0));
  EXPECT_EQ(pool.in_use(), pool.limit());
}

#ifndef BLOOMWALL_SANITIZED  // whose allocator keeps what was freed
// Resident bytes of this process.
std::size_t resident() {
  std::ifstream in("/proc/self/statm");
  std::size_t all = 0, pages = 0;
  in >> all >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(BufferPool, GivesAPeakBackToTheSystem) {
  constexpr std::size_t kPeak = std::size_t{256} << 20;
  BufferPool pool(kPeak);
  const std::size_t before = resident();
  {
    Chain chain(pool);
    ASSERT_TRUE(chain.append(view(pattern(kPeak / 2))));
    EXPECT_GT(resident(), before + kPeak / 2);
  }
  EXPECT_LT(resident(), before + (std::size_t{24} << 20));
  Chain again(pool);
  const std::string text = pattern(1 << 20, 3);
  ASSERT_TRUE(again.append(view(text)));
  EXPECT_EQ(std::string(again.front().data(), again.front().size()), text.substr(0, again.front().size()));
}
#endif

}  // namespace
}  // namespace bloomwall::proxy
