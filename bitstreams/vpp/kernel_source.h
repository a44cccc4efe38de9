// SPDX-License-Identifier: Apache-2.0
//
// The text the compiler gets for a kernel: its source and the glue, preprocessed, with line markers
// as if the source had been compiled alone.
//
// Cost: a preprocessor run. Errors: Error with the compiler's messages. Threads: any, with
// different folders.
#pragma once

#include <string>
#include <vector>

namespace tandem::vpp {

struct PreprocessJob {
  std::string compiler;
  std::vector<std::string> flags;  // -I, -D, -std and so on
  std::string source;              // as the user named it
  std::string kernel;              // whose export is appended; empty: none
  std::string folder;              // for the files between
  std::string stem;                // their name
};

struct PreprocessedSource {
  std::string text;
  std::vector<std::string> dependencies;
  std::string messages;  // the compiler's warnings
};

PreprocessedSource preprocess(const PreprocessJob& job);

// Puts the element counts of arguments in registers into the export of a preprocessed source.
std::string with_register_elements(std::string text, const std::vector<std::string>& elements);

}  // namespace tandem::vpp
