// SPDX-License-Identifier: Apache-2.0
#include "proxy/reply/accept.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace bloomwall::proxy::http_test {
namespace {

TEST(ChooseMedia, FollowsQualityAndSpecificity) {
  struct Row {
    std::string_view accept;
    MediaType want;
  };
  const Row rows[] = {
      {"", MediaType::html},
      {" , ,", MediaType::text},
      {"*/*", MediaType::text},
      {"text/html", MediaType::html},
      {"application/xhtml+xml", MediaType::html},
      {"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", MediaType::html},
      {"image/avif,image/webp,*/*;q=0.8", MediaType::text},
      {"text/css,*/*;q=0.1", MediaType::text},
      {"text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", MediaType::html},
      {"application/json", MediaType::json},
      {"APPLICATION/JSON; charset=utf-8", MediaType::json},
      {"application/json, text/plain, */*", MediaType::json},
      {"application/*", MediaType::json},
      {"text/html;q=0.5, application/json", MediaType::json},
      {"text/html, application/json;q=0.9", MediaType::html},
      {"text/html, application/json", MediaType::html},
      {"application/json;q=0, */*", MediaType::text},
      {"text/html;q=0, */*", MediaType::text},
      {"text/plain", MediaType::text},
      {"text/*", MediaType::text},
      {"text/*;q=0.5, text/html;q=0.1", MediaType::text},
      {"text/plain;q=0.9, text/html;q=0.8", MediaType::text},
      {"image/png", MediaType::text},
      {"*/*;q=0", MediaType::text},
      {"application/json;q=nonsense", MediaType::text},
      {"application/json;q=1.0000", MediaType::text},
      {"application/json;q=0.001, text/html;q=0.0", MediaType::json},
      {"application/json;x=\"a,b\";q=0.1, text/html;q=0.2", MediaType::html},
  };
  for (const Row& row : rows) EXPECT_EQ(choose_media(row.accept), row.want) << row.accept;
}

TEST(ChooseMedia, ReadsABoundedNumberOfRanges) {
  std::string many;
  for (int i = 0; i < 64; ++i) many += "image/png,";
  EXPECT_EQ(choose_media(many + "text/html"), MediaType::text);
}

TEST(ContentType, NamesTheCharset) {
  EXPECT_EQ(content_type(MediaType::html), "text/html; charset=utf-8");
  EXPECT_EQ(content_type(MediaType::json), "application/json");
  EXPECT_EQ(content_type(MediaType::text), "text/plain; charset=utf-8");
}

}  // namespace
}  // namespace bloomwall::proxy::http_test
