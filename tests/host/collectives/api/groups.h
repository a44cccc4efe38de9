// SPDX-License-Identifier: Apache-2.0
//
// Groups of ranks as threads for tests of the API: all bodies run, each rank's error is kept.
//
// Unlike run_ranks an error of one rank says nothing to the others here: the library itself must
// tell them. A rank's group is destroyed when its body ends.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "collectives/codec/codec.h"
#include "collectives/collective.h"
#include "collectives/scheme/scheme.h"
#include "transport/inproc/inproc.h"

namespace tandem::collectives::test {

enum class Outcome { kDone, kError, kTransportError, kOther };

struct RankResult {
  Outcome outcome = Outcome::kDone;
  std::string text;
  TransportError::Kind kind = TransportError::Kind::kAborted;
};

inline RankResult outcome_of(const std::function<void()>& body) {
  try {
    body();
    return {};
  } catch (const TransportError& error) {
    return {Outcome::kTransportError, error.what(), error.kind()};
  } catch (const Error& error) {
    return {Outcome::kError, error.what()};
  } catch (const std::exception& error) {
    return {Outcome::kOther, error.what()};
  }
}

inline void expect_all_done(const std::vector<RankResult>& results) {
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    EXPECT_EQ(results[rank].outcome, Outcome::kDone)
        << "rank " << rank << ": " << results[rank].text;
  }
}

using GroupBody = std::function<void(Group&)>;

inline std::vector<RankResult> run_on(std::vector<std::unique_ptr<Transport>> transports,
                                      const GroupBody& body) {
  std::vector<RankResult> results(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank) {
    threads.emplace_back([&, rank, transport = std::move(transports[rank])]() mutable {
      Group group(std::move(transport));
      results[rank] = outcome_of([&] { body(group); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

inline std::vector<RankResult> run_groups(int world, const GroupBody& body) {
  return run_on(transport::inproc::make_world(world), body);
}

// A u64 tensor and its naive sum over ranks.
using Entries = std::map<std::uint64_t, std::uint64_t>;

struct Tensor {
  std::vector<std::uint32_t> indices;
  std::vector<std::uint64_t> values;
};

inline Tensor random_tensor(std::uint64_t num_units, std::size_t num_entries, int rank) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) + 1);
  Tensor tensor;
  for (std::size_t entry = 0; entry < num_entries; ++entry) {
    tensor.indices.push_back(static_cast<std::uint32_t>(random() % num_units));
    tensor.values.push_back(1 + random() % 1'000'000);  // sums of positive ones never cancel
  }
  return tensor;
}

inline Entries naive_sum(const std::vector<Tensor>& tensors) {
  Entries sum;
  for (const Tensor& tensor : tensors) {
    for (std::size_t at = 0; at < tensor.indices.size(); ++at) {
      sum[tensor.indices[at]] += tensor.values[at];
    }
  }
  return sum;
}

inline Entries entries_of(const SparseTensor& tensor) {
  Entries entries;
  for (std::size_t at = 0; at < tensor.num_entries; ++at) {
    const std::uint64_t index = tensor.index_type == IndexType::kU64
                                    ? tensor.indices_as<std::uint64_t>()[at]
                                    : tensor.indices_as<std::uint32_t>()[at];
    entries[index] = tensor.values_as<std::uint64_t>()[at];
  }
  return entries;
}

}  // namespace tandem::collectives::test
