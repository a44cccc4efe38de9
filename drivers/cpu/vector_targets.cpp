// SPDX-License-Identifier: Apache-2.0
//
// vector_targets() from the list of Highway.
#include "cpu/vector_targets.h"

#include "common/error.h"

#define HWY_WANT_AVX3_DL  // some kernels are compiled for it, see vector_targets.h
#include "hwy/highway.h"

namespace tandem::device::cpu {

std::vector<std::string> vector_targets() {
  std::vector<std::string> names;
  hwy::SetSupportedTargetsForTest(0);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

void force_vector_target(std::string_view name) {
  hwy::SetSupportedTargetsForTest(0);
  if (name.empty()) return;
  // A kernel without code for the target uses the next best target, which has a higher bit.
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name != hwy::TargetName(target)) continue;
    return hwy::SetSupportedTargetsForTest(hwy::SupportedTargets() & ~(target - 1));
  }
  throw Error("cpu", "this processor or build has no vector target '" + std::string(name) + "'");
}

}  // namespace tandem::device::cpu
