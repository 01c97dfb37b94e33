// What a reload takes over from the policy before, and what it must not. Bytes are counted by the kernel: what this
// process read by system calls (rchar of /proc/self/io); the filters are mapped, but every verification and copy reads.
// SPDX-License-Identifier: Apache-2.0
#include "filter/policy/filter_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "filter/file/signature.h"
#include "filter/policy/delta_signature.h"
#include "filter/url/canonical_url.h"
#include "tests/filter/policy/filter_maker.h"

namespace bloomwall::filter {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using PolicyPtr = std::shared_ptr<const Policy>;

constexpr std::uint64_t kLargePages = 20'000;  // 80 MB: too large for a copy in memory
constexpr std::uint64_t kLittle = std::uint64_t{1} << 20;

std::uint64_t bytes_read() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "rchar:") return value;
  }
  return 0;
}

class FilterStoreTest : public testing::Test {
 protected:
  FilterSpec filter(const std::string& name, const std::vector<std::string>& entries, std::uint64_t pages = 8) {
    FilterSpec spec;
    spec.name = name;
    spec.file = folder_ / (name + ".bwf");
    make_filter(spec.file, {.entries = entries, .host_pages = pages});
    return spec;
  }
  void sign(const FilterSpec& spec) const { ASSERT_TRUE(sign_filter(spec.file, spec.file, key_)); }
  void write_delta(FilterSpec& spec, const std::string& changes) {
    const std::string text = Delta::first_line(content_of(spec.file), ++sequence_) + "\n" + changes;
    spec.delta = folder_.write("next", *sign_delta(text, "next", key_));
    std::filesystem::rename(spec.delta, folder_ / (spec.name + ".delta"));
    spec.delta = folder_ / (spec.name + ".delta");
  }
  PolicyPtr load(const PolicySpec& spec) { return load(spec, served()); }
  PolicyPtr load(const PolicySpec& spec, const Policy::LoadOptions& options) {
    auto policy = store_.load(spec, options);
    EXPECT_TRUE(policy) << texts_of(policy.error());
    return policy ? *std::move(policy) : nullptr;
  }
  std::string refusal(const PolicySpec& spec) {
    const auto policy = store_.load(spec, served());
    return policy ? "taken" : texts_of(policy.error());
  }
  static Policy::LoadOptions served() { return {.make_resident = true, .own_copies = true, .progress = {}}; }
  static const FilterFile* file_of(const PolicyPtr& policy, std::size_t i = 0) { return policy->filters()[i].file; }
  std::string say(const PolicyPtr& policy, std::string_view host) {
    return to_string(policy->judge(canonicaliser_.url(host)).reason);
  }
  // Inodes of mapped files whose names contain this.
  static std::size_t mapped(const std::string& name) {
    std::ifstream maps("/proc/self/maps");
    std::set<std::string> inodes;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(name) == std::string::npos) continue;
      std::istringstream words(line);
      std::string range, rights, offset, device, inode;
      words >> range >> rights >> offset >> device >> inode;
      inodes.insert(inode);
    }
    return inodes.size();
  }
  static void overwrite(const std::filesystem::path& file, std::streamoff offset) {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(offset);
    out << "overwritten";
  }

  TempFolder folder_;
  const SigningKey key_ = SigningKey::generate();
  FilterStore store_;
  Canonicaliser canonicaliser_;
  std::uint64_t sequence_ = 0;
};

TEST_F(FilterStoreTest, OneMoreLineBesideALargeSignedFilterReadsNextToNothingOfIt) {
  ASSERT_TRUE(key_.write(folder_ / "a.key", folder_ / "a.pub"));
  PolicySpec spec{.filters = {filter("large", {"S bad.test", "S worse.test"}, kLargePages)}, .allow_lists = {}};
  spec.filters[0].public_key = folder_ / "a.pub";
  sign(spec.filters[0]);
  write_delta(spec.filters[0], "+first.test\n");
  spec.allow_lists = {folder_.write("allow", "good.test\n")};
  const std::uint64_t start = bytes_read();
  const PolicyPtr first = load(spec);
  ASSERT_GT(bytes_read() - start, kLargePages * kPageBytes);
  folder_.write("allow", "good.test\nbad.test\n");
  const std::uint64_t before = bytes_read();
  const PolicyPtr second = load(spec);
  EXPECT_LT(bytes_read() - before, kLittle);
  EXPECT_EQ(file_of(second), file_of(first));
  EXPECT_EQ(say(second, "bad.test"), "allow_list");
  EXPECT_EQ(say(second, "worse.test"), "listed");
  EXPECT_EQ(second->filters()[0].signed_by, key_.id());
  write_delta(spec.filters[0], "+first.test\n+second.test\n");
  const std::uint64_t before_delta = bytes_read();
  const PolicyPtr third = load(spec);
  EXPECT_LT(bytes_read() - before_delta, kLittle);
  EXPECT_EQ(file_of(third), file_of(first));
  EXPECT_EQ(say(third, "second.test"), "delta");
  EXPECT_EQ(say(second, "second.test"), "unlisted") << "what was loaded before is as it was";
  EXPECT_EQ(third->filters()[0].delta_sequence, 2U);
}

