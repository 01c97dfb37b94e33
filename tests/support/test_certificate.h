// A certificate made for one test, signed by itself: for one name and 127.0.0.1, for an hour unless told otherwise.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

namespace bloomwall::test {

struct TestCertificate {
  std::filesystem::path certificate, key;  // PEM
};
// Writes STEM.crt and STEM.key into the folder; the serial number is random, so no two are alike. Valid since a minute
// ago: with a `valid_for` of less than 0 it has expired.
TestCertificate make_certificate(const std::filesystem::path& folder, const std::string& stem, const std::string& name,
                                 std::chrono::seconds valid_for = std::chrono::hours(1));

}  // namespace bloomwall::test
