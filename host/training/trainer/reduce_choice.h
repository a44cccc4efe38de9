// SPDX-License-Identifier: Apache-2.0
//
// `--reduce`: how ranks add up their gradients: dense, auto, or a sparsifier with its density, as
// in exdyna@0.01.
//
// auto measures dense steps first. If ranks wait for the network for more than a tenth of their
// time, it continues with exdyna@0.01. Threads: any; pure functions. Errors: Error("train", ...)
// that lists the known words.
#pragma once

#include <string>

namespace tandem::training {

struct ReduceChoice {
  bool automatic = false;  // not decided yet; dense until then
  std::string sparsifier = "dense";
  double density = 1;

  bool operator==(const ReduceChoice&) const = default;
};

ReduceChoice parse_reduce(const std::string& text);
std::string to_string(const ReduceChoice& choice);

// What auto becomes. waiting: share of the steps' time in which the slowest rank waited.
ReduceChoice decided(double waiting);

}  // namespace tandem::training
