// A certificate made for one test, signed by itself: valid for an hour, for one name and 127.0.0.1.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace bloomwall::test {

struct TestCertificate {
  std::filesystem::path certificate, key;  // PEM
};
// Writes STEM.crt and STEM.key into the folder; the serial number is random, so no two are alike.
TestCertificate make_certificate(const std::filesystem::path& folder, const std::string& stem, const std::string& name);

}  // namespace bloomwall::test
