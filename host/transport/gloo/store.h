// SPDX-License-Identifier: Apache-2.0
//
// Store: keys that are written once and read by all ranks. Ranks find each other and agree through
// it.
//
// put() is atomic: of several writers of one key exactly one wins, with all its bytes. This decides
// which ranks belong to a smaller group. The directory holds one file per key; its owner removes
// it. gloo's FileStore is not used, because its set() overwrites if two ranks write at once.
// Errors: Error naming the store. Threads: one. Cost: a few system calls, or one Redis round trip.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "transport/gloo/gloo.h"

namespace tandem::transport::gloo {

class Store {
 public:
  virtual ~Store() = default;
  // Returns false, and changes nothing, if the key already has a value.
  virtual bool put(const std::string& key, const std::string& value) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;
  // Called repeatedly while this rank waits for others to arrive and to connect. An exception ends
  // the wait.
  virtual void watch() {}
};

// The store that `options` name or contain. The deadline limits connecting to it and each of its
// answers.
std::shared_ptr<Store> open_store(const Options& options, Deadline deadline);

}  // namespace tandem::transport::gloo
