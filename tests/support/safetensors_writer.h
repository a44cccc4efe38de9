// SPDX-License-Identifier: Apache-2.0
//
// Safetensors files and directories for tests: a writer that checks nothing, and small random
// models of the Llama family as they are published.
//
// Threads: one thread per writer. Errors: std::runtime_error when a file cannot be written.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/dtype.h"

namespace tandem::test {

// Tensors go to the file in the order in which they were added.
class SafetensorsWriter {
 public:
  // `shape`: outermost first. Values are stored as `dtype`: f32, f16 or bf16.
  void add(const std::string& name, const std::vector<std::uint64_t>& shape,
           const std::vector<float>& values, DType dtype = DType::kF32);
  // Any type, any bytes.
  void add_raw(const std::string& name, const std::string& type,
               const std::vector<std::uint64_t>& shape, std::string_view data);

  std::string bytes() const;
  void save(const std::string& path) const;

  // A file of this header, right or wrong, and this data.
  static std::string framed(std::string_view header, std::string_view data = {});

 private:
  nlohmann::ordered_json header_ = nlohmann::ordered_json::object();
  std::string data_;
};

struct HubModel {
  int num_layers = 2, width = 32, q_heads = 4, kv_heads = 2, ffn_width = 48, vocab_size = 64;
  bool ties_embeddings = false;
};

// config.json of a LlamaForCausalLM; tests change what they are about.
nlohmann::json hub_config(const HubModel& shape);
// Its tensors, random in `seed`, norms at one.
SafetensorsWriter hub_weights(const HubModel& shape, DType dtype, std::uint64_t seed);

void write_text(const std::string& path, std::string_view text);

// A new folder, removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

}  // namespace tandem::test
