// SPDX-License-Identifier: Apache-2.0
//
// A platform as platforminfo prints it: as text, as JSON, and the paths of its JSON.
//
// Field names are those that Makefiles and scripts written for the vendor's tool look for
// ("FPGA Family:", hardwarePlatform.devices[0].fpgaPart); values come from platform.h alone.
// Threads: any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bitstreams/xclbin/platform.h"

namespace tandem::xclbin {

std::string platform_text(const Platform& platform);
nlohmann::ordered_json platform_json(const Platform& platform);
// Every leaf: "hardwarePlatform.devices[0].fpgaPart", ...
std::vector<std::string> json_paths(const nlohmann::ordered_json& json);
// The value at `path`: a text without quotes, else JSON. Throws Error when there is none.
std::string value_at(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace tandem::xclbin
