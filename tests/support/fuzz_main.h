// SPDX-License-Identifier: Apache-2.0
//
// What a fuzz target may offer the standalone driver besides LLVMFuzzerTestOneInput.
//
// A target whose seeds are made by code defines add_fuzz_seeds(); the driver calls it when it is
// linked in. Under libFuzzer nobody calls it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tandem::test {

// Appends inputs to start from. Optional: the driver looks whether the target defines it.
__attribute__((weak)) void add_fuzz_seeds(std::vector<std::string>& seeds);

}  // namespace tandem::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
