// SPDX-License-Identifier: Apache-2.0
//
// Sections of an xclbin as JSON and back, with the field names of the vendor's xclbinutil.
//
// MEM_TOPOLOGY, GROUP_TOPOLOGY, IP_LAYOUT, CONNECTIVITY, GROUP_CONNECTIVITY and CLOCK_FREQ_TOPOLOGY
// are tables; BUILD_METADATA and KEYVALUE_METADATA are JSON already. to_json followed by from_json
// gives the same bytes. Errors: Error naming section and field. Threads: any. Source: the public
// header <xclbin.h>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tandem::xclbin {

bool has_json(uint32_t kind);
std::string section_to_json(uint32_t kind, std::span<const std::byte> bytes);
std::vector<std::byte> section_from_json(uint32_t kind, const std::string& text);

}  // namespace tandem::xclbin
