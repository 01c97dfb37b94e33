// A sink that keeps nothing but sketches of what it is given, and hands hashes on to who derives from it. By itself it is the
// way to learn how many entries there are in bounded memory: KeyEstimator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "filter/builder/key_sketch.h"
#include "filter/builder/key_store.h"

namespace bloomwall::filter {

class SketchingSink : public KeySink {
 public:
  explicit SketchingSink(const KeyMaker& keys);
  void add(const Entry& entry) final;
  void flush() override {}
  const EntrySketches& sketches() const { return sketches_; }

 private:
  // The bits of a host entry or a mark; the same ones may come again.
  virtual void take_host(const Hash128& /*host*/, Variant /*variant*/) {}
  virtual void take_key(Kind /*kind*/, const Hash128& /*key*/) {}  // of P or R

  // What was said lately about a host: lists name one host over and over, and nothing need be said twice.
  struct KnownHost {
    Hash128 key{};
    std::uint32_t variants = 0;
  };
  const Hash128& hash_of_host(const Entry& entry);
  void add_host(const Hash128& host, Variant variant);

  KeyMaker keys_;
  EntrySketches sketches_;
  std::string last_host_;
  Hash128 last_hash_{};
  std::vector<KnownHost> known_;  // by the low bits of the hash
};

class KeyEstimator final : public KeyStore {
 public:
  explicit KeyEstimator(const KeyMaker& keys) : keys_(keys) {}
  KeySink& sink(unsigned worker) override;
  Result<void> check() override { return {}; }
  KeySummary summary() const;  // while no sink is in use

 private:
  KeyMaker keys_;
  std::vector<std::unique_ptr<SketchingSink>> sinks_;
};

}  // namespace bloomwall::filter
