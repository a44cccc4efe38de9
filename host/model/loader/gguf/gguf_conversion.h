// SPDX-License-Identifier: Apache-2.0
//
// Converts the tensors of a model file to other types.
//
// Metadata is copied, except for the general.* keys about types and layout. Only matrices of
// products change their type: token_embd, output and blk.N.*, but not routers and convolutions.
// Norms, biases and frequencies keep theirs. Threads: uses the pool alone while the writer writes.
// Errors: those of quantize_matrix().
#pragma once

#include <functional>

#include "common/thread_pool.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/loader/gguf/gguf_writer.h"
#include "tensor/prune.h"
#include "tensor/tensor_view.h"

namespace tandem::model {

// The tensor as a matrix: all dimensions after the first are joined, because the matrices of
// experts are stored one after the other.
TensorView as_rows(const GgufTensor& tensor);

// Whether a conversion may change this tensor's type.
bool is_matrix_of_products(const GgufTensor& tensor);

// Which matrices are pruned; their types are floats. Borrowed.
struct GgufPruning {
  Pruner* pruner = nullptr;
  std::function<bool(const GgufTensor&)> prunes;
  // The table of a model whose output is its table; null: none. The file gets a pruned copy of it
  // as output.weight, in `output_type`, behind all other tensors.
  const GgufTensor* output = nullptr;
  DType output_type = DType::kF32;
};

// A writer of the file with every tensor in type_of(tensor), whose blocks must divide its rows. It
// reads `file` and uses `pool` while it writes: both must outlive it.
GgufWriter convert_gguf(const GgufFile& file,
                        const std::function<DType(const GgufTensor&)>& type_of, ThreadPool& pool,
                        const GgufPruning& pruning = {});

}  // namespace tandem::model
