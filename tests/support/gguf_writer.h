// SPDX-License-Identifier: Apache-2.0
//
// GGUF files for tests and benchmarks: random-weight models of any size and weight type.
//
// Threads: one thread per writer. Errors: as GgufWriter's; std::runtime_error on a shape that the
// vocabulary does not fit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "model/loader/gguf/gguf_writer.h"
#include "model/model.h"
#include "tensor/dtype.h"

namespace tandem::test {

using model::GgufWriter;

struct RandomLlama {
  int num_layers = 2;
  int width = 64;
  int q_heads = 4;
  int kv_heads = 2;
  int head_dim = 32;
  int ffn_width = 128;
  int vocab_size = 384;  // at least 320
  int context_length = 512;
  bool tied = true;
  float rope_base = 10000.0f;
  std::string chat_template;  // empty: none
  double zeros =
      0;  // part of the values of the layers' and an own output's matrices; not for blocks
};

// The shapes of Llama 3.2 1B and Llama 3 8B.
RandomLlama shape_of_1b();
RandomLlama shape_of_8b();

// A SentencePiece-style vocabulary: <unk> <s> </s>, 256 byte tokens, letters and common pieces,
// then words such as "_w300" up to `vocab_size`. Encodes any text.
void set_test_vocabulary(GgufWriter& writer, int vocab_size);

// Metadata, vocabulary and tensors of the model; weights have the variance that keeps activations
// near 1, norms are f32 ones. Deterministic in `seed`; about 1 GB/s.
GgufWriter random_llama(const RandomLlama& shape, DType dtype, std::uint64_t seed);
void write_random_llama(const std::string& path, const RandomLlama& shape, DType dtype,
                        std::uint64_t seed);
// The same, loaded from a temporary file that no longer has a name.
std::unique_ptr<model::Model> load_random_llama(const RandomLlama& shape, DType dtype,
                                                std::uint64_t seed);

}  // namespace tandem::test