TEST_F(FilterStoreTest, TenViewsOverOneFilterMapItOnce) {
  const FilterSpec shared = filter("viewed", {"S bad.test", "S worse.test"}, kLargePages);
  std::vector<PolicyPtr> views;
  for (int i = 0; i < 10; ++i) {
    FilterSpec spec = shared;
    spec.name = "view" + std::to_string(i);
    spec.action = i % 2 == 0 ? FilterAction::block : FilterAction::monitor;
    const auto allow = folder_.write("allow" + std::to_string(i), i == 7 ? "bad.test @view7\n" : "");
    const std::uint64_t before = bytes_read();
    views.push_back(load({.filters = {spec}, .allow_lists = {allow}}));
    if (i > 0) {
      EXPECT_LT(bytes_read() - before, kLittle);
    }
    EXPECT_EQ(file_of(views.back()), file_of(views.front()));
  }
  EXPECT_EQ(mapped("viewed.bwf"), 1U);
  const auto decision = [&](std::size_t view) { return views[view]->judge(canonicaliser_.url("bad.test")).decision; };
  EXPECT_EQ(decision(2), Decision::blocked);
  EXPECT_EQ(decision(3), Decision::monitored);
  EXPECT_EQ(decision(7), Decision::allowed);
  EXPECT_EQ(views[2]->judge(canonicaliser_.url("bad.test")).filter->name, "view2");
}

TEST_F(FilterStoreTest, HoldsNothingThatNoPolicyHolds) {
  const FilterSpec spec = filter("held", {"S bad.test"}, kLargePages);
  PolicyPtr policy = load({.filters = {spec}, .allow_lists = {}});
  EXPECT_EQ(mapped("held.bwf"), 1U);
  policy.reset();
  EXPECT_EQ(mapped("held.bwf"), 0U);
}

TEST_F(FilterStoreTest, AFileThatWasReplacedIsReadAnew) {
  const FilterSpec spec = filter("f", {"S old.test"});
  const PolicyPtr first = load({.filters = {spec}, .allow_lists = {}});
  make_filter(spec.file, {.entries = {"S new.test"}});
  const PolicyPtr second = load({.filters = {spec}, .allow_lists = {}});
  EXPECT_NE(file_of(second), file_of(first));
  EXPECT_EQ(say(second, "new.test"), "listed");
  EXPECT_EQ(say(first, "old.test"), "listed");
}

// What is served from a copy was verified; a file that says by its header that it is the same one need not be read.
TEST_F(FilterStoreTest, AFileIsKnownByItsHeader) {
  constexpr std::uint64_t kPages = 10'000;  // 40 MB: copied to memory
  const FilterSpec spec = filter("f", {"S bad.test"}, kPages);
  const PolicyPtr first = load({.filters = {spec}, .allow_lists = {}});
  ASSERT_NE(file_of(first)->served_from(), ServedFrom::original);
  const auto other = folder_ / "other";
  const std::vector<std::pair<const char*, std::function<void()>>> same = {
      {"a hard link", [&] { std::filesystem::create_hard_link(spec.file, other); }},
      {"the other link removed", [&] { std::filesystem::remove(other); }},
      {"a copy renamed over it",
       [&] {
         std::filesystem::copy_file(spec.file, other);
         std::filesystem::rename(other, spec.file);
       }},
      {"a symbolic link", [&] {
         std::filesystem::rename(spec.file, other);
         std::filesystem::create_symlink(other, spec.file);
       }}};
  for (const auto& [what, change] : same) {
    change();
    const std::uint64_t before = bytes_read();
    const PolicyPtr next = load({.filters = {spec}, .allow_lists = {}});
    EXPECT_LT(bytes_read() - before, kLittle) << what;
    EXPECT_EQ(file_of(next), file_of(first)) << what;
  }
  std::filesystem::resize_file(other, std::filesystem::file_size(other) - 1);
  EXPECT_NE(refusal({.filters = {spec}, .allow_lists = {}}), "taken") << "it has the header and not the size";
}

