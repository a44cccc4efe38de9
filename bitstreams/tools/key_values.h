// SPDX-License-Identifier: Apache-2.0
//
// User keys of an xclbin: names and values, in the order of their insertion.
//
// The section KEYVALUE_METADATA holds them as JSON, in the layout of the vendor's tool. Errors:
// Error if the section is damaged. Threads: one at a time for an image.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bitstreams/tools/xclbin_image.h"

namespace tandem::xclbin {

std::vector<std::pair<std::string, std::string>> key_values(const XclbinImage& image);

// Adds the key, or gives an existing key the new value.
void set_key(XclbinImage& image, const std::string& key, const std::string& value);

// Throws Error when there is no such key; the section is removed with the last one.
void remove_key(XclbinImage& image, const std::string& key);

}  // namespace tandem::xclbin
