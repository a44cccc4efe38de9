// SPDX-License-Identifier: Apache-2.0
//
// write_tensor: a sparse tensor as text, plain or gzip.
//
// `.tns`: indices from 1 and the shortest text that reads back as the same value. The sizes are in
// a comment, "# sizes 4 5 6", which programs that read FROSTT files skip, or in a header of two
// lines. Matrix Market: coordinate real general. Cost: about 100 ns per entry, divided by the
// threads; gzip takes a few times as long, on one thread. Threads: one caller; `pool` formats the
// parts. Errors: Error("tensor", ...) with the reason, such as a full disk; the file is then
// incomplete.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "common/thread_pool.h"
#include "tensor/sparse/formats/coo_tensor.h"

namespace tandem::sparse {

enum class TextFormat : std::uint8_t {
  kTns,            // the sizes are in a comment
  kTnsWithHeader,  // begins with a line with the order and a line with the sizes
  kMatrixMarket,   // of order 2 only
};

struct WriteOptions {
  TextFormat format = TextFormat::kTns;
  bool gzip = false;
  std::string name = {};  // of the file in errors; empty: its path
};

// Writes a tensor in chunks.
class TensorWriter {
 public:
  // num_entries: of all chunks together; Matrix Market has it in its header.
  TensorWriter(const std::string& path, const WriteOptions& options,
               std::span<const std::uint64_t> sizes, std::uint64_t num_entries, ThreadPool& pool);
  ~TensorWriter();
  TensorWriter(const TensorWriter&) = delete;
  TensorWriter& operator=(const TensorWriter&) = delete;

  // Of the tensor's order; its sizes are not read.
  void write(const CooTensor& chunk);
  void close();

 private:
  class TextFile;

  std::unique_ptr<TextFile> file_;
  ThreadPool& pool_;
};

void write_tensor(const CooTensor& tensor, const std::string& path, const WriteOptions& options,
                  ThreadPool& pool);

// Derives the options from the file name: .tns or .mtx, optionally followed by .gz. Throws Error
// for other names.
WriteOptions write_options_for(const std::string& path);

}  // namespace tandem::sparse
