// SPDX-License-Identifier: Apache-2.0
#include "proxy/tls/octet_queue.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "proxy/tls/handles.h"
#include "tests/support/seed.h"

namespace bloomwall::proxy {
namespace {

std::string_view text(const OctetQueue& queue) { return {queue.view().data(), queue.view().size()}; }

// Against a string, through both doors. Sizes around the limits of blocks come as often as small ones.
TEST(OctetQueue, HoldsWhatWasPutInInOrder) {
  const std::uint32_t seed = bloomwall::test::test_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  OctetQueue queue;
  const BioPtr bio(queue.new_bio());
  std::string model;
  std::size_t most = 0;
  char next = 0;
  const auto size = [&] {
    static constexpr std::size_t kAround[] = {
        1, 5, 100, OctetQueue::kKeptBytes, OctetQueue::kRecordBytes, 16384, 65536, OctetQueue::kSpareBytes};
    return kAround[random() % std::size(kAround)] + random() % 3;
  };
  for (int i = 0; i < 3000; ++i) {
    if (random() % 100 == 0) {
      queue.clear();
      model.clear();
    } else if (random() % 2 == 0 && model.size() < 1'000'000) {
      std::string piece(size(), ' ');
      std::generate(piece.begin(), piece.end(), [&] { return next++; });
      if (random() % 2 == 0) {
        queue.append(piece);
      } else {
        ASSERT_EQ(BIO_write(bio.get(), piece.data(), static_cast<int>(piece.size())), static_cast<int>(piece.size()));
      }
      model += piece;
    } else {
      std::string room(size(), ' ');
      const int got = random() % 2 == 0 ? static_cast<int>(queue.take(room))
                                        : std::max(0, BIO_read(bio.get(), room.data(), static_cast<int>(room.size())));
      ASSERT_EQ(static_cast<std::size_t>(got), std::min(room.size(), model.size()));
      ASSERT_EQ(std::string_view(room).substr(0, static_cast<std::size_t>(got)),
                std::string_view(model).substr(0, static_cast<std::size_t>(got)));
      model.erase(0, static_cast<std::size_t>(got));
    }
    ASSERT_EQ(queue.size(), model.size());
    ASSERT_EQ(BIO_ctrl_pending(bio.get()), model.size());
    if (i % 10 == 0) {
      ASSERT_EQ(text(queue), model);
    }
    most = std::max(most, model.size());
    ASSERT_LE(queue.capacity(), std::max(4 * most, OctetQueue::kSpareBytes));
    if (model.empty()) {
      ASSERT_LE(queue.capacity(), OctetQueue::kKeptBytes);
    }
  }
}

TEST(OctetQueue, AnEmptyOneSaysLaterAndNotEnd) {
  OctetQueue queue;
  const BioPtr bio(queue.new_bio());
  char room = 0;
  EXPECT_LE(BIO_read(bio.get(), &room, 1), 0);
  EXPECT_TRUE(BIO_should_retry(bio.get()));
  EXPECT_TRUE(BIO_should_read(bio.get()));
  queue.append(std::string_view("a"));
  EXPECT_EQ(BIO_read(bio.get(), &room, 1), 1);
  EXPECT_EQ(room, 'a');
  EXPECT_FALSE(BIO_should_retry(bio.get()));
}

TEST(OctetQueue, GivesALargeBlockToTheNextOfItsThread) {
  const std::string large(OctetQueue::kRecordBytes + 1, 'x');
  OctetQueue first, second;
  first.append(large);
  const char* const block = first.view().data();
  EXPECT_EQ(first.capacity(), OctetQueue::kSpareBytes);
  first.clear();
  EXPECT_EQ(first.capacity(), 0U);
  second.append(large);
  EXPECT_EQ(second.view().data(), block);
}

}  // namespace
}  // namespace bloomwall::proxy
