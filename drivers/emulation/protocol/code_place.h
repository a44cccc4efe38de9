// SPDX-License-Identifier: Apache-2.0
//
// Places in compiled code, and the lines of a user's source that they come from.
//
// A CodePlace is plain data that another process can read. place_of() asks addr2line (binutils) and
// skips headers of the system, of XRT and of the HLS library, also those that are inlined. Without
// debug information the place is unknown. Cost: place_of() starts a process, some ten milliseconds;
// results are kept. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulation {

// Return addresses of a call stack in one file, innermost first; 0 ends them.
struct CodePlace {
  char module[256] = {};
  uint64_t offsets[8] = {};  // as addr2line wants them
};

struct SourcePlace {
  std::string file;
  int line = 0;            // 0: not known
  bool in_header = false;  // the code itself is in a skipped header; the line is its caller's
};

// Where the caller of the runtime's libraries stands, in the program or a library of its own.
CodePlace caller_place();
// The same of a stack of return addresses, innermost first.
CodePlace program_place(const std::vector<const void*>& return_addresses);
// Whether code is in a library between a program and the shim, or in the C and C++ libraries.
bool is_runtime_code(const void* address);
// The place of code addresses of this process, innermost first, as far as they are in the first
// one's module. Return addresses are those after the call.
CodePlace code_place(const std::vector<const void*>& return_addresses);
SourcePlace place_of(const CodePlace& place);

}  // namespace tandem::emulation
