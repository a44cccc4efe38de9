// SPDX-License-Identifier: Apache-2.0
//
// What users noted in an xclbin: names and values, in the order in which they came.
//
// They lie in the section KEYVALUE_METADATA, as JSON in the shape that the vendor's tool writes.
// Errors: Error when the section is damaged. Threads: one at a time for an image.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bitstreams/tools/xclbin_image.h"

namespace tandem::xclbin {

std::vector<std::pair<std::string, std::string>> key_values(const XclbinImage& image);

// A key that is there gets the new value.
void set_key(XclbinImage& image, const std::string& key, const std::string& value);

// Throws Error when there is no such key; the section goes with the last one.
void remove_key(XclbinImage& image, const std::string& key);

}  // namespace tandem::xclbin
