// SPDX-License-Identifier: Apache-2.0
#include "filter/lists/list_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "filter/lists/decoder.h"
#include "tests/filter/lists/compress.h"
#include "tests/support/temp_dir.h"

namespace bloomwall::filter::test {
namespace {

constexpr std::array kCompressed{Compression::gzip, Compression::xz, Compression::zstd, Compression::bzip2,
                                 Compression::lz4};
constexpr std::array kAll{Compression::none, Compression::gzip,  Compression::xz,
                          Compression::zstd, Compression::bzip2, Compression::lz4};

std::string text_of_lines(int lines) {
  std::string text;
  for (int i = 0; i < lines; ++i) text += fmt::format("host-{}.example.com\n", i * 7919);
  return text;
}

TextDigest sha256(std::string_view text) {
  TextDigest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

struct All {
  std::string text;
  std::string error;
};
All read_all(ListInput& input) {
  All all;
  while (true) {
    const auto chunk = input.next();
    if (!chunk) {
      all.error = chunk.error().text();
      return all;
    }
    if (chunk->empty()) return all;
    EXPECT_LE(chunk->size(), kInputChunkBytes);
    all.text.append(*chunk);
  }
}

std::filesystem::path temporary(std::string_view name, std::string_view bytes) {
  const auto path = std::filesystem::path(testing::TempDir()) / fmt::format("bloomwall-{}-{}", getpid(), name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ListInput, GivesTheSameTextHoweverItIsStored) {
  const std::string text = text_of_lines(40'000);
  for (const Compression how : kAll) {
    SCOPED_TRACE(to_string(how));
    const std::string stored = compress(how, text);
    ListInput input = ListInput::of_memory(stored, "list");
    const All all = read_all(input);
    EXPECT_EQ(all.error, "");
    EXPECT_TRUE(all.text == text);
    EXPECT_EQ(input.compression(), how);
    EXPECT_EQ(input.text_bytes(), text.size());
    EXPECT_EQ(input.stored_bytes(), stored.size());
    EXPECT_EQ(input.stored_total(), stored.size());
    EXPECT_EQ(input.digest(), sha256(text));
  }
}

TEST(ListInput, GivesTheSameTextWhateverTheChunks) {
  const std::string text = text_of_lines(300);
  for (const Compression how : kAll) {
    const std::string stored = compress(how, text);
    for (const std::size_t step :
         {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, std::size_t{64}, std::size_t{1000}}) {
      SCOPED_TRACE(fmt::format("{} in steps of {}", to_string(how), step));
      ListInput input = ListInput::of_memory(stored, "list", step);
      EXPECT_TRUE(read_all(input).text == text);
      EXPECT_EQ(input.digest(), sha256(text));
    }
  }
}

TEST(ListInput, BelievesTheBytesAndNotTheName) {
  const std::string text = text_of_lines(10);
  for (const Compression how : kAll) {
    const auto path = temporary("list.txt.gz", compress(how, text));
    auto input = ListInput::open(path.string());
    ASSERT_TRUE(input);
    EXPECT_EQ(read_all(*input).text, text);
    EXPECT_EQ(input->compression(), how);
    std::filesystem::remove(path);
  }
}

TEST(ListInput, SeveralMembersAreOneText) {
  const std::string one = text_of_lines(50);
  const std::string two = "last.example\n";
  for (const Compression how : kCompressed) {
    for (const std::size_t step : {std::size_t{1}, kInputChunkBytes}) {
      SCOPED_TRACE(to_string(how));
      const std::string stored = compress(how, one) + compress(how, "") + compress(how, two);
      ListInput input = ListInput::of_memory(stored, "list", step);
      const All all = read_all(input);
      EXPECT_EQ(all.error, "");
      EXPECT_EQ(all.text, one + two);
    }
  }
}

TEST(ListInput, ZeroPaddingAfterGzipAndXzIsNoDamage) {
  for (const Compression how : {Compression::gzip, Compression::xz}) {
    const std::string stored = compress(how, "a.example\n") + std::string(64, '\0');
    ListInput input = ListInput::of_memory(stored, "list");
    const All all = read_all(input);
    EXPECT_EQ(all.error, "") << to_string(how);
    EXPECT_EQ(all.text, "a.example\n");
  }
}

TEST(ListInput, TruncatedAnywhereIsAnErrorThatNamesFileAndOffset) {
  const std::string text = text_of_lines(200);
  for (const Compression how : kCompressed) {
    const std::string stored = compress(how, text);
    for (std::size_t size = kMagicBytes; size < stored.size(); ++size) {
      SCOPED_TRACE(fmt::format("{} cut to {} of {}", to_string(how), size, stored.size()));
      ListInput input = ListInput::of_memory(std::string_view(stored).substr(0, size), "the/list");
      const All all = read_all(input);
      ASSERT_NE(all.error.find("the/list: damaged"), std::string::npos) << all.error;
      ASSERT_NE(all.error.find(fmt::format("at byte {}", size)), std::string::npos) << all.error;
      ASSERT_TRUE(text.starts_with(all.text));
    }
  }
}

TEST(ListInput, ADamagedOctetIsAnErrorOrChangesNothing) {
  const std::string text = text_of_lines(200);
  std::size_t errors = 0;
  for (const Compression how : kCompressed) {
    const std::string stored = compress(how, text);
    for (std::size_t at = kMagicBytes; at < stored.size(); ++at) {
      std::string damaged = stored;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
      ListInput input = ListInput::of_memory(damaged, "list");
      const All all = read_all(input);
      // A gzip header has octets that mean nothing; elsewhere checksums see it.
      if (all.error.empty()) {
        ASSERT_TRUE(all.text == text) << to_string(how) << " octet " << at;
      } else {
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 1000U);
}

TEST(ListInput, GarbageAfterTheEndIsDamage) {
  for (const Compression how : kCompressed) {
    const std::string stored = compress(how, "a.example\n") + "garbage";
    ListInput input = ListInput::of_memory(stored, "list");
    EXPECT_NE(read_all(input).error, "") << to_string(how);
  }
}

TEST(ListInput, AZstdWindowBeyondTheLimitIsRefused) {
  // A frame header that asks for a window of 2^31 octets, then an empty last block.
  const std::string stored("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", 9);
  ListInput input = ListInput::of_memory(stored, "list");
  EXPECT_NE(read_all(input).error.find("memory"), std::string::npos);
}

TEST(ListInput, RewindsFilesAndMemory) {
  const std::string text = text_of_lines(1000);
  const auto path = temporary("rewind", zstd(text));
  auto input = ListInput::open(path.string());
  ASSERT_TRUE(input);
  ASSERT_TRUE(input->can_rewind());
  ASSERT_TRUE(input->next());
  ASSERT_TRUE(input->rewind());
  EXPECT_EQ(input->text_bytes(), 0U);
  EXPECT_EQ(read_all(*input).text, text);
  EXPECT_EQ(input->digest(), sha256(text));
  ASSERT_TRUE(input->rewind());
  EXPECT_EQ(read_all(*input).text, text);
  EXPECT_EQ(input->digest(), sha256(text));
  std::filesystem::remove(path);
}

TEST(ListInput, APipeIsReadOnceHoweverItDrips) {
  for (const Compression how : kAll) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::string text = text_of_lines(40);
    const std::string stored = compress(how, text);
    std::thread writer([&] {
      for (const char c : stored) ASSERT_EQ(write(ends[1], &c, 1), 1);
      close(ends[1]);
    });
    auto input = ListInput::open(fmt::format("/dev/fd/{}", ends[0]));
    ASSERT_TRUE(input);
    EXPECT_FALSE(input->can_rewind());
    EXPECT_EQ(read_all(*input).text, text) << to_string(how);
    EXPECT_EQ(input->stored_total(), 0U);
    writer.join();
    const auto rewound = input->rewind();
    ASSERT_FALSE(rewound);
    EXPECT_EQ(rewound.error().code, Errc::usage);
    close(ends[0]);
  }
}

TEST(ListInput, DashIsStandardInput) {
  const auto path = temporary("stdin", gzip("a.example\n"));
  const int saved = dup(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(dup2(file, STDIN_FILENO), 0);
  {
    auto input = ListInput::open("-");
    ASSERT_TRUE(input);
    EXPECT_EQ(input->name(), "-");
    EXPECT_EQ(read_all(*input).text, "a.example\n");
  }
  EXPECT_NE(fcntl(STDIN_FILENO, F_GETFD), -1) << "stdin is borrowed and must stay open";
  dup2(saved, STDIN_FILENO);
  close(saved);
  close(file);
  std::filesystem::remove(path);
}

TEST(ListInput, EmptyAndTinyInputsAreTexts) {
  for (const std::string_view text : {"", "a", "ab\n", "\x1f", "(\xb5"}) {
    ListInput input = ListInput::of_memory(text, "list");
    const All all = read_all(input);
    EXPECT_EQ(all.text, text);
    EXPECT_EQ(all.error, "");
    EXPECT_EQ(input.digest(), sha256(text));
  }
}

TEST(ListInput, WhatCannotBeOpenedSaysWhy) {
  const auto missing = ListInput::open("/nonexistent/list");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Errc::io);
  EXPECT_EQ(missing.error().text(), "/nonexistent/list: cannot open: No such file or directory");
  const auto folder = ListInput::open("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code, Errc::usage);
}

TEST(Decoder, TellsCompressionByMagic) {
  for (const Compression how : kAll) EXPECT_EQ(compression_of(compress(how, "x")), how);
  EXPECT_EQ(compression_of("\x52\x2a\x4d\x18"), Compression::zstd) << "a skippable frame";
  EXPECT_EQ(compression_of(""), Compression::none);
  EXPECT_EQ(compression_of("\x1f"), Compression::none);
  EXPECT_EQ(compression_of("BZh9.example\n"), Compression::none);
}

TEST(ListInputTest, AFileThatIsWrittenToWhileItIsReadIsRefused) {
  const bloomwall::test::TempDir dir;
  const std::string lines = text_of_lines(100'000);
  for (const bool in_place : {true, false}) {
    const auto file = dir.write("list", lines);
    auto input = ListInput::open(file.string());
    ASSERT_TRUE(input && input->next());
    if (in_place) {
      std::ofstream(file, std::ios::binary | std::ios::app) << "evil.example\n";
    } else {
      dir.write("next", "other.example\n");
      std::filesystem::rename(dir.path() / "next", file);
    }
    const All all = read_all(*input);
    if (in_place) {
      EXPECT_NE(all.error.find("was written to while it was read"), std::string::npos) << all.error;
    } else {
      EXPECT_EQ(all.error, "") << "a rename leaves the file that is open what it is";
    }
  }
}

}  // namespace
}  // namespace bloomwall::filter::test
