// SPDX-License-Identifier: Apache-2.0
//
// Parameters: the parameters of a reducer, and the division of a bucket.
//
// A parameter is known by its name; its number is the order of its registration. A bucket lists
// parameters, whose values follow one another without gaps. It is divided into parts: all dense
// parameters together, each parameter that is sent by rows, and the parameters of each other
// treatment. A BucketPlan is immutable. Threads: Parameters under its owner's lock; plans any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "training/reducer/options.h"

namespace tandem::training {

struct Parameter {
  std::string name;
  std::vector<std::int64_t> shape;
  std::uint64_t num_values = 0;
  std::uint64_t num_rows = 0;  // the first dimension
  std::uint64_t width = 1;     // values of a row
  Treatment treatment;
};

// The position of a parameter's values in its bucket.
struct Segment {
  std::uint32_t parameter = 0;
  std::uint64_t begin = 0;  // in values
  std::uint64_t count = 0;
};

enum class PartKind : std::uint8_t { kDense, kRows, kSparsified };

struct PartPlan {
  PartKind kind = PartKind::kDense;
  Treatment treatment;
  std::vector<Segment> segments;  // in the bucket's order
  std::uint64_t num_values = 0;
};

struct BucketPlan {
  std::vector<std::uint32_t> parameters;
  std::vector<std::string> names;     // of the parameters
  std::vector<Segment> segments;      // of all parameters
  std::vector<std::uint64_t> widths;  // of all parameters
  std::vector<PartPlan> parts;
  std::uint64_t num_values = 0;
  std::string title;               // for statistics, logs and the timeline
  std::vector<std::string> lines;  // "parameter 0 of the bucket=layer.weight"
};

class Parameters {
 public:
  explicit Parameters(const ReducerOptions& options) : options_(options) {}

  // Error for an empty or repeated name, a size of 0 or below, or more than 2^32 - 1 values.
  std::uint32_t add(const std::string& name, const std::vector<std::int64_t>& shape);

  std::size_t size() const { return all_.size(); }
  const Parameter& operator[](std::uint32_t parameter) const { return all_[parameter]; }
  // Throws Error for a number that add() has not returned.
  const Parameter& at(std::uint32_t parameter) const;

  std::optional<std::uint32_t> find(const std::string& name) const;

  // Throws Error for an empty bucket, an unknown parameter, or one that is listed twice.
  std::shared_ptr<const BucketPlan> plan(std::span<const std::uint32_t> parameters);

  // One line per parameter, for the comparison of ranks.
  std::shared_ptr<const std::vector<std::string>> lines();

 private:
  const ReducerOptions options_;
  std::vector<Parameter> all_;
  std::map<std::string, std::uint32_t> by_name_;
  std::map<std::vector<std::uint32_t>, std::shared_ptr<const BucketPlan>> plans_;
  std::shared_ptr<const std::vector<std::string>> lines_;
};

// "[64, 3, 3]"
std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace tandem::training
