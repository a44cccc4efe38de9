// SPDX-License-Identifier: Apache-2.0
//
// Families: read configuration and weights of an architecture by its keys and tensor names.
//
// To add a family: a file in this folder, a declaration here, and an entry in read_family(). A
// family checks the shape of every tensor and names a missing one. decoder.h has the shared parts.
// Weights are views of the file. Errors: those of the checkpoint.
#pragma once

#include <vector>

#include "model/loader/checkpoint.h"
#include "model/model.h"

namespace tandem::model {

struct FamilyWeights {
  ModelConfig config;
  std::vector<LayerTensors> layers;
  TensorView embedding, output_norm, output;
};

// Selects by general.architecture; Error for an unknown one lists the supported ones.
FamilyWeights read_family(const Checkpoint& file, int vocab_size);

FamilyWeights read_llama(const Checkpoint& file, int vocab_size);
FamilyWeights read_mistral(const Checkpoint& file, int vocab_size);
FamilyWeights read_mixtral(const Checkpoint& file, int vocab_size);
FamilyWeights read_qwen2(const Checkpoint& file, int vocab_size);
FamilyWeights read_qwen2moe(const Checkpoint& file, int vocab_size);
FamilyWeights read_qwen3(const Checkpoint& file, int vocab_size);
FamilyWeights read_qwen3moe(const Checkpoint& file, int vocab_size);
FamilyWeights read_gemma2(const Checkpoint& file, int vocab_size);
FamilyWeights read_gemma3(const Checkpoint& file, int vocab_size);
FamilyWeights read_phi3(const Checkpoint& file, int vocab_size);

}  // namespace tandem::model
