// SPDX-License-Identifier: Apache-2.0
//
// `--reduce`: how ranks combine their gradients: dense, auto, or a sparsifier with its density,
// such as exdyna@0.01.
//
// For auto, a Trainer uses exdyna@0.01 if a trial shows that it is faster, otherwise dense. A
// GradientMean without a Trainer uses the reducer's own trial. Threads: pure. Errors:
// Error("train", ...) with the known values.
#pragma once

#include <string>

namespace tandem::training {

struct ReduceChoice {
  std::string sparsifier = "dense";  // may also be auto
  double density = 1;

  bool operator==(const ReduceChoice&) const = default;
};

ReduceChoice parse_reduce(const std::string& text);
std::string to_string(const ReduceChoice& choice);

}  // namespace tandem::training
