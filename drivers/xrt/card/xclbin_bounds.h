// SPDX-License-Identifier: Apache-2.0
//
// The bounds of an xclbin, checked before XRT parses it.
//
// XRT 2.13 trusts the sizes, offsets, counts and indices that an xclbin states. Checked: magic;
// m_length and m_numSections against the number of bytes; every section against m_length; the
// counts of the memory, unit, connection and clock tables against their sections; the indices of
// connections; the ends of names. Bytes after m_length (a signature) are allowed. Errors: Error
// that names the file, the field and its byte offset. Cost: reads the header and the tables only.
// Threads: any. Source: the public header <xclbin.h>.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tandem::device::xrt_card {

// Throws Error if `path` is not a regular file.
void check_xclbin_file(const std::string& path);
// `name`: the name of the bytes in messages.
void check_xclbin_bytes(std::span<const std::byte> bytes, const std::string& name);

}  // namespace tandem::device::xrt_card
