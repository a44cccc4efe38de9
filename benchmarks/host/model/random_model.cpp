// SPDX-License-Identifier: Apache-2.0
//
// tandem-random-model: a GGUF file with random weights in any Llama shape, to measure speed and
// memory with models that exceed the caches. The default is the shape of Llama 3.2 1B with a
// smaller vocabulary.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "support/gguf_writer.h"

namespace {

constexpr tandem::DType kTypes[] = {tandem::DType::kF32, tandem::DType::kF16, tandem::DType::kBF16,
                                    tandem::DType::kQ8_0, tandem::DType::kQ4_0};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const tandem::DType type : kTypes) names.emplace_back(tandem::dtype_name(type));
  return names;
}

tandem::DType type_of(const std::string& name) {
  return *std::find_if(std::begin(kTypes), std::end(kTypes),
                       [&](tandem::DType type) { return tandem::dtype_name(type) == name; });
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes a GGUF model with random weights", "tandem-random-model");
  tandem::test::RandomLlama shape = tandem::test::shape_of_1b();
  std::string out, type = "q8_0";
  std::uint64_t seed = 1;
  app.add_option("out", out, "file to write")->required();
  app.add_option("--layers", shape.num_layers)->capture_default_str();
  app.add_option("--width", shape.width)->capture_default_str();
  app.add_option("--q-heads", shape.q_heads)->capture_default_str();
  app.add_option("--kv-heads", shape.kv_heads)->capture_default_str();
  app.add_option("--head-dim", shape.head_dim)->capture_default_str();
  app.add_option("--ffn", shape.ffn_width)->capture_default_str();
  app.add_option("--vocab", shape.vocab_size)->capture_default_str();
  app.add_option("--context", shape.context_length)->capture_default_str();
  app.add_option("--type", type)->check(CLI::IsMember(type_names()))->capture_default_str();
  app.add_option("--zeros", shape.zeros,
                 "part of the values that are zero, but for the embeddings; for f32, f16 and bf16")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_flag("--own-output{false}", shape.tied, "the output has a matrix of its own");
  app.add_option("--seed", seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    tandem::test::write_random_llama(out, shape, type_of(type), seed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem-random-model: %s\n", error.what());
    return 2;
  }
  return 0;
}
