// SPDX-License-Identifier: Apache-2.0
//
// The bounds of an xclbin file, checked before XRT parses it.
//
// XRT trusts the sizes and offsets a file states. Checked: the magic, m_length and m_numSections
// against the size of the file, every section against m_length, and the entry counts of the memory,
// unit and connection tables against their sections. Errors: Error naming file, field and byte
// offset. Cost: reads the header and the section table. Threads: any. Source: the public
// <xclbin.h>.
#pragma once

#include <string>

namespace tandem::device::xrt_card {

void check_xclbin_bounds(const std::string& path);

}  // namespace tandem::device::xrt_card
