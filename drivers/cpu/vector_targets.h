// SPDX-License-Identifier: Apache-2.0
//
// The instruction sets that the CPU kernels are compiled for and this processor has. Tests and
// benchmarks can choose one; without a choice the best one runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::device::cpu {

std::vector<std::string> vector_targets();  // best first, such as "AVX3", "AVX2", "SCALAR"

// An empty name selects the best one. Not while a unit works. Throws Error for a name not listed.
void force_vector_target(std::string_view name);

}  // namespace tandem::device::cpu
