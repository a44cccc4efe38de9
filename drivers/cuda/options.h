// SPDX-License-Identifier: Apache-2.0
//
// The options of GPUs, in builds with CUDA and without.
#pragma once

#include <array>

#include "device/backend_options.h"

namespace tandem::cuda {

inline constexpr std::array<std::string_view, 3> kKernelWords = {"generic", "hopper", "trial"};

inline constexpr device::BackendOption kKernelsOption = {
    .name = "cuda-kernels",
    .type = device::OptionType::kWord,
    .help =
        "attention kernels of GPUs: generic; hopper: those for compute capability 9.0, if there "
        "are any; trial: the faster of both, if their results agree",
    .default_value = "generic",
    .words = kKernelWords,
    .environment = "TANDEM_CUDA_KERNELS"};

inline constexpr device::BackendOption kFp8RowsOption = {
    .name = "cuda-fp8-rows",
    .type = device::OptionType::kFlag,
    .help =
        "GPUs may also round to FP8 the rows that are multiplied by FP8 weights (a scale per "
        "matrix "
        "or output), if there are many rows: faster prompts, other results",
    .default_value = "false"};

inline constexpr std::array kOptions = {kKernelsOption, kFp8RowsOption};

}  // namespace tandem::cuda
