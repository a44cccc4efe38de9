// SPDX-License-Identifier: Apache-2.0
//
// What a compiled kernel exports to the emulated card: one KernelEntry per kernel, named
// tandem_kernel_<kernel>.
//
// The builder compiles the kernel's source together with this header into the ELF shared object
// that is the xclbin's BITSTREAM section. Arguments lie in the register map as a Vitis kernel has
// them: the first at byte 0x10, each next one after the previous size rounded up to 4, plus 4.
// C++14-clean; depends on nothing else of the project. Threads: `call` runs on the compute unit's
// thread; one call at a time per compute unit.
#pragma once

#include <cstdint>

namespace tandem_glue {

constexpr std::uint32_t kEntryVersion = 1;
constexpr std::uint32_t kFirstArgumentOffset = 0x10;

// Stands in the library's bytes in front of the names of the CPU features it was compiled for, each
// followed by a blank; a zero byte ends them. To be read without running the library.
#define TANDEM_CPU_FEATURES_MARK "tandem-cpu-features: "

enum ArgumentKind : std::uint32_t { kScalar = 0, kGlobal = 1, kStream = 4 };

struct ArgumentEntry {
  std::uint32_t kind;
  std::uint32_t host_bytes;      // size of the C++ type; 8 for pointers
  std::uint32_t register_bytes;  // space in the register map
  std::uint32_t offset;          // byte offset in the register map
  const char* type;              // spelling of the type, for metadata
};

struct KernelEntry {
  std::uint32_t version;
  const char* name;
  std::uint32_t num_arguments;
  const ArgumentEntry* arguments;
  // `registers`: the register map [register_bytes]; `memory`: where device address 0 is mapped.
  void (*call)(const unsigned char* registers, unsigned char* memory);
  std::uint32_t register_bytes;
};

}  // namespace tandem_glue
