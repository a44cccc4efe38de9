// SPDX-License-Identifier: Apache-2.0
//
// Writes GGUF (version 3, little endian): small ones for tests, and random-weight models of any
// size for tests and benchmarks.
//
// GgufWriter keeps metadata in memory and asks for tensor bytes while writing, so a model of many
// gigabytes streams to disk. Nothing is checked: tests write wrong files with it on purpose.
// Threads: one thread per writer. Errors: std::runtime_error when the file cannot be written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace tandem::test {

// The `type` of a GGUF tensor of this element type.
std::uint32_t gguf_tensor_type(DType dtype);

class GgufWriter {
 public:
  void set_u32(std::string_view key, std::uint32_t value);
  void set_u64(std::string_view key, std::uint64_t value);
  void set_f32(std::string_view key, float value);
  void set_bool(std::string_view key, bool value);
  void set_string(std::string_view key, std::string_view value);
  void set_strings(std::string_view key, const std::vector<std::string>& values);
  void set_f32s(std::string_view key, const std::vector<float>& values);
  void set_i32s(std::string_view key, const std::vector<std::int32_t>& values);
  // Any type, any payload: for files that are wrong.
  void set_raw(std::string_view key, std::uint32_t type, std::string_view payload);

  // `fill` is called while writing, in order, with the tensor's bytes to set.
  using Fill = std::function<void(std::byte* data, std::size_t size)>;
  // dims: innermost first, [columns, rows]. `size_bytes` as the dtype needs.
  void add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims, DType dtype,
                  Fill fill);
  void add_tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                  const std::vector<float>& values);  // f32

  void write(std::ostream& out) const;
  void save(const std::string& path) const;
  std::string bytes() const;

 private:
  struct Tensor {
    std::string name;
    std::vector<std::uint64_t> dims;
    std::uint32_t type;
    std::size_t size_bytes;
    Fill fill;
  };
  std::uint64_t num_fields_ = 0;
  std::string fields_;
  std::vector<Tensor> tensors_;
};

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
};

// A SentencePiece-style vocabulary: <unk> <s> </s>, 256 byte tokens, letters and common pieces,
// then words such as "_w300" up to `vocab_size`. Encodes any text.
void set_test_vocabulary(GgufWriter& writer, int vocab_size);

// Metadata, vocabulary and tensors of the model; weights have the variance that keeps activations
// near 1, norms are f32 ones. Deterministic in `seed`; about 1 GB/s.
GgufWriter random_llama(const RandomLlama& shape, DType dtype, std::uint64_t seed);
void write_random_llama(const std::string& path, const RandomLlama& shape, DType dtype,
                        std::uint64_t seed);

}  // namespace tandem::test
