// SPDX-License-Identifier: Apache-2.0
//
// Compiles OpenCL C kernels (v++ -c of a .cl file) to an object with the entry points a card calls.
//
// clang compiles the source, and the C++ compiler the entry points. The built-in functions are our
// own headers (glue/opencl_c/). They compile with every clang, and errors name the user's file and
// line. PoCL's library is not used, because it is bitcode of one LLVM version for one processor.
// Threads: any, with different scratch folders.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::opencl_c {

// Those with which loops get a version without checks (loops/loop_version.h); empty: they do not.
struct LoopFlags {
  std::vector<std::string> plugin;  // when clang optimises
  std::vector<std::string> code;    // when it makes the code
};

// A second object of the same kernels, whose accesses call functions: vpp/kernel_checks.h.
struct CheckedCopy {
  std::string object;                     // object file to write; empty: none
  std::vector<std::string> flags;         // clang's flags that make the calls
  std::vector<std::string> source_flags;  // those of them that it needs when it reads the source
  std::function<std::string(std::string_view)> change_assembly;
  std::string functions;  // C++ text with the functions
  LoopFlags loops = {};
};

struct TimeHint;

// A third one per kernel, with counters for the time model: vpp/timed_copy.h.
struct TimedCopy {
  bool wanted = false;
  // Compiles unoptimised IR of a kernel, which has these hints and pointers to device memory, and
  // returns the object's path.
  std::function<std::string(const std::string& ir_path, const std::string& kernel,
                            const std::vector<TimeHint>& hints,
                            const std::vector<std::string>& pointers)>
      compile;
  std::vector<std::string> symbols;  // that precede the kernel's name in the names it keeps
  std::string functions;             // C++ text
};

struct CompileOptions {
  std::string source;                // the .cl file
  std::vector<std::string> kernels;  // the kernels to compile (-k); empty: all kernels of the file
  std::vector<std::string> flags;    // -I, -D, -O, -g, -W, -cl-*: passed to clang after our own
  std::string object;                // object file to write
  std::string scratch;               // an existing folder for intermediate files; not removed
  std::string glue_folder;           // bitstreams/compiler/glue
  std::string hls_folder;            // Tandem's HLS headers: pipes are streams
  std::string cxx_compiler = "c++";
  std::string clang;     // TANDEM_CLANG; empty: the first of clang, clang-14, ...
  bool verbose = false;  // prints the commands
  CheckedCopy checked;
  TimedCopy timed;
};

struct Argument {
  std::string name;
  std::string type;       // as in the source, "float4*"
  std::uint32_t kind;     // tandem_glue::ArgumentKind, or 3: __local memory
  bool hidden = false;    // set by the OpenCL runtime, without an index
  std::string pipe = "";  // kind 4: the program-scope pipe of this hidden argument
  bool writes = false;    // kind 4: the kernel is the pipe's writer
};

// XRT starts such a kernel by one command per work-group; hidden arguments describe the group. In
// the XML (`arguments`, in the order of KernelEntry::arguments):
//   hidden     id="", three arguments of the same name for group_id, global_offset, ...; XRT
//              recognises them by name; they follow the user's arguments
//   kind 3     __local pointer: addressQualifier 3, no row in CONNECTIVITY, no m_axi port
//   required_group  compileWorkGroupSize (0 0 0: any); maximum_group  maxWorkGroupSize (0: any)
// A native launch leaves the hidden arguments zero: it runs one work-item.
struct Kernel {
  std::string name;
  std::vector<Argument> arguments;  // as many as KernelEntry::num_arguments, in its order
  std::array<std::uint32_t, 3> required_group = {0, 0, 0};
  std::array<std::uint32_t, 3> maximum_group = {0, 0, 0};
};

struct CompileResult {
  std::vector<Kernel> kernels;
  std::vector<std::string> dependencies;  // files the source includes, and itself
  std::vector<std::string> messages;      // clang's warnings
  bool has_checked_copy = false;          // clang could compile it
  bool follows_values = false;            // it finds races of work-items and missing values, too
  std::vector<std::string> timed;         // objects of the third copies
};

// Whether v++ passes `path` to compile_opencl_c(): it ends in .cl.
bool is_opencl_c(const std::string& path);

// The object exports tandem_kernel_<name> (glue/kernel_entry.h) for each wanted kernel and nothing
// else; link it with the C++ compiler and -lm. Errors: Error naming the missing program's package,
// the kernel, or clang's own message.
CompileResult compile_opencl_c(const CompileOptions& options);

}  // namespace tandem::opencl_c