TEST_F(FilterStoreTest, FilesInsteadServeWhereTheOthersCannot) {
  FilterSpec good = filter("good", {"S good.test"});
  write_delta(good, "+added.test\n");
  FilterSpec spec = filter("f", {"S bad.test"});
  spec.delta = good.delta;  // which does not fit
  const PolicySpec without{.filters = {spec}, .allow_lists = {}};
  EXPECT_THAT(refusal(without), HasSubstr("wrong_base"));
  spec.instead = FilterFiles{.file = good.file, .delta = good.delta, .exact = {}};
  const PolicyPtr policy = load({.filters = {spec}, .allow_lists = {}});
  ASSERT_TRUE(policy);
  const auto state = policy->filters()[0];
  ASSERT_EQ(state.refused.size(), 1U);
  EXPECT_EQ(state.refused[0].code, Errc::wrong_base);
  EXPECT_EQ(state.spec.file, spec.file) << "as it is configured";
  EXPECT_EQ(say(policy, "good.test"), "listed");
  EXPECT_EQ(say(policy, "added.test"), "delta");
  spec.instead->file = spec.file;
  EXPECT_THAT(refusal({.filters = {spec}, .allow_lists = {}}), HasSubstr("wrong_base")) << "neither can be";
  auto options = served();
  options.refuses = [&](const Policy::FilterState& each) {
    return each.file->path() == good.file ? std::vector<Error>{}
                                          : std::vector<Error>{{Errc::outdated, each.file->path().string(), "old"}};
  };
  spec.delta.clear();
  spec.instead->file = good.file;
  const PolicyPtr newer = load({.filters = {spec}, .allow_lists = {}}, options);
  ASSERT_TRUE(newer);
  EXPECT_EQ(newer->filters()[0].refused[0].code, Errc::outdated);
}

TEST_F(FilterStoreTest, AFileThatIsWrittenToInPlaceIsNotBelieved) {
  for (const bool is_served_itself : {true, false}) {
    const FilterSpec spec = filter("f", {"S bad.test"}, is_served_itself ? kLargePages : 8);
    const PolicyPtr first = load({.filters = {spec}, .allow_lists = {}});
    ASSERT_EQ(file_of(first)->served_from() == ServedFrom::original, is_served_itself);
    const auto written = std::filesystem::last_write_time(spec.file);
    overwrite(spec.file, 9000);
    // Nobody can set back the ctime. Of a copy it does not matter: what is served was verified.
    if (is_served_itself) std::filesystem::last_write_time(spec.file, written);
    EXPECT_THAT(refusal({.filters = {spec}, .allow_lists = {}}), HasSubstr("bad_digest")) << is_served_itself;
  }
}

TEST_F(FilterStoreTest, AFileThatIsLostIsNeverTakenOver) {
  const FilterSpec spec = filter("f", {"S bad.test"}, kLargePages);
  const PolicyPtr first = load({.filters = {spec}, .allow_lists = {}});
  file_of(first)->mark_lost();
  const PolicyPtr second = load({.filters = {spec}, .allow_lists = {}});
  EXPECT_NE(file_of(second), file_of(first));
  EXPECT_EQ(say(second, "bad.test"), "listed");
}

TEST_F(FilterStoreTest, OtherTermsAreAnotherFile) {
  FilterSpec spec = filter("f", {"S bad.test"});
  const PolicyPtr first = load({.filters = {spec}, .allow_lists = {}});
  const auto with = [&](const Policy::LoadOptions& options) {
    return load({.filters = {spec}, .allow_lists = {}}, options);
  };
  const PolicyPtr same = with(served());
  EXPECT_EQ(file_of(same), file_of(first));
  const PolicyPtr unverified = with({.verify = false, .progress = {}});
  EXPECT_NE(file_of(unverified), file_of(first));
  overwrite(spec.file, 9000);
  EXPECT_THAT(refusal({.filters = {spec}, .allow_lists = {}}), HasSubstr("bad_digest")) << "it was not verified";
  spec = filter("f", {"S bad.test"});
  const PolicyPtr again = with(served());
  spec.memory = MemoryUse::paged;
  const PolicyPtr paged = with(served());
  EXPECT_NE(file_of(paged), file_of(again));
}

