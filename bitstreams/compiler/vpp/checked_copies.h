// SPDX-License-Identifier: Apache-2.0
//
// Compiles the checked copies of a C++ kernel's sources (kernel_checks.h), as far as the compiler
// can.
//
// What it cannot do is left out with a warning: the plugin, marks of some statements, at last the
// copies. Errors: Error("v++", ...) if a copy does not assemble. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/stages.h"

namespace tandem::vpp {

class CheckedCopies {
 public:
  CheckedCopies(const Toolchain& toolchain, const std::string& kernel);

  struct Source {
    const std::string& text;  // preprocessed, with processes
    const std::string& stem;  // of its files
    bool has_kernel = false;
  };
  // `command`: compiles the source, but for its input and output.
  void compile(std::vector<std::string> command, const Source& source);
  // One per source, or none.
  const std::vector<std::string>& objects() const { return objects_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  void choose_loop_flags();
  bool compiles(const std::vector<std::string>& command, const std::string& text,
                const Source& source);
  void assemble(const std::string& stem);
  void warn(const std::string& what) { warnings_.push_back(kernel_ + what); }

  const Toolchain& toolchain_;
  const std::string kernel_;             // for messages
  bool is_on_ = false;                   // the compiler makes such copies
  std::vector<std::string> loop_flags_;  // empty: loops get no version without checks
  bool fails_with_plugin_ = false;       // the compiler, with these flags
  std::vector<std::string> objects_;
  std::vector<std::string> warnings_;
};

}  // namespace tandem::vpp
