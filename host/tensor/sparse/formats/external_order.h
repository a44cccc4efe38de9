// SPDX-License-Identifier: Apache-2.0
//
// ExternalOrder: entries in lexicographic order of their modes, in bounded memory.
//
// add() takes entries in any order. What does not fit into the memory is sorted and written to a
// temporary file as a run; visit() merges the runs. Duplicates are summed in the order in which
// they were added, so sums have the bits of sum_duplicates(). Memory: about that of SortMemory.
// Disk: 8 bytes per mode and value of each entry, in its folder, under no name. Threads: one
// caller; `pool` sorts. Errors: Error("tensor", ...) for a file that cannot be written or read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/function_ref.h"
#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

struct SortMemory {
  std::size_t bytes = 0;
  std::string folder = "/tmp";  // of the temporary file
};

class ExternalOrder {
 public:
  // Gets at least one chunk unless there are no entries. Modes as in `modes`; sizes are not set.
  using Visit = FunctionRef<void(const CooTensor& chunk)>;

  // modes: those of the chunks that are kept, in the order of comparison; each at most once.
  ExternalOrder(std::vector<std::size_t> modes, SortMemory memory, ThreadPool& pool);
  ~ExternalOrder();
  ExternalOrder(const ExternalOrder&) = delete;
  ExternalOrder& operator=(const ExternalOrder&) = delete;

  void add(const CooTensor& chunk);
  // May be called again; add() must not follow.
  void visit(Visit take);

  std::size_t num_runs() const { return runs_.size(); }

 private:
  struct Run {
    std::uint64_t first = 0, last = 0;  // records of the file
  };

  void append(const CooTensor& chunk, std::size_t begin, std::size_t end);
  void sort();
  void spill();
  void merge(Visit take);

  std::vector<std::size_t> modes_;
  SortMemory memory_;
  std::size_t capacity_;  // entries of a run
  ThreadPool& pool_;
  CooTensor buffer_;
  std::vector<std::uint64_t> greatest_;  // [modes]
  bool is_sorted_ = false;
  int file_ = -1;
  std::vector<Run> runs_;
};

}  // namespace tandem::sparse
