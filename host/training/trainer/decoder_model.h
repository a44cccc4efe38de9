// SPDX-License-Identifier: Apache-2.0
//
// DecoderModel: a Llama-family decoder to train: its sizes, and a skeleton of its file.
//
// The skeleton is a GGUF file without the trained tensors: metadata, tokenizer and rotary factors.
// A checkpoint contains it, so an export needs no other file. Parameters have GGUF's names, shapes
// and order of rotated rows. Ownership: owns its bytes. Threads: immutable. Errors: those of the
// file's format; Error("train", ...) for an unsupported architecture or a wrong field.
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

// Reads a GGUF file, or a published directory; `tokenizer` then names a GGUF file with its
// tokenizer.
DecoderModel read_decoder(const std::string& path, const std::string& tokenizer);
// Reads the parameters of the model in that file, but neither weights nor a tokenizer.
std::vector<ParameterSpec> read_decoder_parameters(const std::string& path);
// Reads the values of the tensors in that file, dequantised.
void read_decoder_values(const std::string& path, ParameterSet& parameters);

// Makes a new model. file: TOML with the fields of decoder_config.h, or a published config.json.
// tokenizer: a GGUF file, "bytes", or empty: the tokenizer of the file, otherwise bytes.
DecoderModel make_decoder(const std::string& file, const std::string& tokenizer);

// tokenizer: "bytes", or a GGUF file with a tokenizer.
void set_tokenizer(const std::string& tokenizer, model::GgufWriter& to);

// Makes the model from the skeleton in a checkpoint.
DecoderModel decoder_of_skeleton(std::string skeleton, bool tied);

std::vector<ParameterSpec> decoder_parameters(const DecoderModel& model);

// Error where `context`, the tokens of a window, exceeds the model's own.
void check_context(const DecoderModel& model, int context);

// Borrows the model's frequencies. context: tokens of a window.
DecoderSizes decoder_sizes(const DecoderModel& model, int context);

}  // namespace tandem::training
