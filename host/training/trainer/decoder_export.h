// SPDX-License-Identifier: Apache-2.0
//
// Exports the decoder of a checkpoint as a GGUF file that `tandem serve` can load: the skeleton
// with the trained tensors in f32.
//
// Threads: one. Errors: Error("train", ...) for a checkpoint of another family.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "model/loader/gguf/gguf_writer.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/decoder_model.h"
#include "training/trainer/lstm_model.h"

namespace tandem::training {

struct ExportedDecoder {
  std::unique_ptr<ParameterSet> parameters;  // the writer reads them while it writes
  model::GgufWriter writer;
};

// The option of a run that a GGUF file has no place for; empty: none. options: what its checkpoints
// store, an object of texts.
std::string unexportable_option(const nlohmann::json& options);

ExportedDecoder export_decoder(const Checkpoint& checkpoint);

// The model of a checkpoint, without its values.
DecoderModel checkpoint_decoder(const Checkpoint& checkpoint);
LstmModel checkpoint_lstm(const Checkpoint& checkpoint);

}  // namespace tandem::training
