// What a new exception can do, by filters and groups that are really loaded.
// SPDX-License-Identifier: Apache-2.0
#include "proxy/explain/exception_review.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "proxy/reload/loading.h"
#include "tests/support/site.h"

namespace bloomwall::proxy {
namespace {

using filter::Override;
using testing::ElementsAre;
using testing::HasSubstr;

class ExceptionReviewTest : public testing::Test {
 protected:
  ExceptionReviewTest() {
    site_.make_filter({"S listed.example.test", "S both.test", "D pages.example.test/dir/"});
    filter::make_filter(site_.dir.path() / "malware.bwf", {.entries = {"S both.test", "S bad.test", "N 192.0.2.0/24"}});
    filter::make_filter(site_.dir.path() / "law.bwf", {.entries = {"S law.test", "N 192.0.2.0/24"}});
    filter::make_filter(site_.dir.path() / "white.bwf", {.entries = {"S school.test"}});
    const auto config =
        site_.dir.write("bloomwall.yaml",
                        "listeners: [{address: \"127.0.0.1:0\"}]\nstate_dir: null\n"
                        "filters:\n- {name: white, file: white.bwf, action: allow}\n- {name: ads, file: ads.bwf}\n"
                        "- {name: malware, file: malware.bwf}\n- {name: law, file: law.bwf, exceptions: refused}\n"
                        "groups:\n- {name: pupils, clients: [10.0.0.0/8], otherwise: deny}\n");
    const auto settings = load_settings(config);
    EXPECT_TRUE(settings.has_value());
    const auto loaded = load_edition(*settings, {}, 1);
    EXPECT_TRUE(loaded.has_value()) << loaded.error().lines.front();
    served_ = loaded->at(instant_now());
  }
  static Override made(Override::Action action, std::string_view entry, std::vector<std::string> filters = {}) {
    Override out;
    out.action = action;
    out.filters = std::move(filters);
    EXPECT_TRUE(filter::read_override(entry, out).has_value()) << entry;
    return out;
  }
  static Override allow(std::string_view entry, std::vector<std::string> filters = {}) {
    return made(Override::Action::allow, entry, std::move(filters));
  }
  // The filters that it names in the end; nothing: none can be named.
  std::optional<std::vector<std::string>> widened(Override exception, const std::string& group = {},
                                                  const std::optional<filter::AddressRange>& network = {}) const {
    if (!review_.widen(exception, group, network)) return std::nullopt;
    return exception.filters;
  }

  test::Site site_;
  Edition served_;
  const ExceptionReview review_{served_, nullptr};
};

TEST_F(ExceptionReviewTest, AnAllowIsRefusedWhereItsFilterTakesNone) {
  EXPECT_EQ(review_.refusal(allow("listed.example.test")), "");
  EXPECT_EQ(review_.refusal(allow("unlisted.test")), "");
  EXPECT_THAT(review_.refusal(allow("law.test")), HasSubstr("the filter law takes no exceptions"));
  EXPECT_THAT(review_.refusal(allow("listed.example.test", {"law"})), HasSubstr("the filter law takes no exceptions"));
  EXPECT_EQ(review_.refusal(allow("law.test", {"ads"})), "") << "which says that law stays";
  EXPECT_EQ(review_.refusal(made(Override::Action::deny, "law.test")), "");
}

TEST_F(ExceptionReviewTest, AnExceptionForAGroupThatDoesNotExistIsRefused) {
  Override exception = made(Override::Action::deny, "a.test");
  exception.group = "teachers";
  EXPECT_THAT(review_.refusal(exception), HasSubstr("there is no group teachers; there are pupils"));
  exception.group = "pupils";
  EXPECT_EQ(review_.refusal(exception), "");
}

TEST_F(ExceptionReviewTest, WidenNamesEachOtherFilterThatWouldBlock) {
  EXPECT_THAT(widened(allow("both.test", {"ads"})), testing::Optional(ElementsAre("ads", "malware")));
  EXPECT_THAT(widened(allow("listed.example.test", {"ads"})), testing::Optional(ElementsAre("ads")));
  EXPECT_THAT(widened(allow("law.test", {"law"})), testing::Optional(ElementsAre("law"))) << "it ends all the same";
}

TEST_F(ExceptionReviewTest, WidenNamesNoneWhereWhatIsOnNoListIsStopped) {
  EXPECT_EQ(widened(allow("unlisted.test", {"ads"}), "pupils"), std::nullopt);
  EXPECT_THAT(widened(allow("unlisted.test", {"ads"})), testing::Optional(ElementsAre("ads"))) << "in no group";
}

TEST_F(ExceptionReviewTest, WidenNamesFiltersOfTheNetworkThatTakeExceptions) {
  const filter::AddressRange network = filter::range_of(*IpAddress::parse("192.0.2.7"));
  EXPECT_THAT(widened(allow("listed.example.test", {"ads"}), {}, network),
              testing::Optional(ElementsAre("ads", "malware")));
}

TEST_F(ExceptionReviewTest, ItWarnsOfWhatCannotHaveAnEffect) {
  EXPECT_THAT(review_.warnings(allow("a.test", {"ads", "gone"})), ElementsAre("no filter has the name gone"));
  EXPECT_THAT(review_.warnings(made(Override::Action::deny, "http://a.test/b")),
              ElementsAre(HasSubstr("a path is not seen inside https tunnels")));
  EXPECT_THAT(review_.warnings(allow("http://listed.example.test/b")),
              ElementsAre(HasSubstr("stay blocked by ads: over https this opens nothing")));
  Override exception = allow("a.test");
  exception.group = "gone";
  EXPECT_THAT(review_.fault(exception), HasSubstr("there is no group gone"));
  EXPECT_THAT(review_.warnings(exception), ElementsAre(review_.fault(exception)));
}

TEST_F(ExceptionReviewTest, WhileNothingIsServedNothingIsFaulted) {
  const Edition nothing;
  const ExceptionReview review(nothing, nullptr);
  Override exception = allow("law.test", {"gone"});
  exception.group = "gone";
  EXPECT_EQ(review.refusal(exception), "");
  EXPECT_EQ(review.fault(exception), "");
  EXPECT_TRUE(review.warnings(exception).empty());
  EXPECT_TRUE(review.widen(exception, "", {}));
}

}  // namespace
}  // namespace bloomwall::proxy
