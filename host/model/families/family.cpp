// SPDX-License-Identifier: Apache-2.0
//
// Choice of the family by the file's architecture.
#include "model/families/family.h"

namespace tandem::model {

FamilyWeights read_family(const Checkpoint& file, int vocab_size) {
  const std::string_view architecture = file.require_string("general.architecture");
  if (architecture == "llama") return read_llama(file, vocab_size);
  throw file.field_error("general.architecture", "architecture '" + std::string(architecture) +
                                                     "' is not supported; supported: llama");
}

}  // namespace tandem::model
