// SPDX-License-Identifier: Apache-2.0
//
// LargeTensor: the entries of a file in memory, or sorted on disk where they are too many.
//
// --memory limits what entries take. Above it they are sorted through temporary files
// (external_order.h). Either way duplicates are summed, in lexicographic order. Threads: one
// caller. Errors: those of the files.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/external_order.h"

namespace tandem::apps {

// memory: bytes, at least 64 KiB; 0: half of what is free.
void add_tensor_memory(CLI::App& command, std::uint64_t& memory);
std::size_t tensor_memory(std::uint64_t option);

struct LargeTensor {
  LargeTensor(const std::string& path, std::size_t memory_bytes, ThreadPool& pool);

  // Calls `take` with all entries: in sorted chunks from disk, or once with the tensor in memory.
  void visit(sparse::ExternalOrder::Visit take);
  // The memory and folder for sorting the entries once more while this object exists.
  sparse::SortMemory part() const;

  std::size_t memory_bytes;
  std::vector<std::uint64_t> sizes;
  double summing_ms = 0;       // of duplicates in memory
  std::uint64_t num_read = 0;  // entries of the file, with duplicates
  sparse::CooTensor whole;     // if `sorted` is null
  std::unique_ptr<sparse::ExternalOrder> sorted;

  static constexpr std::size_t kParts = 4;
};

}  // namespace tandem::apps
