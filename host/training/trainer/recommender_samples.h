// SPDX-License-Identifier: Apache-2.0
//
// Samples of a recommender: numbers, rows of tables, and whether there was a click.
//
// Synthetic ones are a pure function of seed and number, without end. Their labels are drawn from a
// planted model: every row and every number has a weight, so there is something to learn. Low rows
// come more often, as in logs of clicks. A file of Criteo's format has a sample per line: label, 13
// whole numbers, 26 words; fields are parted by tabs and may be empty. Numbers become
// log(1 + max(x, 0)); words are hashed (XXH64) into the rows. Order: as windows.h. The file stays
// mapped. Threads: any. Errors: Error("train", ...) naming the file and its line.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "training/trainer/recommender_config.h"

namespace tandem::training {

// Of one sample; the caller's memory.
struct RecommenderSample {
  std::span<float> dense;
  std::span<std::uint32_t> rows;  // [tables, bag]
  float label = 0;
};

class RecommenderSamples {
 public:
  virtual ~RecommenderSamples() = default;
  virtual std::uint64_t size() const = 0;  // 0: without end
  // Of a training run: shuffled, epoch after epoch.
  virtual void read(std::uint64_t number, RecommenderSample& to) const = 0;
  // In the file's order. Of synthetic ones: others than read() gives.
  virtual void read_in_order(std::uint64_t number, RecommenderSample& to) const = 0;
  // Of what there is, for the comparison of ranks.
  virtual std::uint64_t checksum() const = 0;
};

inline constexpr const char* kSyntheticSamples = "synthetic";

// source: kSyntheticSamples or a file. Error for a file that does not fit the configuration.
std::unique_ptr<RecommenderSamples> open_samples(const std::string& source,
                                                 const RecommenderConfig& config,
                                                 std::uint64_t seed);

}  // namespace tandem::training
