// Intermediate certificates for origins that do not send theirs, out of whatever text has them in PEM form, such as the
// CSV files of the Common CA Database. They anchor nothing, wherever they come from: they are candidates of a path,
// which ends at a root as any other. Only CA certificates that lead to a trusted root are taken all the same, so that a
// source can neither fill memory nor make the search for a path dear.
//
//   IntermediateChoice choice(**verifier);
//   choice.add(text), choice.add(other_text);  // texts need not outlive the calls
//   const auto chosen = choice.choose();
//
// Errors: one line, without the name of a file.
// Memory: what of the texts may be chosen, kMostIntermediatesFile of text at most, some times that once parsed.
// Threads: one. Cost: 0.3 ms a certificate, and a signature. Not for an event loop.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "proxy/tls/certificates.h"
#include "proxy/tls/handles.h"
#include "proxy/tls/origin_verifier.h"

namespace bloomwall::proxy {

inline constexpr std::size_t kMostIntermediates = 10'000;                     // of all texts together
inline constexpr std::size_t kMostIntermediatesFile = std::size_t{64} << 20;  // octets, of one text and of what is made

struct ChosenIntermediates {
  std::string pem = {};
  std::size_t taken = 0;
  // Other blocks: certificates that do not parse, are no CA's, are not valid now, have weak keys, are roots, or lead to
  // no root; and those that are there twice.
  std::size_t left_out = 0;
};
// How many PEM blocks of certificates stand in it, wherever in a line.
std::size_t count_certificates(std::string_view text);

class IntermediateChoice {
 public:
  explicit IntermediateChoice(const OriginVerifier& roots);

  // The certificates of one more text. Error: with it there are more than kMostIntermediates, or those of CAs are over
  // kMostIntermediatesFile; nothing can be chosen then.
  tl::expected<void, std::string> add(std::string_view text);
  // Once, after the last text.
  ChosenIntermediates choose();

 private:
  bool take(X509* certificate);
  bool leads_to_root(X509* certificate) const;

  X509StorePtr store_;
  std::int64_t now_;
  std::vector<X509Ptr> offered_, taken_;
  IntermediatePool pool_{kMostIntermediates};
  std::size_t blocks_ = 0, offered_octets_ = 0;
};

}  // namespace bloomwall::proxy
