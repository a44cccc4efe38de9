// SPDX-License-Identifier: Apache-2.0
//
// vector_targets() through Highway's own list.
#include "cpu/vector_targets.h"

#include "common/error.h"
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
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    if (name == hwy::TargetName(target)) return hwy::SetSupportedTargetsForTest(target);
  }
  throw Error("cpu", "no vector target '" + std::string(name) + "' here");
}

}  // namespace tandem::device::cpu
