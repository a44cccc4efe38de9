// SPDX-License-Identifier: Apache-2.0
//
// The ports of a kernel, as both descriptions of an xclbin list them (EMBEDDED_METADATA and
// BUILD_METADATA): the control port, one port per bundle of pointers, one per stream.
//
// Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin {

struct Port {
  std::string name;
  std::string mode;   // slave, master, read_only, write_only
  std::string range;  // bytes, hexadecimal; empty for a stream
  uint32_t data_width_bits = 0;
  std::string type;  // addressable, stream
  std::string base;  // empty for a stream
};

// In the order of the arguments, the control port first.
std::vector<Port> ports_of(const Design& design, const Kernel& kernel);
// The name of the port that `argument` uses.
std::string port_of(const Argument& argument);
// Writes a number as the vendor's tools do: "0x1C".
std::string hex_text(uint64_t value);

}  // namespace tandem::xclbin
