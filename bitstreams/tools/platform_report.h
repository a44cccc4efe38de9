// SPDX-License-Identifier: Apache-2.0
//
// The description of a platform (an accelerator card with its shell) that platforminfo prints: as
// text, as JSON, and the paths of its JSON.
//
// Field names are those that Makefiles and scripts for the vendor's tool search for ("FPGA
// Family:", hardwarePlatform.devices[0].fpgaPart). Values come only from platform.h. Threads: any.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bitstreams/xclbin/platform.h"

namespace tandem::xclbin {

std::string platform_text(const Platform& platform);
nlohmann::ordered_json platform_json(const Platform& platform);
// The path of every value that is not an object or a list: "hardwarePlatform.devices[0].fpgaPart",
// ...
std::vector<std::string> json_paths(const nlohmann::ordered_json& json);
// The value at `path`: a string without its quotes, any other value as JSON. Throws Error when the
// path does not exist.
std::string value_at(const nlohmann::ordered_json& json, const std::string& path);

}  // namespace tandem::xclbin
