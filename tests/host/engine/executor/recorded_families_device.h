// SPDX-License-Identifier: Apache-2.0
//
// The device on which a build of recorded_families_test.cpp runs the families, how, and the largest
// error of its answers.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "device/registry.h"
#include "tensor/dtype.h"

namespace tandem::engine {

struct FamiliesRun {
  std::optional<DType> weights;     // none: as the file has them, f16
  std::vector<std::size_t> chunks;  // rows per step, 0: all at once
  std::vector<int> num_units;
  // Relative mean square errors: against the recorded logits, and against those with keys and
  // values rounded to f16.
  double bound = 0, bound_of_rounded = 0;
  std::size_t num_tokens = 0;  // of the text, 0: all
};

struct FamiliesDevice {
  const device::Backend& backend;
  std::vector<FamiliesRun> runs;  // the first has the bounds that tell mistakes
  std::vector<bool> is_gguf;      // of the file forms to read
};

FamiliesDevice families_device();

}  // namespace tandem::engine
