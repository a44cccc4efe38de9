// SPDX-License-Identifier: Apache-2.0
//
// `--reduce`: how ranks add up their gradients: dense, auto, or a sparsifier with its density, as
// in exdyna@0.01.
//
// A Trainer takes auto for exdyna@0.01 where a trial shows that it pays, else dense; alone, a
// GradientMean has the reducer's own. Threads: pure. Errors: Error("train", ...) naming what is
// known.
#pragma once

#include <string>

namespace tandem::training {

struct ReduceChoice {
  std::string sparsifier = "dense";  // also auto
  double density = 1;

  bool operator==(const ReduceChoice&) const = default;
};

ReduceChoice parse_reduce(const std::string& text);
std::string to_string(const ReduceChoice& choice);

}  // namespace tandem::training
