// SPDX-License-Identifier: Apache-2.0
//
// Describes any xclbin: its tables, and the kernels and arguments of its metadata.
//
// Errors: Error naming the file, the field and its offset. Cost: linear in the file. Threads: any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bitstreams/xclbin/xclbin_file.h"
#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin {

struct KernelInfo {
  std::string name;
  std::string control;
  std::vector<Argument> arguments;
};

struct XclbinInfo {
  std::string path;
  uint64_t size_bytes = 0;
  std::string uuid;
  std::string platform;
  bool emulated = false;  // BITSTREAM holds code an emulated card can run
  std::vector<Section> sections;
  std::vector<Memory> memories;  // banks, then bank ranges
  std::vector<ComputeUnit> compute_units;
  std::vector<Connection> connections;
  std::vector<KernelInfo> kernels;
};

// Name of a section kind, "BITSTREAM" and so on.
std::string section_kind_name(uint32_t kind);

// Reads and checks the file at `path`.
XclbinInfo inspect(const std::string& path);
// The same from bytes in memory; `file_name` for messages.
XclbinInfo inspect(std::span<const std::byte> bytes, const std::string& file_name);

}  // namespace tandem::xclbin
