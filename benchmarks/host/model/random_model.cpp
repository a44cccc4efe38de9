// SPDX-License-Identifier: Apache-2.0
//
// tandem-random-model: a GGUF file with random weights in any Llama shape, to measure speed and
// memory with models that exceed the caches. The default is the shape of Llama 3.2 1B with a small
// vocabulary of its own.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "support/gguf_writer.h"

int main(int argc, char** argv) {
  CLI::App app("Writes a GGUF model with random weights", "tandem-random-model");
  tandem::test::RandomLlama shape;
  shape.num_layers = 16;
  shape.width = 2048;
  shape.q_heads = 32;
  shape.kv_heads = 8;
  shape.head_dim = 64;
  shape.ffn_width = 8192;
  shape.vocab_size = 128256;
  shape.context_length = 8192;
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
  app.add_option("--type", type)
      ->check(CLI::IsMember({"f32", "f16", "q8_0"}))
      ->capture_default_str();
  app.add_option("--seed", seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const tandem::DType dtype = type == "f32"   ? tandem::DType::kF32
                              : type == "f16" ? tandem::DType::kF16
                                              : tandem::DType::kQ8_0;
  try {
    tandem::test::write_random_llama(out, shape, dtype, seed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem-random-model: %s\n", error.what());
    return 2;
  }
  return 0;
}
