// Questions that wait for an answer. Clients take turns, so that one that asks much delays the others
// by one question only; equal questions are asked once for all who wait for the answer. Bounded: where there is no
// room, add() says so. The taker says how many questions of a client may be answered at a time.
// A question is known by its key from add() until finish(), also while it is being answered. Not thread-safe.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "proxy/auth/credential_key.h"
#include "proxy/auth/login.h"

namespace bloomwall::proxy {

template <typename Question, typename Done>
class TurnQueue {
 public:
  static constexpr std::size_t kMostOfClient = 16;  // questions that wait
  static constexpr std::size_t kMostAskers = 4096;  // who wait for an answer, or for their question to be asked
  using Key = std::pair<CredentialKey, std::uint64_t>;
  struct Item {
    Key key;
    ClientKey client;
    Question question;
    std::vector<Done> askers;
    bool is_out = false;  // taken, and not answered yet
  };
  using ItemPtr = std::unique_ptr<Item>;

  // `most`: questions that wait; `most_of_client`: of one client. False: there is no room, and nobody is told.
  bool add(const Key& key, const ClientKey& client, Question question, Done done, std::size_t most,
           std::size_t most_of_client = kMostOfClient) {
    if (askers_ >= kMostAskers) return false;
    if (const auto same = known_.find(key); same != known_.end()) {
      same->second->askers.push_back(std::move(done));
      ++askers_;
      return true;
    }
    if (waiting_ >= most) return false;
    if (const auto line = lines_.find(client); line != lines_.end() && line->second.size() >= most_of_client) {
      return false;
    }
    auto item = std::make_unique<Item>(Item{key, client, std::move(question), {}, false});
    item->askers.push_back(std::move(done));
    ++askers_;
    known_.emplace(key, item.get());
    put(std::move(item), false);
    return true;
  }
  // One that skips the turns: as if take() had returned it. nullptr: there is no room.
  ItemPtr add_out(const Key& key, const ClientKey& client, Question question, Done done) {
    if (askers_ >= kMostAskers || known_.contains(key)) return nullptr;
    auto item = std::make_unique<Item>(Item{key, client, std::move(question), {}, true});
    item->askers.push_back(std::move(done));
    ++askers_;
    known_.emplace(key, item.get());
    ++out_[client];
    return item;
  }
  // The next one for which `may_go(item, how many of its client are out)`; it goes on to be known. nullptr: there is
  // none. Clients whose next one may not go keep their turn.
  template <typename MayGo>
  ItemPtr take(MayGo may_go) {
    const auto turn = find_turn(may_go);
    if (turn == turns_.end()) return nullptr;
    const ClientKey client = *turn;
    turns_.erase(turn);
    const auto line = lines_.find(client);
    ItemPtr item = std::move(line->second.front());
    line->second.pop_front();
    if (line->second.empty()) {
      lines_.erase(line);
    } else {
      turns_.push_back(client);
    }
    --waiting_;
    item->is_out = true;
    ++out_[client];
    return item;
  }
  ItemPtr take() {
    return take([](const Item&, std::size_t) { return true; });
  }
  template <typename MayGo>
  bool has_next(MayGo may_go) const {
    return find_turn(may_go) != turns_.end();
  }
  // What take() gave is to be asked again, before all others.
  void put_back(ItemPtr item) {
    note_back(*item);
    put(std::move(item), true);
  }
  // What take() gave has its answer: whoever waits for it. It is no longer known; what asks the same from here on is
  // another question.
  std::vector<Done> finish(Item& item) {
    note_back(item);
    if (const auto at = known_.find(item.key); at != known_.end() && at->second == &item) known_.erase(at);
    askers_ -= item.askers.size();
    return std::exchange(item.askers, {});
  }
  // Those that wait and fulfil `is_over`.
  template <typename Predicate>
  std::vector<ItemPtr> take_if(Predicate is_over) {
    std::vector<ItemPtr> out;
    for (auto line = lines_.begin(); line != lines_.end();) {
      std::erase_if(line->second, [&](ItemPtr& item) {
        if (!is_over(*item)) return false;
        out.push_back(std::move(item));
        return true;
      });
      if (line->second.empty()) {
        std::erase(turns_, line->first);
        line = lines_.erase(line);
      } else {
        ++line;
      }
    }
    waiting_ -= out.size();
    return out;
  }
  bool empty() const { return waiting_ == 0; }
  std::size_t waiting() const { return waiting_; }

 private:
  template <typename MayGo>
  auto find_turn(MayGo may_go) const {
    return std::find_if(turns_.begin(), turns_.end(), [&](const ClientKey& client) {
      const auto out = out_.find(client);
      return may_go(*lines_.find(client)->second.front(), out == out_.end() ? 0 : out->second);
    });
  }
  void note_back(Item& item) {
    if (!std::exchange(item.is_out, false)) return;
    const auto out = out_.find(item.client);
    if (--out->second == 0) out_.erase(out);
  }
  void put(ItemPtr item, bool first) {
    std::deque<ItemPtr>& line = lines_[item->client];
    if (line.empty()) {
      first ? turns_.push_front(item->client) : turns_.push_back(item->client);
    }
    first ? line.push_front(std::move(item)) : line.push_back(std::move(item));
    ++waiting_;
  }

  std::map<ClientKey, std::deque<ItemPtr>> lines_;  // a line for each client that waits; none is empty
  std::deque<ClientKey> turns_;                     // whose question is next; each client once
  std::map<Key, Item*> known_;                      // those that wait, and those that are being answered
  std::map<ClientKey, std::size_t> out_;            // questions of a client that are out; none is 0
  std::size_t waiting_ = 0, askers_ = 0;
};

}  // namespace bloomwall::proxy
