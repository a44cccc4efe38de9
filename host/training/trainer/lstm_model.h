// SPDX-License-Identifier: Apache-2.0
//
// LstmModel: a language model of LSTM layers to train: its sizes, tokenizer and parameters.
//
// TOML: kind = "lstm", layers, width, tied, tokenizer, name, as in decoder_config.h. The skeleton
// has the architecture "lstm", which only the trainer can read. Parameters: lstm_computation.h.
// Ownership: owns its bytes. Threads: immutable. Errors: Error("train", ...) with the field.
#pragma once

#include <string>
#include <vector>

#include "training/trainer/language_model.h"
#include "training/trainer/lstm_computation.h"
#include "training/trainer/parameter_set.h"

namespace tandem::training {

struct LstmModel : LanguageModel {
  LstmSizes sizes;
};

// tokenizer: a GGUF file, "bytes", or empty: the tokenizer of the file, otherwise bytes.
LstmModel make_lstm(const std::string& file, const std::string& tokenizer);
LstmModel lstm_of_skeleton(std::string skeleton, bool tied);

std::vector<ParameterSpec> lstm_parameters(const LstmModel& model);

}  // namespace tandem::training
