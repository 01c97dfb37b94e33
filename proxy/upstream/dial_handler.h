// Who is told what becomes of a dialled connection (connector.h), and is asked about each address before it is dialled.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/handles.h"

namespace bloomwall::proxy {

class Endpoint;
struct HttpError;

class DialHandler {
 public:
  // For each address right before it is dialled, but not for a parent's. May be called from within Connector::start().
  // Must not use the connector.
  virtual bool may_dial(const Endpoint& peer) = 0;
  virtual void on_connected(UniqueFd fd, const Endpoint& peer) = 0;
  virtual void on_dial_failed(const HttpError& error) = 0;

 protected:
  ~DialHandler() = default;
};

}  // namespace bloomwall::proxy
