// Why a URL is stopped, or let pass by a white list, down to the lines of lists: which filters list it, by which
// expressions, and where these stand in the lists that the filters were built from. For `bloomwall why` and GET
// /api/v1/why.
// The lists are those in filters[].sources_folder, else the copies that `bloomwall update` keeps of filters[].sources,
// which are shown by their URLs, or others that are given. A filter's file names the digests of the
// lists that it was built from; so what is in none of these lists, though all of them were read, is an error of the
// filter itself, as every Bloom filter makes.
// Time: that of reading all lists of all filters that list the URL, once more for each other name of its connection.
// Pages of filters are waited for.
// Threads: any but a loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "conf/config.h"
#include "filter/builder/list_search.h"
#include "filter/policy/policy.h"

namespace bloomwall::proxy {

struct WhyFilter {
  enum class Source : std::uint8_t {
    list,       // lines
    delta,      // the filter's delta adds it
    own_error,  // in none of its lists, and all of them were read
    elsewhere,  // in none of the lists that were read, which are not all that it was built from, or other editions
    unknown,    // there are no lists to read
  };
  std::string name = {};
  filter::FilterAction action = filter::FilterAction::block;
  std::vector<std::string> expressions = {};  // "S shop.example"
  // Exceptions and entries of allow lists that free it from this filter alone: "S pay.shop.example".
  std::vector<std::string> freed_by = {};
  Source source = Source::unknown;
  std::vector<filter::SearchedList> lists = {};  // those with lines
  std::size_t searched = 0;                      // how many were read
};
const char* to_string(WhyFilter::Source source);

struct WhyAnswer {
  std::string url = {};
  bool is_url = true;                   // false: it cannot be asked for
  std::vector<WhyFilter> filters = {};  // that list it and block, monitor or allow, in their order
  // What the filters do not take of their lists, by reason and in the words of the list, as far as that is known: of
  // sources as they were fetched, of other lists as they were read for this answer. The URL may be among it.
  struct NotTaken {
    std::string filter = {}, list = {};
    std::string text = {};  // loss_text()

    bool operator==(const NotTaken&) const = default;
  };
  std::vector<NotTaken> not_taken = {};
  std::vector<std::string> errors = {};  // of lists that could not be read
  // For each other name of the connection, with what this answer does not say already.
  std::vector<WhyAnswer> under = {};
};

struct WhyQuestion {
  std::string url = {};
  std::vector<std::string> lists = {};  // instead of those in the folders; empty: those
  std::string filter = {};              // this one alone; empty: all
  std::vector<std::string> under = {};  // other names of the connection (under_name.h): each is asked about
  std::function<bool()> stop = {};      // asked from time to time
};
WhyAnswer why(const filter::Policy& policy, const conf::Config& settings, const WhyQuestion& question);

// {"url":"...","filters":[{"filter":"ads","action":"block","expressions":["S shop.example"],"freed_by":[],
//  "source":"list",
//  "searched":2,"lines":[{"list":"/var/lib/.../ads.txt","line":12,"text":"shop.example"}]}],
//  "not_taken":[{"filter":"ads","list":"https://...","text":"2 of 9 rules are not taken (22 %): ..."}],
//  "errors":[],"under":[]}
nlohmann::ordered_json to_json(const WhyAnswer& answer);
std::string why_text(const WhyAnswer& answer);  // for a terminal
bool is_explained(const WhyAnswer& answer);     // there are lines, or a delta, for each filter under each name
bool has_errors(const WhyAnswer& answer);

}  // namespace bloomwall::proxy
