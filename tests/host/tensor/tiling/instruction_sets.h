// SPDX-License-Identifier: Apache-2.0
//
// Runs a check with every instruction set of this processor. Threads: one, while no loop runs.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "hwy/targets.h"

namespace tandem::tiling {

inline void on_every_instruction_set(const std::function<void()>& check) {
  const std::int64_t here = hwy::SupportedTargets();
  for (int bit = 0; bit < 63; ++bit) {
    const std::int64_t set = std::int64_t{1} << bit;
    if ((here & set) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(set));
    hwy::SetSupportedTargetsForTest(here & ~(set - 1));  // and what comes after it
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    check();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace tandem::tiling
