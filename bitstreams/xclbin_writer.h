// SPDX-License-Identifier: Apache-2.0
//
// Writes an xclbin from a design: kernels, compute units, memory connections and the ELF with the
// kernels' code.
//
// The bytes depend on the design alone (no time stamp; the UUID is a hash of the content), so
// builds are reproducible. Errors: Error when the design is inconsistent or the file cannot be
// written; the file appears whole or not at all. Threads: any. Source: the public header
// <xclbin.h>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/platform.h"
#include "bitstreams/xclbin_file.h"

namespace tandem::xclbin {

struct Argument {
  std::string name;
  std::string type;   // C++ spelling
  uint32_t kind = 0;  // 0 scalar, 1 global memory, 4 stream
  uint32_t host_bytes = 0;
  uint32_t register_bytes = 0;
  uint32_t offset = 0;
};

struct Kernel {
  std::string name;
  Control control = Control::kChain;
  std::vector<Argument> arguments;
  std::vector<std::string> unit_names;
};

// Argument `argument` of unit `unit` reaches the platform's banks [first_bank, last_bank].
struct BankConnection {
  std::string unit;
  std::string argument;
  uint32_t first_bank = 0;
  uint32_t last_bank = 0;
};

struct Design {
  std::string name;
  const Platform* platform = nullptr;
  std::vector<Kernel> kernels;
  std::vector<BankConnection> connections;
  std::vector<std::byte> elf;
};

// The whole file.
std::vector<std::byte> encode(const Design& design);
// encode() to a file, through a temporary file renamed into place.
void write_xclbin(const Design& design, const std::string& path);
// The EMBEDDED_METADATA section.
std::string metadata_xml(const Design& design);

}  // namespace tandem::xclbin
