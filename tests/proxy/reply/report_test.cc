// The form with which mistakes are reported: its ticket, its body, its page, and where the block page shows it.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>

#include "conf/sections.h"
#include "filter/policy/policy.h"
#include "proxy/reply/block_template.h"
#include "proxy/reply/replies.h"
#include "proxy/reply/report_form.h"
#include "proxy/reply/report_page.h"
#include "proxy/reply/report_ticket.h"

namespace bloomwall::proxy {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kMade = 1'800'000'000;
const std::string kClient = "192.0.2.7";

ReportFacts shop() {
  return {.url = "http://shop.test/a?b=1",
          .expression = "S shop.test",
          .decision_id = "0123456789ABCDEF",
          .host = "shop.test",
          .filter = "ads",
          .reason = "listed",
          .group = "pupils",
          .user = "anna",
          .client = "192.0.2.7"};
}

class ReportTicket : public testing::Test {
 protected:
  const ReportTickets tickets_{ReportTickets::Key{1, 2, 3}};
};

TEST_F(ReportTicket, SaysWhatWasSealedInIt) {
  const auto opened = tickets_.open(tickets_.make(shop(), kClient, kMade), kClient, kMade + 5);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(*opened, shop());
  EXPECT_EQ(
      ReportTickets(ReportTickets::Key{1, 2, 3}).open(tickets_.make(shop(), kClient, kMade), kClient, kMade).value(),
      shop())
      << "another process with the same key";
}

TEST_F(ReportTicket, HoldsForADayAndAfterAStepOfTheClock) {
  const std::string ticket = tickets_.make(shop(), kClient, kMade);
  const std::int64_t day = ReportTickets::kHolds;
  EXPECT_TRUE(tickets_.open(ticket, kClient, kMade + day - 1).has_value());
  EXPECT_EQ(tickets_.open(ticket, kClient, kMade + day).error(), TicketFault::late);
  EXPECT_TRUE(tickets_.open(ticket, kClient, kMade - day + 1).has_value()) << "the clock was set back";
  EXPECT_EQ(tickets_.open(ticket, kClient, kMade - day).error(), TicketFault::late);
}

TEST_F(ReportTicket, IsForItsClientAlone) {
  const std::string ticket = tickets_.make(shop(), kClient, kMade);
  for (const char* const other : {"192.0.2.8", "192.0.2.70", "192.0.2.", ""}) {
    EXPECT_EQ(tickets_.open(ticket, other, kMade).error(), TicketFault::forged) << other;
  }
  EXPECT_EQ(ReportTickets(ReportTickets::Key{1, 2, 4}).open(ticket, kClient, kMade).error(), TicketFault::forged);
}

TEST_F(ReportTicket, ThatWasChangedAnywhereIsForged) {
  const std::string ticket = tickets_.make(shop(), kClient, kMade);
  for (std::size_t at = 0; at < ticket.size(); ++at) {
    std::string changed = ticket;
    changed[at] = changed[at] == 'A' ? 'Q' : 'A';  // of another value in each of the bits that count
    const auto opened = tickets_.open(changed, kClient, kMade);
    if (changed == ticket) continue;
    EXPECT_TRUE(!opened || *opened == shop()) << at;
    const bool is_last = at + 1 == ticket.size();  // some of whose bits count for nothing
    EXPECT_TRUE(is_last || !opened.has_value()) << at;
  }
  for (const std::string& cut : {ticket.substr(1), ticket.substr(0, ticket.size() - 4), std::string(), ticket + "AAAA",
                                 ticket + "=", "%" + ticket, std::string(9000, 'A')}) {
    EXPECT_EQ(tickets_.open(cut, kClient, kMade).error(), TicketFault::forged) << cut.size();
  }
}

TEST_F(ReportTicket, OfTheLongestFactsIsWithinItsBound) {
  ReportFacts facts = shop();
  facts.url = std::string(5000, 'u');
  facts.expression = std::string(5000, 'e');
  facts.host = facts.filter = facts.group = facts.user = facts.client = std::string(300, 'h');
  const std::string ticket = tickets_.make(facts, kClient, kMade);
  EXPECT_LE(ticket.size(), ReportTickets::kMaxTicket);
  const auto opened = tickets_.open(ticket, kClient, kMade);
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->url.size(), ReportFacts::kMaxUrl);
  EXPECT_EQ(opened->user.size(), ReportFacts::kMaxText);
}

TEST_F(ReportTicket, ThePageOfAReportIsFoundByItsTagAlone) {
  const std::string page = tickets_.page_of({.report = 12});
  EXPECT_TRUE(page.starts_with("12-"));
  EXPECT_EQ(tickets_.read_page(page), (ReportTickets::Page{.report = 12, .reporter = 0}));
  const std::string third = tickets_.page_of({.report = 12, .reporter = 3});
  EXPECT_TRUE(third.starts_with("12.3-"));
  EXPECT_EQ(tickets_.read_page(third), (ReportTickets::Page{.report = 12, .reporter = 3}));
  EXPECT_EQ(tickets_.read_page("12.4" + third.substr(4)), std::nullopt);
  EXPECT_EQ(tickets_.read_page("12.0" + page.substr(2)), std::nullopt);
  std::string other = page;
  other.replace(0, 2, "13");
  for (const std::string& wrong : {other, std::string("12"), std::string("12-"), page + "0", "0" + page,
                                   page.substr(0, page.size() - 1), std::string("0-"), std::string()}) {
    EXPECT_EQ(tickets_.read_page(wrong), std::nullopt) << wrong;
  }
}

