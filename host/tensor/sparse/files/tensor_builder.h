// SPDX-License-Identifier: Apache-2.0
//
// TensorBuilder: parses blocks of lines and appends their entries to a tensor.
//
// If sizes are not given, they are the greatest indices of all blocks. Threads: one caller; `pool`
// parses and copies the parts. Errors: Error with path and line, by LineBlocks::fail().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/files/entry_text.h"
#include "tensor/sparse/files/line_blocks.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

class TensorBuilder {
 public:
  // `file` names the lines in errors. It and `pool` must outlive the builder.
  TensorBuilder(const LineBlocks& file, EntryForm form, ThreadPool& pool);

  // first_line: the number of the first line of `lines`.
  void add(std::string_view lines, std::uint64_t first_line);

  // Of all, also those that were taken.
  std::uint64_t num_entries() const { return num_taken_ + tensor_.num_entries(); }

  // The entries so far, which the builder forgets. Their sizes are those that are known by now.
  CooTensor take();
  std::size_t size_bytes() const { return tensor_.size_bytes(); }

 private:
  void append(const EntryPart& part, std::size_t begin);

  const LineBlocks& file_;
  EntryForm form_;
  ThreadPool& pool_;
  std::vector<std::uint64_t> greatest_;  // [order]
  CooTensor tensor_;
  std::uint64_t num_taken_ = 0;
};

}  // namespace tandem::sparse
