// SPDX-License-Identifier: Apache-2.0
//
// Samples of a recommender: numbers, rows of tables, and whether there was a click.
//
// Synthetic samples are a pure function of seed and number, without end. Their labels are drawn
// from a hidden model, in which every row and number has a weight, so that a model can learn them.
// Low rows are more frequent, as in click logs. A file in Criteo's format has one sample per line:
// label, 13 whole numbers, 26 words; fields are separated by tabs and may be empty. Numbers become
// log(1 + max(x, 0)); words are hashed (XXH64) to rows. Order: as windows.h. The file stays mapped;
// opening it checks every line.
// Threads: any. Errors: Error("train", ...) with the file and line.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "training/trainer/recommender_config.h"

namespace tandem::training {

// One sample, in the caller's memory.
struct RecommenderSample {
  std::span<float> dense;
  std::span<std::uint32_t> rows;  // [tables, bag]
  float label = 0;
};

class RecommenderSamples {
 public:
  virtual ~RecommenderSamples() = default;
  virtual std::uint64_t size() const = 0;  // 0: without end
  // A sample of a training run: shuffled, epoch after epoch.
  virtual void read(std::uint64_t number, RecommenderSample& to) const = 0;
  // A sample in the order of the file. For synthetic samples: others than read() returns.
  virtual void read_in_order(std::uint64_t number, RecommenderSample& to) const = 0;
  // The checksum of the data, for the comparison of ranks.
  virtual std::uint64_t checksum() const = 0;
};

inline constexpr const char* kSyntheticSamples = "synthetic";

// source: kSyntheticSamples or a file. Errors: Error for a file that does not fit the
// configuration.
std::unique_ptr<RecommenderSamples> open_samples(const std::string& source,
                                                 const RecommenderConfig& config,
                                                 std::uint64_t seed);

}  // namespace tandem::training
