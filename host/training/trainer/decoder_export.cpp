// SPDX-License-Identifier: Apache-2.0
//
// Shapes are outermost first here, innermost first in GGUF.
#include "training/trainer/decoder_export.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "common/error.h"
#include "model/loader/gguf/gguf_file.h"

namespace tandem::training {

namespace {

std::string skeleton_of(const Checkpoint& checkpoint) {
  const std::vector<std::byte> bytes = read_bytes(checkpoint.file("skeleton.gguf"));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void require_family(const Checkpoint& checkpoint, const std::string& wanted) {
  const auto family = checkpoint.fields.value("family", "");
  if (family == wanted) return;
  throw Error("train", "'" + checkpoint.folder + "' is of the family '" + family + "', not of " +
                           (wanted == "llama" ? "a decoder" : wanted) +
                           "; name the folder of a run that trains one");
}

void refuse_unexportable(const Checkpoint& checkpoint) {
  const std::string option =
      unexportable_option(checkpoint.fields.value("options", nlohmann::json::object()));
  if (option.empty()) return;
  throw Error("train", "'" + checkpoint.folder + "' was trained with " + option +
                           ", which a GGUF file has no place for; only --resume can go on with it");
}

}  // namespace

// A model that computes otherwise than a GGUF file can say would give other texts there.
std::string unexportable_option(const nlohmann::json& options) {
  for (const auto& [name, none] :
       {std::pair("--early-exit", "0"), {"--depth", "1"}, {"--expert-skew", "0"}}) {
    if (options.value(name, none) != none) return name;
  }
  return "";
}

DecoderModel checkpoint_decoder(const Checkpoint& checkpoint) {
  require_family(checkpoint, "llama");
  return decoder_of_skeleton(skeleton_of(checkpoint), checkpoint.fields.at("tied").get<bool>());
}

LstmModel checkpoint_lstm(const Checkpoint& checkpoint) {
  require_family(checkpoint, "lstm");
  return lstm_of_skeleton(skeleton_of(checkpoint), checkpoint.fields.at("tied").get<bool>());
}

ExportedDecoder export_decoder(const Checkpoint& checkpoint) {
  refuse_unexportable(checkpoint);
  const DecoderModel model = checkpoint_decoder(checkpoint);
  ExportedDecoder result;
  result.parameters = std::make_unique<ParameterSet>(decoder_parameters(model));
  std::vector<WantedTensor> values;
  for (std::size_t parameter = 0; parameter < result.parameters->size(); ++parameter) {
    const ParameterSpec& spec = result.parameters->spec(parameter);
    values.push_back({spec.name, spec.shape, result.parameters->values(parameter)});
  }
  read_tensors(checkpoint.file("model.safetensors"), values);
  const model::GgufFile skeleton(std::as_bytes(std::span(model.skeleton)), "skeleton.gguf");
  for (const model::GgufFile::RawField& field : skeleton.raw_fields()) {
    result.writer.set_raw(field.key, static_cast<std::uint32_t>(field.type), field.payload);
  }
  result.writer.set_u32("general.file_type", 0);
  for (const model::GgufTensor& tensor : skeleton.tensors()) {
    std::vector<float> factors(tensor.dims[0]);
    std::memcpy(factors.data(), tensor.data, tensor.size_bytes);
    result.writer.add_tensor(tensor.name, {tensor.dims[0]}, factors);
  }
  for (const WantedTensor& tensor : values) {
    std::vector<std::uint64_t> dims(tensor.shape.rbegin(), tensor.shape.rend());
    result.writer.add_tensor(tensor.name, dims, DType::kF32,
                             [from = tensor.values](std::byte* data, std::size_t size) {
                               std::memcpy(data, from.data(), size);
                             });
  }
  return result;
}

}  // namespace tandem::training
