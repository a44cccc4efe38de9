// SPDX-License-Identifier: Apache-2.0
//
// reduce_ranks: combines one value of every rank in rank order. All ranks get the same result.
//
// Sends one message to every other rank and receives one from each. It is also a barrier. Threads:
// one caller per rank. Errors: those of the courier; Error for a value of the wrong size.
#pragma once

#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "common/error.h"
#include "tensor/tiling/courier.h"

namespace tandem::tiling {

// courier: null if there is only one rank. combine(a, b) -> Value.
template <typename Value, typename Combine>
Value reduce_ranks(Courier* courier, const Value& value, const Combine& combine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  if (courier == nullptr || courier->num_ranks() == 1) return value;
  std::vector<Value> values(static_cast<std::size_t>(courier->num_ranks()));
  values[static_cast<std::size_t>(courier->rank())] = value;
  std::vector<Parcel> sends;
  std::vector<int> others;
  for (int rank = 0; rank < courier->num_ranks(); ++rank) {
    if (rank == courier->rank()) continue;
    Parcel& parcel = sends.emplace_back(Parcel{rank, {}});
    parcel.bytes.resize(sizeof(Value));
    std::memcpy(parcel.bytes.data(), &value, sizeof(Value));
    others.push_back(rank);
  }
  const auto delivery = courier->start(std::move(sends), others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Received received = delivery->next();
    if (received.bytes.size() != sizeof(Value)) {
      throw Error("tiling", "a rank sent a value of another size; start all ranks alike");
    }
    std::memcpy(&values[static_cast<std::size_t>(received.rank)], received.bytes.data(),
                sizeof(Value));
  }
  delivery->finish();
  return std::accumulate(values.begin() + 1, values.end(), values.front(), combine);
}

}  // namespace tandem::tiling
