// What is peculiar to a request that nobody forwards: another program has described it and asks for the verdict
// (proxy/answers). It is judged, limited, counted and logged as any request; what may pass gets an answer without a
// body.
// Thread: the worker's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "proxy/auth/user.h"

namespace bloomwall::proxy {

struct HttpError;
class KeptVerdict;
struct RequestHead;

class AskedQuestion {
 public:
  struct Outcome {
    int status = 0;                    // of the answer
    const KeptVerdict& verdict;        // of the filters
    const HttpError* error = nullptr;  // why it was refused, or could not be judged; nullptr: by the verdict alone
    std::string_view decision_id = {};
  };

  virtual UserPtr user() const = 0;  // for whom it is asked; nullptr: nobody is named. No login is asked for
  virtual std::span<const RequestHead> other_readings() const = 0;  // of the request, which are judged as well
  virtual int pass_status() const = 0;                              // of the answer to what may pass: 204 or 200
  virtual void note_outcome(const Outcome& outcome) = 0;            // before ClientStream::finish(); valid for the call

 protected:
  ~AskedQuestion() = default;
};

}  // namespace bloomwall::proxy
