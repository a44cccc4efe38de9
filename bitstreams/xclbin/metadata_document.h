// SPDX-License-Identifier: Apache-2.0
//
// Loads the section EMBEDDED_METADATA with pugixml, and refuses what pugixml tolerates: text
// outside the root, a document type, an attribute given twice, a reference that names no character.
//
// Depth and number of elements are bounded, so a hostile file costs linear time and memory.
// Errors: Error naming the file and the byte within the section. Threads: any.
#pragma once

#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace tandem::xclbin {

// A document with exactly one root element.
pugi::xml_document load_metadata(std::string_view text, const std::string& file_name);

}  // namespace tandem::xclbin
