// SPDX-License-Identifier: Apache-2.0
//
// Positions in compiled code, and the source lines that they belong to.
//
// A CodePlace is plain data that another process can read. place_of() calls addr2line (binutils).
// It skips code, also inlined code, from headers of the system, of XRT and of the HLS library.
// Without debug information the source is unknown. Cost: place_of() starts a process, some ten
// milliseconds; results are cached. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::emulation {

// The return addresses of a call stack within one file, innermost first; 0 marks the end.
struct CodePlace {
  char module[256] = {};
  uint64_t offsets[8] = {};  // in the form that addr2line expects
};

struct SourcePlace {
  std::string file;
  int line = 0;               // 0: not known
  bool in_header = false;     // the code is in a skipped header; the line is that of its caller
  bool changes_part = false;  // a number of the HLS headers reads itself to change some of its bits
};

// The place in the program, or in a library of its own, that called the runtime's libraries.
CodePlace caller_place();
// The same for a stack of return addresses, innermost first.
CodePlace program_place(const std::vector<const void*>& return_addresses);
// Whether code is in a library between the program and the shim, or in the C and C++ libraries.
bool is_runtime_code(const void* address);
// The place of code addresses of this process, innermost first. Only addresses in the module of the
// first one are kept. A return address is the one after the call.
CodePlace code_place(const std::vector<const void*>& return_addresses);
SourcePlace place_of(const CodePlace& place);

}  // namespace tandem::emulation
