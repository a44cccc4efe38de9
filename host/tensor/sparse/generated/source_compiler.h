// SPDX-License-Identifier: Apache-2.0
//
// SourceCompiler: the C++ compiler of the machine at run time, which makes a source a library.
//
// TANDEM_KERNEL_COMPILER names it ("none": there is none); otherwise the first of c++, g++ and
// clang++ in PATH. A run that lasts too long is ended. Threads: any. Errors: returned as text,
// since callers have another way; a machine without a compiler is usual.
#pragma once

#include <chrono>
#include <string>

namespace tandem::sparse {

class SourceCompiler {
 public:
  // path: of a program that takes GCC's options; empty: there is none.
  explicit SourceCompiler(std::string path = "",
                          std::chrono::milliseconds limit = std::chrono::seconds(60));

  bool is_there() const { return !path_.empty(); }
  const std::string& path() const { return path_; }

  // What a library depends on beside its source: compiler, its version, flags, the processor.
  const std::string& identity() const { return identity_; }

  // Compiles the file `source` into the shared library `to`. Empty, or why there is none.
  std::string compile(const std::string& source, const std::string& to) const;

 private:
  std::string path_, identity_;
  std::chrono::milliseconds limit_;
};

}  // namespace tandem::sparse
