// SPDX-License-Identifier: Apache-2.0
//
// Reducers of ranks as threads, for tests.
//
// Gradients are multiples of 1/256, so that sums are exact in f32 and any loss of mass is seen.
#pragma once

#include <functional>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "host/collectives/api/groups.h"
#include "training/reducer/reducer.h"
#include "training/reducer/state_bytes.h"

namespace tandem::training::test {

using collectives::Group;
using collectives::test::expect_all_done;
using collectives::test::Outcome;
using collectives::test::RankResult;
using collectives::test::run_groups;

using Shapes = std::vector<std::pair<std::string, std::vector<std::int64_t>>>;
using Values = std::vector<float>;

// Every parameter sparsified with the named algorithm, sums in one order.
inline ReducerOptions plain_options(const std::string& sparsifier, double density) {
  ReducerOptions options;
  options.sparsifier = sparsifier;
  options.density = density;
  options.scheme = "allgather_sparse";
  options.dense_below = 0;
  options.dense_vectors = false;
  options.algorithm.momentum = 0;
  options.algorithm.hard_threshold = 4;
  return options;
}

inline std::uint64_t num_values_of(const std::vector<std::int64_t>& shape) {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) count *= static_cast<std::uint64_t>(size);
  return count;
}

// The gradient of a parameter in a step; different for each rank, parameter and step.
inline Values gradient_of(std::size_t parameter, std::uint64_t count, int rank,
                          std::uint64_t step) {
  std::mt19937_64 random(1'000'003 * step + 1009 * parameter + static_cast<std::uint64_t>(rank));
  Values values(count);
  for (float& value : values) {
    const auto wide = static_cast<double>(random() % 4096) / 4096;
    const double sign = random() % 2 == 0 ? 1 : -1;
    value = static_cast<float>(sign * std::round(wide * wide * wide * 8192) / 256);
  }
  return values;
}

// A rank's reducer with its parameters, and steps with buckets of the caller's composition.
class RankReducer {
 public:
  RankReducer(Group& group, const ReducerOptions& options, const Shapes& shapes)
      : group_(group), shapes_(shapes), reducer_(group, options) {
    for (const auto& [name, shape] : shapes)
      numbers_.push_back(reducer_.add_parameter(name, shape));
  }

  // The gradients of the parameters of a bucket, one after another.
  Values gradients(const std::vector<std::uint32_t>& bucket, std::uint64_t step) const {
    Values all;
    for (const std::uint32_t parameter : bucket) {
      const Values one =
          gradient_of(parameter, num_values_of(shapes_[parameter].second), group_.rank(), step);
      all.insert(all.end(), one.begin(), one.end());
    }
    return all;
  }

  // Means by parameter.
  std::map<std::uint32_t, Values> step(const std::vector<std::vector<std::uint32_t>>& buckets,
                                       bool exact = false, bool flush = false) {
    const std::uint64_t step = reducer_.step();
    std::vector<Values> values;
    std::vector<Ticket> tickets;
    for (const auto& bucket : buckets) values.push_back(gradients(bucket, step));
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      tickets.push_back(reducer_.submit({.parameters = buckets[i],
                                         .values = values[i].data(),
                                         .exact = exact,
                                         .flush = flush,
                                         .last = i + 1 == buckets.size()}));
    }
    std::map<std::uint32_t, Values> means;
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      reducer_.wait(tickets[i], Deadline::never());
      auto from = values[i].begin();
      for (const std::uint32_t parameter : buckets[i]) {
        const auto count = static_cast<std::ptrdiff_t>(num_values_of(shapes_[parameter].second));
        means[parameter].assign(from, from + count);
        from += count;
      }
    }
    return means;
  }

  Reducer& operator*() { return reducer_; }
  Reducer* operator->() { return &reducer_; }

 private:
  Group& group_;
  const Shapes shapes_;
  Reducer reducer_;
  std::vector<std::uint32_t> numbers_;
};

inline std::string text_of(const std::function<void()>& body) {
  return collectives::test::outcome_of(body).text;
}

// Every rank's text of the error of `body`; fails the test where a rank had none of that kind.
inline std::vector<RankResult> outcomes(int world, const collectives::test::GroupBody& body) {
  return run_groups(world, body);
}

}  // namespace tandem::training::test
