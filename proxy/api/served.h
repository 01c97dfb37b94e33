// What the API sees of the daemon: what is served, and the way by which a change of the state comes to be served.
// Publisher (proxy/daemon/publisher.h) is it, and tests have others. Thread: the loop's.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

namespace bloomwall::proxy {

struct Edition;  // these two: proxy/decision/snapshot.h
struct Snapshot;
class Workers;  // proxy/worker/workers.h

enum class Phase : std::uint8_t { starting, serving, draining };
std::string_view to_string(Phase phase);

class Served {
 public:
  virtual const Edition& edition() const = 0;  // its pointers are null while starting
  virtual Phase phase() const = 0;
  // False: the process ends or is replaced. Another process may have read the state already, and would not know of a
  // change.
  virtual bool takes_changes() const = 0;
  // Serves the exceptions and switches of the state from now on; `adopted` is called on the loop, later, once every
  // worker does.
  virtual void publish(std::function<void()> adopted) = 0;
  virtual Workers* workers() const = 0;  // nullptr while starting; they answer nothing unless phase() is serving

  std::shared_ptr<const Snapshot> snapshot() const;  // null while starting
  std::uint64_t generation() const;                  // another number after each reload; 0 while starting

 protected:
  ~Served() = default;
};

}  // namespace bloomwall::proxy
