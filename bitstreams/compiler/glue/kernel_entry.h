// SPDX-License-Identifier: Apache-2.0
//
// The interface between compiled kernels and the emulated card: one KernelEntry per kernel, named
// tandem_kernel_<kernel>.
//
// The builder compiles the kernel's source and its glue into one ELF shared object, the xclbin's
// BITSTREAM section. Arguments have the register map of a Vitis kernel: the first at byte 0x10,
// each next one after the previous size rounded up to 4, plus 4. C++11; depends on nothing else of
// the project. Threads: `call` runs on the compute unit's thread, one call at a time per unit;
// make_stream and drop_stream run on the card's main thread.
#pragma once

#include <cstdint>

namespace tandem_glue {

constexpr std::uint32_t kEntryVersion = 4;
// 0x20 for a kernel with an auto-restart counter and a mailbox: their registers come before it.
#ifndef TANDEM_FIRST_ARGUMENT_OFFSET
#define TANDEM_FIRST_ARGUMENT_OFFSET 0x10
#endif
constexpr std::uint32_t kFirstArgumentOffset = TANDEM_FIRST_ARGUMENT_OFFSET;

// A mark in the library's bytes. The names of the CPU features that it was compiled for follow,
// each with a blank after it; a zero byte ends them. Readers need not run the library.
#define TANDEM_CPU_FEATURES_MARK "tandem-cpu-features: "

enum ArgumentKind : std::uint32_t { kScalar = 0, kGlobal = 1, kStream = 4 };

// One call of a kernel.
struct Invocation {
  unsigned char* registers;  // the register map [register_bytes]; outputs are written back to it
  unsigned char* memory;     // where device address 0 is mapped
  void* const* streams;      // [num_arguments]: the link of each kStream argument, null for others
};

struct ArgumentEntry {
  std::uint32_t kind;
  std::uint32_t host_bytes;      // size of the C++ type; 8 for pointers, 0 for streams
  std::uint32_t register_bytes;  // space in the register map
  std::uint32_t offset;          // byte offset in the register map
  const char* type;              // spelling of the type, for metadata
  // Streams only: the size of what they carry, and the object that both ends of a link share.
  // make_stream(): `depth` 0 means the depth of the type, if it has one. The library of one end
  // makes the object and destroys it.
  std::uint32_t element_bytes;
  void* (*make_stream)(const char* name, std::uint32_t depth);
  void (*drop_stream)(void* stream);
  // The stream's tandem_hls::Channel; null for streams that wait by other means.
  void* (*channel)(void* stream);
};

struct KernelEntry {
  std::uint32_t version;
  const char* name;
  std::uint32_t num_arguments;
  const ArgumentEntry* arguments;
  void (*call)(const Invocation& invocation);
  std::uint32_t register_bytes;
};

}  // namespace tandem_glue
