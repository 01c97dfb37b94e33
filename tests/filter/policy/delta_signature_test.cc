// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/delta_signature.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "filter/policy/delta.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::HasSubstr;

const KeyMaker kSignedKeys{SeriesKey{}};

class DeltaSignature : public testing::Test {
 protected:
  DeltaSignature() {
    EXPECT_TRUE(key_.write(folder_ / "a.key", folder_ / "a.pub"));
    EXPECT_TRUE(other_.write(folder_ / "b.key", folder_ / "b.pub"));
    trusted_ = *TrustedKeys::read(folder_ / "a.pub");
  }
  std::string signed_text(const std::string& text) const { return *sign_delta(text, "d", key_); }
  Delta::Loaded load(const std::string& text) const {
    return Delta::parse(text, "d", kSignedKeys, id_of(1), {.trusted = &trusted_});
  }
  std::string refusal(const std::string& text) const {
    const auto delta = load(text);
    return delta ? "taken" : texts_of(delta.error());
  }
  TempFolder folder_;
  const SigningKey key_ = SigningKey::generate(), other_ = SigningKey::generate();
  TrustedKeys trusted_;
  const std::string text_ = Delta::first_line(id_of(1), 4) + "\n# why\n+bad.example\n-good.example\n";
};

TEST_F(DeltaSignature, ASignedDeltaSaysWhatItSaidBefore) {
  const auto delta = load(signed_text(text_));
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->size(), 3U);
  EXPECT_EQ(delta->sequence(), 4U);
  EXPECT_TRUE(Delta::parse(signed_text(text_), "d", kSignedKeys, id_of(1))) << "nobody asks for the key";
}

TEST_F(DeltaSignature, ALastLineWithoutItsEndGetsOne) {
  const auto delta = load(signed_text(text_ + "+R raw  "));
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->answer(OwnEntry("R raw  ").view()), DeltaAnswer::added);
}

TEST_F(DeltaSignature, EveryAlterationIsFoundOut) {
  const std::string whole = signed_text(text_);
  std::size_t tried = 0;
  for (std::size_t at = 0; at < whole.size(); ++at, ++tried) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    ASSERT_NE(refusal(altered), "taken") << at << altered;
  }
  EXPECT_GT(tried, 250U);
  EXPECT_THAT(refusal(text_), HasSubstr("untrusted d: is not signed"));
  EXPECT_THAT(refusal("\n" + whole), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(whole.substr(0, whole.size() - 60)), HasSubstr("bad_syntax d:5"));
}

TEST_F(DeltaSignature, NothingFollowsASignature) {
  const std::string whole = signed_text(text_);
  EXPECT_THAT(refusal(whole + "+evil.example\n"), HasSubstr("bad_syntax d:6"));
  EXPECT_THAT(refusal(whole + "# comment\n"), HasSubstr("bad_syntax d:6"));
  EXPECT_THAT(refusal(whole + "signature rsa 00 00\n"), HasSubstr("bad_syntax d:6"));
  EXPECT_THAT(refusal(text_ + "signature\n"), HasSubstr("bad_syntax d:5"));
  EXPECT_EQ(Delta::parse(whole + "+evil.example\n", "d", kSignedKeys, id_of(1)).error().size(), 1U)
      << "asked for or not";
}

TEST_F(DeltaSignature, TheSignatureOfAnotherTextOrKeyIsNone) {
  const std::string line = signed_text(text_).substr(text_.size());
  EXPECT_THAT(refusal(text_ + "+evil.example\n" + line), HasSubstr("does not fit"));
  EXPECT_THAT(refusal(*sign_delta(text_, "d", other_)), HasSubstr("not trusted here"));
  const std::string both = *sign_delta(signed_text(text_), "d", other_);
  EXPECT_TRUE(load(both)) << both;
  EXPECT_EQ(*sign_delta(both, "d", key_), both) << "signed again by the same key";
}