// What was signed by a key that is trusted no more is refused, read or not.
TEST_F(FilterStoreTest, TrustIsAskedForEachTime) {
  ASSERT_TRUE(key_.write(folder_ / "a.key", folder_ / "a.pub"));
  const SigningKey other = SigningKey::generate();
  ASSERT_TRUE(other.write(folder_ / "b.key", folder_ / "b.pub"));
  PolicySpec spec{.filters = {filter("f", {"S bad.test"})}, .allow_lists = {}};
  write_delta(spec.filters[0], "+first.test\n");
  const PolicyPtr unasked = load(spec);
  spec.filters[0].public_key = folder_ / "a.pub";
  EXPECT_THAT(refusal(spec), HasSubstr("untrusted " + spec.filters[0].file.string()));
  sign(spec.filters[0]);
  write_delta(spec.filters[0], "+first.test\n");
  const PolicyPtr trusted = load(spec);
  EXPECT_EQ(load(spec)->filters()[0].signed_by, key_.id());
  std::filesystem::copy_file(folder_ / "b.pub", folder_ / "a.pub", std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(spec), AllOf(HasSubstr("untrusted " + spec.filters[0].file.string()),
                                   HasSubstr("untrusted " + spec.filters[0].delta.string())));
}

TEST_F(FilterStoreTest, ALoadThatFailsTakesNothingAway) {
  PolicySpec spec{.filters = {filter("f", {"S bad.test"}, kLargePages)}, .allow_lists = {}};
  write_delta(spec.filters[0], "+first.test\n");
  spec.allow_lists = {folder_.write("allow", "good.test\n")};
  const PolicyPtr first = load(spec);
  folder_.write("allow", "good.test\nhttp://\n");
  EXPECT_THAT(refusal(spec), HasSubstr("allow:2: "));
  write_delta(spec.filters[0], "+second.test\n");
  EXPECT_THAT(refusal(spec), HasSubstr("allow:2: "));
  folder_.write("allow", "good.test\nbetter.test\n");
  const PolicyPtr second = load(spec);
  EXPECT_EQ(file_of(second), file_of(first));
  EXPECT_EQ(say(second, "second.test"), "delta");
  EXPECT_EQ(second->allow_entries(), 2U);
}

TEST_F(FilterStoreTest, ADeltaOfAnotherBuildIsRefusedAlthoughItsFileIsTheSame) {
  PolicySpec spec{.filters = {filter("f", {"S bad.test"})}, .allow_lists = {}};
  write_delta(spec.filters[0], "+first.test\n");
  const PolicyPtr first = load(spec);
  make_filter(spec.filters[0].file, {.entries = {"S other.test"}});
  EXPECT_THAT(refusal(spec), HasSubstr("wrong_base"));
}

TEST_F(FilterStoreTest, AnExactSideIsSharedToo) {
  const std::filesystem::path data = std::filesystem::path(BLOOMWALL_SOURCE_DIR) / "tests/data";
  for (const char* name : {"golden_v1_exact.bwf", "golden_v1_exact.bwx"}) {
    std::filesystem::copy_file(data / name, folder_ / name);
  }
  FilterSpec spec{.name = "f", .file = folder_ / "golden_v1_exact.bwf", .delta = {}};
  spec.exact = folder_ / "golden_v1_exact.bwx";
  const auto exact_of = [](const PolicyPtr& policy) { return policy->filters()[0].exact; };
  const PolicyPtr first = load({.filters = {spec}, .allow_lists = {}});
  const PolicyPtr second = load({.filters = {spec}, .allow_lists = {}});
  EXPECT_EQ(exact_of(second), exact_of(first));
  exact_of(first)->mark_lost();
  const PolicyPtr third = load({.filters = {spec}, .allow_lists = {}});
  EXPECT_NE(exact_of(third), exact_of(first));
  EXPECT_FALSE(exact_of(third)->lost());
}

TEST_F(FilterStoreTest, FiltersOfAllowListsAreToldApartByTheirOrder) {
  PolicySpec spec{.filters = {filter("a", {"S bad.test"}), filter("b", {"S bad.test"})}, .allow_lists = {}};
  spec.allow_lists = {folder_.write("allow", "bad.test @a\n")};
  const PolicyPtr first = load(spec);
  EXPECT_EQ(first->judge(canonicaliser_.url("bad.test")).filter->name, "b");
  std::swap(spec.filters[0], spec.filters[1]);
  const PolicyPtr second = load(spec);
  EXPECT_EQ(second->judge(canonicaliser_.url("bad.test")).filter->name, "b");
}

}  // namespace
}  // namespace bloomwall::filter
