// SPDX-License-Identifier: Apache-2.0
//
// Courier: exchanges bytes between the ranks of a field. The caller connects it to a transport.
//
// A delivery is one step: bytes to some ranks, and one parcel from each of some ranks. All ranks
// start their deliveries in the same order. Ownership: a delivery must not outlive its courier.
// Threads: one at a time. Errors: those of the transport.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "common/raw_vector.h"

namespace tandem::tiling {

struct Parcel {
  int rank = -1;  // the receiver
  RawVector<std::byte> bytes;
};

struct Received {
  int rank = -1;                     // the sender
  std::span<const std::byte> bytes;  // valid until the next call
};

class Delivery {
 public:
  virtual ~Delivery() = default;
  virtual Received next() = 0;  // called once per source; in any order
  virtual void finish() = 0;    // waits until all is sent
};

class Courier {
 public:
  virtual ~Courier() = default;
  virtual int rank() const = 0;
  virtual int num_ranks() const = 0;
  // Never waits. sources: the other ranks to receive from, each once.
  virtual std::unique_ptr<Delivery> start(std::vector<Parcel> sends, std::vector<int> sources) = 0;
};

}  // namespace tandem::tiling
