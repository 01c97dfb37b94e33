// A verdict that may outlive the policy it came from: what is needed of the filter that matched is copied, where one
// did.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "filter/policy/verdict.h"

namespace bloomwall::proxy {

class KeptVerdict : public filter::Verdict {
 public:
  KeptVerdict();
  KeptVerdict(filter::Verdict verdict);  // NOLINT: they are one and the same
  ~KeptVerdict();
  KeptVerdict(KeptVerdict&&) noexcept;
  KeptVerdict& operator=(KeptVerdict&&) noexcept;

  // Another verdict that the same request needs: the worse of the two counts, and of two that allow it the one that has
  // a reason. Marks of either count. The exemption from decryption is this verdict's, and does not
  // hold where the other one has marks.
  void join(KeptVerdict other);

  std::string group = {};  // of the client whose verdict it is; empty: there are none

 private:
  std::unique_ptr<filter::FilterSpec> matched_;
};

}  // namespace bloomwall::proxy
