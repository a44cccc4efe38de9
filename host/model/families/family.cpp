// SPDX-License-Identifier: Apache-2.0
//
// Choice of the family by the file's architecture.
#include "model/families/family.h"

namespace tandem::model {
namespace {

struct Family {
  std::string_view architecture;
  FamilyWeights (*read)(const Checkpoint& file, int vocab_size);
};
constexpr Family kFamilies[] = {
    {"llama", read_llama},       {"mistral", read_mistral},   {"mixtral", read_mixtral},
    {"qwen2", read_qwen2},       {"qwen2moe", read_qwen2moe}, {"qwen3", read_qwen3},
    {"qwen3moe", read_qwen3moe}, {"gemma2", read_gemma2},     {"gemma3", read_gemma3},
    {"phi3", read_phi3},
};

}  // namespace

FamilyWeights read_family(const Checkpoint& file, int vocab_size) {
  const std::string_view architecture = file.require_string("general.architecture");
  std::string supported;
  for (const Family& family : kFamilies) {
    if (family.architecture == architecture) return family.read(file, vocab_size);
    supported += (supported.empty() ? "" : ", ") + std::string(family.architecture);
  }
  throw file.field_error("general.architecture", "architecture '" + std::string(architecture) +
                                                     "' is not supported; supported: " + supported);
}

}  // namespace tandem::model