TEST(ReportForm, IsReadAsBrowsersSendIt) {
  const auto form = read_report_form("ticket=a_-1&comment=It+is%20a+shop%0D%0A%C3%A4&name=&sent=yes");
  ASSERT_TRUE(form.has_value());
  EXPECT_EQ(form->ticket, "a_-1");
  EXPECT_EQ(form->comment, "It is a shop\r\n\xc3\xa4");
  EXPECT_EQ(form->name, "");
  for (const std::string& wrong :
       {std::string(), std::string("comment=a"), std::string("ticket="), std::string("ticket=a&ticket=b"),
        std::string("ticket=a&comment=%4"), std::string("ticket=a&comment=%zz"),
        "ticket=a&comment=" + std::string(ReportForm::kMaxBody, 'a')}) {
    EXPECT_FALSE(read_report_form(wrong).has_value()) << wrong.substr(0, 40);
  }
}

TEST(ReportForm, HasItsOwnPaths) {
  EXPECT_EQ(report_path("/report", false), "");
  EXPECT_EQ(report_path("/report?a=b", false), "");
  EXPECT_EQ(report_path("/report/12-a?b", false), "12-a");
  EXPECT_EQ(report_path("/.well-known/bloomwall/report/12-a", true), "12-a");
  for (const char* const other : {"/", "", "/reports", "/report2/1", "/a/report", "/.well-known/bloomwall/report"}) {
    EXPECT_FALSE(report_path(other, false).has_value()) << other;
  }
  EXPECT_FALSE(report_path("/report", true).has_value());
}

std::string page_text(const ReportPage& page, std::string_view accept) {
  std::string out;
  write_report_page(out, page, {.now = TimePoint(std::chrono::seconds(kMade)), .accept = accept});
  return out;
}

TEST(ReportPages, SayWhatTheReviewerSaysAndRunNothing) {
  ReportPage page{.says = ReportPage::Says::rejected,
                  .report = 12,
                  .link = "http://bloomwall.internal/report/12-aa",
                  .words = "<script>alert(1)</script> \"no\" \xc3\xa4"};
  const std::string html = page_text(page, "text/html");
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt; &quot;no&quot; \xc3\xa4"));
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, HasSubstr("form-action 'none'"));
  const std::string json = page_text(page, "application/json");
  const auto parsed = nlohmann::json::parse(json.substr(json.find("\r\n\r\n") + 4));
  EXPECT_EQ(parsed["report"], 12);
  EXPECT_EQ(parsed["state"], "rejected");
  EXPECT_EQ(parsed["words"], page.words);
  EXPECT_EQ(parsed["link"], page.link);
  EXPECT_THAT(page_text(page, "text/plain"), HasSubstr("The page stays blocked"));
}

TEST(ReportPages, HaveAStatusThatProgramsUnderstand) {
  using Says = ReportPage::Says;
  const std::vector<std::pair<Says, int>> wanted{
      {Says::nothing, 200},  {Says::taken, 201},   {Says::open, 200},        {Says::accepted, 200},
      {Says::rejected, 200}, {Says::cured, 200},   {Says::unknown, 404},     {Says::no_page, 404},
      {Says::late, 403},     {Says::refused, 403}, {Says::not_a_form, 400},  {Says::other_type, 415},
      {Says::often, 429},    {Says::full, 503},    {Says::unavailable, 503}, {Says::wrong_method, 405},
      {Says::ended, 200}};
  for (const auto& [says, status] : wanted) {
    EXPECT_EQ(status_of(says), status);
    EXPECT_THAT(page_text({.says = says}, ""), HasSubstr("HTTP/1.1 " + std::to_string(status) + " "));
  }
  EXPECT_THAT(page_text({.says = Says::often, .again_in = 1800}, ""), HasSubstr("\r\nRetry-After: 1800\r\n"));
  EXPECT_THAT(page_text({.says = Says::wrong_method}, ""), HasSubstr("\r\nAllow: GET, HEAD\r\n"));
  EXPECT_THAT(page_text({.says = Says::wrong_method, .takes_forms = true}, ""),
              HasSubstr("\r\nAllow: GET, HEAD, POST\r\n"));
  EXPECT_THAT(page_text({.says = Says::accepted, .report = 1, .until = "2027-01-15T08:00:00Z"}, ""),
              HasSubstr("It stays open until 2027-01-15T08:00:00Z."));
}

TEST(ReportPages, OfABlockedPageHaveTheFormWhereThereIsATicket) {
  filter::FilterSpec filter;
  filter.name = "ads";
  filter::Verdict verdict;
  verdict.decision = filter::Decision::blocked;
  verdict.reason = filter::VerdictReason::listed;
  verdict.filter = &filter;
  const conf::BlockPage settings;
  BlockReply block{.verdict = &verdict,
                   .url = "http://shop.test/",
                   .host = "shop.test",
                   .page = &settings,
                   .html = &BlockTemplate::built_in()};
  const ReplyContext context{.now = TimePoint(std::chrono::seconds(kMade)), .accept = "text/html"};
  std::string without;
  write_block_reply(without, block, context);
  EXPECT_THAT(without, Not(HasSubstr("<form")));
  EXPECT_THAT(without, HasSubstr("form-action 'none'"));
  block.report = {
      .action = "http://bloomwall.internal/report", .form_action = "http://bloomwall.internal", .ticket = "AbC"};
  std::string with;
  write_block_reply(with, block, context);
  EXPECT_THAT(with, HasSubstr("<form method=\"post\" action=\"http://bloomwall.internal/report\">"));
  EXPECT_THAT(with, HasSubstr("<input type=\"hidden\" name=\"ticket\" value=\"AbC\">"));
  EXPECT_THAT(with, HasSubstr("form-action http://bloomwall.internal;"));
  EXPECT_THAT(with, Not(HasSubstr("Set-Cookie")));
}

}  // namespace
}  // namespace bloomwall::proxy
