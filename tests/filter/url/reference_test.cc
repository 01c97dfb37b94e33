// The canonicaliser against the plain reference implementation, on random URLs. BLOOMWALL_URL_CASES and
// BLOOMWALL_URL_SEED ask for more of them, or for others.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "filter/url/canonical_url.h"
#include "tests/filter/url/url_generator.h"

namespace bloomwall::filter {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

std::string reference_answer(const CanonicalUrl& url) {
  std::string out = fmt::format("{}\t{}\t", url.action == UrlAction::lookup ? "lookup" : "reject", url.text());
  for (std::size_t i = 1; i < url.forms.size(); ++i) out += (i > 1 ? " " : "") + url.text(i);
  return out;
}

// One line for each URL, or nothing where the reference could not be run.
std::vector<std::string> ask_reference(const std::vector<std::string>& urls) {
  const fs::path folder = testing::TempDir() + fmt::format("url_reference_{}", getpid());
  fs::create_directories(folder);
  {
    std::ofstream in(folder / "urls");
    for (const std::string& url : urls) in << hex(url) << '\n';
  }
  const std::string command =
      fmt::format("python3 {0}/tests/filter/url/reference_batch.py {0}/../shared/url < {1}/urls > {1}/answers",
                  BLOOMWALL_SOURCE_DIR, folder.string());
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c): fixed words of our own
  std::vector<std::string> answers;
  std::ifstream out(folder / "answers");
  for (std::string line; std::getline(out, line);) answers.push_back(line);
  fs::remove_all(folder);
  EXPECT_EQ(status, 0) << command;
  return answers;
}

std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

bool can_run_reference() {
  return fs::exists(BLOOMWALL_SOURCE_DIR "/../shared/url/reference.py") &&
         std::system("python3 --version >/dev/null 2>&1 && node --version >/dev/null 2>&1") == 0;
}

// Differences that are meant; all concern names beyond ASCII, and but for the last the host is rejected on both sides.
enum class Difference : std::uint8_t {
  none,
  fault,
  cut_by_browser,  // the reference hands such a name to a browser's whole URL parser, which cuts it at a '#' and drops
                   // blanks and control octets that came out of escapes; here the host keeps them
  empty_label,     // the browser refuses a number behind an empty label; the reference then drops that label, and its
                   // form is no fixed point; here the label goes first
  direction,       // a name that breaks the Bidi rule (RFC 5893) and that the reference lets pass is rejected here
};

std::string_view host_in(std::string_view reference_answer) {
  const std::size_t host = reference_answer.find("://") + 3;
  return reference_answer.substr(host, reference_answer.find('/', host) - host);
}

Difference compare(const CanonicalUrl& url, std::string_view expected) {
  if (reference_answer(url) == expected) return Difference::none;
  const bool both_reject = url.action == UrlAction::reject && expected.starts_with("reject");
  const bool kept_there = host_in(expected).find('%') != std::string_view::npos;
  if (!url.has_canonical) return Difference::fault;
  if (url.host_kind == HostKind::ipv4) return both_reject && kept_there ? Difference::empty_label : Difference::fault;
  bool kept_here = false;
  bool dropped_octet = false;
  for (std::size_t at = url.host.find('%'); at != std::string_view::npos; at = url.host.find('%', at + 1)) {
    const std::string_view digits = url.host.substr(at + 1, 2);
    kept_here = kept_here || digits >= "80";
    dropped_octet = dropped_octet || digits <= "20" || digits == "23";
  }
  if (kept_here && dropped_octet) return both_reject ? Difference::cut_by_browser : Difference::fault;
  const bool a_label_there = host_in(expected).find("xn--") != std::string_view::npos;
  return kept_here && a_label_there && url.action == UrlAction::reject ? Difference::direction : Difference::fault;
}

TEST(ReferenceTest, AgreesOnRandomUrls) {
  if (!can_run_reference()) GTEST_SKIP() << "needs ../shared/url/reference.py, python3 and node";
  const std::uint64_t seed = setting("BLOOMWALL_URL_SEED", 20240607);
  const std::uint64_t cases = setting("BLOOMWALL_URL_CASES", 24000);
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::printf("seed %llu, %llu cases\n", static_cast<unsigned long long>(seed), static_cast<unsigned long long>(cases));
  UrlGenerator generator(seed);
  std::vector<std::string> urls;
  urls.reserve(cases);
  for (std::uint64_t i = 0; i < cases; ++i) urls.push_back(i % 2 == 0 ? generator.url() : generator.nearly_canonical());
  const std::vector<std::string> expected = ask_reference(urls);
  ASSERT_EQ(expected.size(), urls.size());
  Canonicaliser canonicaliser;
  int faults = 0;
  std::uint64_t rare = 0;
  for (std::size_t i = 0; i < urls.size() && faults < 20; ++i) {
    const CanonicalUrl& url = canonicaliser.url(urls[i]);
    const Difference difference = compare(url, expected[i]);
    if (difference == Difference::direction) ++rare;
    if (difference != Difference::fault) continue;
    ++faults;
    ADD_FAILURE() << urls[i] << "\n  " << hex(urls[i]) << "\n  reference " << expected[i] << "\n  here      "
                  << reference_answer(url) << "  " << to_string(url.reason);
  }
  EXPECT_LE(rare, 1 + cases / 10000) << "names that break the Bidi rule must stay rare, or idna.cc is broken";
}

}  // namespace
}  // namespace bloomwall::filter
