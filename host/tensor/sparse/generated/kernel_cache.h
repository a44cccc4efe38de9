// SPDX-License-Identifier: Apache-2.0
//
// KernelCache: compiled kernels as libraries in a folder, found by what they were made of.
//
// A file's name is the kernel's key and a hash of its source, the compiler, its flags and the
// processor, so a change of any of them compiles anew. A library is made in a folder of its own,
// appears by one rename, and ends in a checksum: two processes that make the same one do not
// disturb each other, and what a full disk or a death left is made again. When the libraries take
// more than `most_bytes`, those go that were not used for longest; a loaded library works without
// its file. A kernel that cannot be had is not tried again by this object. What others may write to
// or replace is not used, since libraries are run. Threads: any; a call waits while another
// compiles. Errors: none thrown; reason() tells.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tensor/sparse/generated/source_compiler.h"

namespace tandem::sparse {

struct KernelCacheOptions {
  std::string folder;  // empty: no kernel can be had
  std::uint64_t most_bytes = std::uint64_t{64} << 20;
  SourceCompiler compiler = SourceCompiler();
};

struct KernelCacheStats {
  std::size_t compiled = 0, loaded = 0, failed = 0, removed = 0;
  double compile_s = 0;  // of all that were tried
};

class KernelCache {
 public:
  explicit KernelCache(KernelCacheOptions options) : options_(std::move(options)) {}

  // The function `symbol` of the library of a source; null if it cannot be had.
  void* find(const std::string& key, const std::string& source, const char* symbol);

  // Whether find() would compile.
  bool has(const std::string& key, const std::string& source);

  // Why the last find() gave null; empty if it did not.
  std::string reason() const;
  KernelCacheStats stats() const;
  const std::string& folder() const { return options_.folder; }

 private:
  std::string file_of(const std::string& key, const std::string& source) const;
  // The library's handle, or null with reason_.
  void* load(const std::string& file);
  bool make(const std::string& file, const std::string& source);
  void remove_oldest();

  KernelCacheOptions options_;
  mutable std::mutex mutex_;
  std::map<std::string, void*> libraries_;  // by file; null: cannot be had
  std::string reason_;
  KernelCacheStats stats_;
};

}  // namespace tandem::sparse
