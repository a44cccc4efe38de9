// SPDX-License-Identifier: Apache-2.0
//
// The text that the compiler gets for a kernel: glue, source and export, preprocessed, with line
// markers as if the source were compiled alone.
//
// The user's macros are defined after the glue, so they may have any names. Cost: a preprocessor
// run. Errors: Error with the compiler's messages. Threads: any, with different folders.
#pragma once

#include <string>
#include <vector>

namespace tandem::vpp {

struct PreprocessJob {
  std::string compiler;
  std::vector<std::string> flags;   // -I, -std and so on
  std::vector<std::string> macros;  // lines such as "#define X 1", placed before the source
  std::string source;               // as the user named it
  std::string kernel;               // the kernel whose export is appended; empty: none
  std::string folder;               // for intermediate files
  std::string stem;                 // name of the intermediate files, without suffix
};

struct PreprocessedSource {
  std::string text;
  std::vector<std::string> dependencies;
  std::string messages;  // the compiler's warnings
};

PreprocessedSource preprocess(const PreprocessJob& job);

// Removes -D and -U from `flags` and returns them as #define and #undef lines. Names that begin
// with '_' or TANDEM_ stay, because the system's headers and the glue need them.
std::vector<std::string> take_macros(std::vector<std::string>& flags);

// Writes the element counts of the arguments that are registers into the export of a preprocessed
// source.
std::string with_register_elements(std::string text, const std::vector<std::string>& elements);

}  // namespace tandem::vpp
