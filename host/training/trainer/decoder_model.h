// SPDX-License-Identifier: Apache-2.0
//
// DecoderModel: a Llama-family decoder to train: its sizes, and the skeleton of its file.
//
// The skeleton is a GGUF file without the trained tensors: metadata, tokenizer and rotary factors.
// A checkpoint keeps it, so an export needs no other file. Parameters have GGUF's names, shapes and
// order of rotated rows. Ownership: owns its bytes. Threads: immutable. Errors: those of the file's
// format; Error("train", ...) for an architecture that is not trained, or a field of a
// configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/loader/gguf/gguf_writer.h"
#include "model/model.h"
#include "training/trainer/computation.h"
#include "training/trainer/language_model.h"
#include "training/trainer/parameter_set.h"

namespace tandem::training {

struct DecoderModel : LanguageModel {
  model::ModelConfig config;
};

// A GGUF file, or a published directory; then `tokenizer` names a GGUF file with its tokenizer.
DecoderModel read_decoder(const std::string& path, const std::string& tokenizer);
// The parameters of that file's model. Neither its weights nor a tokenizer are read.
std::vector<ParameterSpec> read_decoder_parameters(const std::string& path);
// The values of that file's tensors, dequantised.
void read_decoder_values(const std::string& path, ParameterSet& parameters);

// From scratch. file: TOML with the fields of decoder_config.h, or a published config.json.
// tokenizer: a GGUF file, "bytes", or empty: what the file says, else bytes.
DecoderModel make_decoder(const std::string& file, const std::string& tokenizer);

// "bytes", or the tokenizer of a GGUF file.
void set_tokenizer(const std::string& tokenizer, model::GgufWriter& to);

// What a checkpoint holds.
DecoderModel decoder_of_skeleton(std::string skeleton, bool tied);

std::vector<ParameterSpec> decoder_parameters(const DecoderModel& model);

// Borrows the model's frequencies. context: tokens of a window.
DecoderSizes decoder_sizes(const DecoderModel& model, int context);

}  // namespace tandem::training
