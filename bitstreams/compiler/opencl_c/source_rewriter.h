// SPDX-License-Identifier: Apache-2.0
//
// Removes the vendor's additions to OpenCL C from a preprocessed source.
//
// Attributes (xcl_pipeline_loop, xcl_dataflow, xcl_array_partition, xcl_reqd_pipe_depth, ...) are
// replaced by blanks, so lines and columns do not change. Loop hints are also replaced where clang
// does not accept them. A program-scope `pipe T name` becomes a constant with that name: the
// number by which a pipe call finds its pipe. The parser works on tokens; strings, characters and
// line markers stay. Errors: Error with the file's name for an attribute without an end or a pipe
// without a type. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tandem::opencl_c {

struct Pipe {
  std::string name;
  std::uint32_t depth = 0;  // 0: none stated
};

// A vendor attribute that changes a kernel's time: a loop's xcl_pipeline_loop or
// opencl_unroll_hint, at the line of the loop, or a variable's xcl_array_partition or
// xcl_array_reshape.
struct TimeHint {
  std::string name;
  std::string kind;  // the first word of its values: "cyclic"
  std::vector<std::uint32_t> values;
  std::string variable;  // empty: of a loop
  std::string file;
  int line = 0;
};

struct RewrittenSource {
  std::string text;
  std::vector<Pipe> pipes;  // the number of a pipe is its index
  std::map<std::string, std::array<std::uint32_t, 3>> maximum_groups;  // key: the kernel's name
  std::vector<TimeHint> hints;
  std::set<std::string> conversions;  // names of convert_ functions in the source
};

// `text`: the preprocessed source. `file`: its name for messages.
RewrittenSource rewrite_source(const std::string& text, const std::string& file);

// Removes from a preprocessed text the lines of clang's own header `header`.
std::string without_header(const std::string& text, const std::string& header);

// Returns definitions of the convert_ functions with these names. Throws Error naming a function
// that does not exist.
std::string define_conversions(const std::set<std::string>& names, const std::string& file);

}  // namespace tandem::opencl_c
