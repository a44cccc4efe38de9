// SPDX-License-Identifier: Apache-2.0
//
// The options of cards, in builds with XRT and without.
#pragma once

#include <array>

#include "device/backend_options.h"

namespace tandem::device::xrt_card {

inline constexpr BackendOption kAttentionImageOption = {
    .name = "xclbin",
    .type = OptionType::kFile,
    .help = "attention kernel for cards (default: the one built here)",
    .default_value = "attention_decode.xclbin beside the program or installed"};

inline constexpr BackendOption kAggregationImageOption = {
    .name = "aggregation-xclbin",
    .type = OptionType::kFile,
    .help = "aggregation kernel for cards (default: the one built here)",
    .default_value = "sparse_aggregation.xclbin beside the program or installed",
    .use = OptionUse::kAggregation};

inline constexpr BackendOption kTableImageOption = {
    .name = "tables-xclbin",
    .type = OptionType::kFile,
    .help = "kernel of embedding tables for cards (default: the one built here)",
    .default_value = "embedding_update.xclbin beside the program or installed",
    .use = OptionUse::kTraining};

inline constexpr std::array kOptions = {kAttentionImageOption, kAggregationImageOption,
                                        kTableImageOption};

}  // namespace tandem::device::xrt_card
