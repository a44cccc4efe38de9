// SPDX-License-Identifier: Apache-2.0
//
// A small GGUF file of every family, as lists of keys and tensors that a test may change before it
// is written.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "support/gguf_writer.h"

namespace tandem::test {

struct FamilyFile {
  std::string architecture;
  std::map<std::string, std::uint32_t> numbers;               // by key without architecture
  std::map<std::string, float> floats;                        // as above
  std::map<std::string, std::vector<std::uint64_t>> tensors;  // dimensions, innermost first

  // With the test vocabulary; tensors of one dimension are f32 ones (factors of long contexts:
  // twos), others random f16.
  GgufWriter writer() const;
};

// "mistral" and "mixtral" have the architecture "llama", as published files do.
inline const std::vector<std::string> kFamilyNames = {"llama",    "mistral", "mixtral",  "qwen2",
                                                      "qwen2moe", "qwen3",   "qwen3moe", "gemma2",
                                                      "gemma3",   "phi3"};

FamilyFile family_file(const std::string& name);

}  // namespace tandem::test
