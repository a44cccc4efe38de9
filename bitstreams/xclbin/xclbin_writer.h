// SPDX-License-Identifier: Apache-2.0
//
// Writes an xclbin from a design: kernels, compute units, memory connections, stream links, and the
// ELF with the kernels' code.
//
// A stream link is an entry of MEM_TOPOLOGY after the banks: type MEM_STREAMING_CONNECTION, tag
// dc_<n>, size: the depth in elements (0: as in the kernel's source). It also has two rows in
// CONNECTIVITY, first the writer's, then the reader's. A free-running unit has the base address ~0
// and no address in the XML. The bytes depend on the design alone (no time stamp; the UUID is a
// hash of the content), so builds are reproducible. Errors: Error when the design is inconsistent
// or larger than readers allow. Threads: any. Source: the public header <xclbin.h>.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bitstreams/xclbin/platform.h"
#include "bitstreams/xclbin/xclbin_file.h"

namespace tandem::xclbin {

struct Argument {
  std::string name;
  std::string type;   // C++ spelling
  uint32_t kind = 0;  // 0 scalar, 1 global memory, 3 local memory (OpenCL C), 4 stream
  uint32_t host_bytes = 0;
  uint32_t register_bytes = 0;
  uint32_t offset = 0;
  std::string bundle = {};     // kind 1: the bundle of the m_axi port; empty: a separate port
  bool hidden = false;         // set by the runtime, without an index
  uint32_t element_bytes = 0;  // kind 4: size of an element of the stream
};

struct Kernel {
  std::string name;
  Control control = Control::kChain;
  std::vector<Argument> arguments;
  std::vector<std::string> unit_names;
  std::string language = "c";     // "clc": OpenCL C
  uint32_t restart_counters = 0;  // counted auto restart
  std::string mailbox = "none";   // "in", "out", "inout"
  bool software_reset = false;
  std::array<uint32_t, 3> required_group = {1, 1, 1};  // work group; 0 0 0: any
  std::array<uint32_t, 3> maximum_group = {1, 1, 1};

  // Whether the kernel runs from load to unload without a start: it has no control protocol, and
  // all its arguments are streams.
  bool free_running() const;
};

// Argument `argument` of unit `unit` reaches the platform's banks [first_bank, last_bank].
struct BankConnection {
  std::string unit;
  std::string argument;
  uint32_t first_bank = 0;
  uint32_t last_bank = 0;
};

// Stream `from_argument` of `from_unit` feeds `to_argument` of `to_unit`.
struct StreamLink {
  std::string from_unit;
  std::string from_argument;
  std::string to_unit;
  std::string to_argument;
  uint32_t depth = 0;  // in elements; 0: as in the kernel's source
};

struct Design {
  std::string name;
  const Platform* platform = nullptr;
  std::vector<Kernel> kernels;
  std::vector<BankConnection> connections;
  std::vector<std::byte> elf;
  std::vector<StreamLink> links = {};
  bool hardware_emulation = false;  // mode hw_emu, else sw_emu
  uint32_t kernel_clock_mhz = 0;    // 0: the platform's clock
};

// The whole file.
std::vector<std::byte> encode(const Design& design);
// The EMBEDDED_METADATA section.
std::string metadata_xml(const Design& design);
// The BUILD_METADATA section: JSON that describes what the file was made from.
std::string build_metadata(const Design& design);

}  // namespace tandem::xclbin
