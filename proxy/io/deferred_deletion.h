// Destroys objects one turn of the loop later, so that no callback ever returns into a dead object.
// One per event loop; dies before the event_base. What a destructor hands over is deleted in the next turn.
// Thread: the loop's only.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "proxy/io/handles.h"

namespace bloomwall::proxy {

class DeletedLater {
 public:
  virtual ~DeletedLater() = default;
};

class DeferredDeletion {
 public:
  explicit DeferredDeletion(event_base* base) {
    sweep_.assign(
        base, -1, 0, [](evutil_socket_t, short, void* self) { static_cast<DeferredDeletion*>(self)->sweep(); }, this);
  }
  void delete_later(std::unique_ptr<DeletedLater> dead) {  // the caller's stack may still be inside *dead
    if (dead == nullptr) return;
    pending_.push_back(std::move(dead));
    sweep_.trigger();
  }
  // Destroys what was handed over so far: on the loop's next turn, and at its end, when no callback is on the stack.
  void sweep() {
    auto batch = std::exchange(pending_, {});
    batch.clear();
  }
  bool empty() const { return pending_.empty(); }

 private:
  Event sweep_;
  std::vector<std::unique_ptr<DeletedLater>> pending_;
};

}  // namespace bloomwall::proxy