TEST_F(DeltaSignature, AtMostEightStand) {
  std::string text = text_;
  for (int i = 0; i < 8; ++i) text = *sign_delta(text, "d", SigningKey::generate());
  EXPECT_EQ(sign_delta(text, "d", key_).error().code, Errc::limit);
  const std::string line = text.substr(text.rfind("signature"));
  EXPECT_THAT(refusal(text + line), HasSubstr("limit d:13: more than 8"));
}

TEST_F(DeltaSignature, AnEntryThatBeginsWithTheWordIsAnEntry) {
  const auto delta = load(signed_text(text_ + "+R signature x\n +signature.example\n"));
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->answer(OwnEntry("S signature.example").view()), DeltaAnswer::added);
}

TEST_F(DeltaSignature, OnlyAWholeDeltaIsSigned) {
  const auto good = folder_.write("good.delta", text_);
  EXPECT_TRUE(sign_delta_file(good, good, key_).empty());
  EXPECT_TRUE(Delta::load(good, kSignedKeys, id_of(1), {.trusted = &trusted_}));
  const auto bad = folder_.write("bad.delta", text_ + "?\n!\n");
  EXPECT_EQ(sign_delta_file(bad, bad, key_).size(), 2U);
  EXPECT_FALSE(Delta::load(bad, kSignedKeys, id_of(1), {.trusted = &trusted_}));
  EXPECT_EQ(sign_delta_file(folder_ / "none", folder_ / "none", key_).front().code, Errc::io);
}

struct SequenceRow {
  std::string_view name, rest;
  std::uint64_t sequence;  // 0: refused
};
class DeltaSequence : public testing::TestWithParam<SequenceRow> {};
TEST_P(DeltaSequence, IsAWordOfTheFirstLine) {
  const std::string text = Delta::first_line(id_of(1)) + std::string(GetParam().rest) + "\n+a.example\n";
  const auto delta = Delta::parse(text, "d", kSignedKeys, id_of(1));
  ASSERT_EQ(delta.has_value(), GetParam().sequence != 0);
  if (delta) {
    EXPECT_EQ(delta->sequence(), GetParam().sequence);
  }
}
INSTANTIATE_TEST_SUITE_P(
    Rules, DeltaSequence,
    testing::Values(SequenceRow{"One", " sequence=1", 1},
                    SequenceRow{"Largest", " sequence=18446744073709551615", 18446744073709551615U},
                    SequenceRow{"Zero", " sequence=0", 0}, SequenceRow{"Empty", " sequence=", 0},
                    SequenceRow{"TooLarge", " sequence=18446744073709551616", 0},
                    SequenceRow{"Sign", " sequence=+1", 0}, SequenceRow{"Hex", " sequence=0x1", 0},
                    SequenceRow{"MoreWords", " sequence=1 2", 0}, SequenceRow{"Unknown", " serial=1", 0}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(DeltaRoot, AKindTellsTheUrlOfTheRootFromTheWholeHost) {
  const auto delta =
      Delta::parse(Delta::first_line(id_of(1)) + "\n+U a.example/\n-U http://b.example/\n", "d", kSignedKeys, id_of(1));
  ASSERT_TRUE(delta) << texts_of(delta.error());
  EXPECT_EQ(delta->answer(OwnEntry("U a.example/").view()), DeltaAnswer::added);
  EXPECT_EQ(delta->answer(OwnEntry("S a.example").view()), DeltaAnswer::nothing);
  EXPECT_EQ(delta->answer(OwnEntry("U b.example/").view()), DeltaAnswer::removed);
  EXPECT_FALSE(Delta::parse(Delta::first_line(id_of(1)) + "\n+U a.example\n", "d", kSignedKeys, id_of(1)));
  EXPECT_FALSE(Delta::parse(Delta::first_line(id_of(1)) + "\n+D a.example/\n", "d", kSignedKeys, id_of(1)));
}

}  // namespace
}  // namespace bloomwall::filter
