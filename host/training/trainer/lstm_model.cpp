// SPDX-License-Identifier: Apache-2.0
//
// The bias of the forget gates begins with 1, so that states last (Jozefowicz et al. 2015): it is a
// parameter of its own.
#include "training/trainer/lstm_model.h"

#include <cmath>
#include <span>

#include "common/error.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/loader/gguf/gguf_writer.h"
#include "model/tokenizer/read_tokenizer.h"
#include "training/trainer/config_fields.h"
#include "training/trainer/decoder_model.h"

namespace tandem::training {

LstmModel lstm_of_skeleton(std::string skeleton, bool tied) {
  LstmModel result;
  result.family = "lstm";
  result.skeleton = std::move(skeleton);
  result.tied = tied;
  const model::GgufFile file(std::as_bytes(std::span(result.skeleton)), "the model's description");
  result.tokenizer = model::read_tokenizer(file);
  const auto size = [&](const char* key) {
    const auto value = file.get_u32(key);
    if (!value)
      throw Error("train", std::string("the model's description lacks ") + key +
                               "; resume from a checkpoint of an LSTM");
    return static_cast<int>(*value);
  };
  result.sizes = {size("lstm.block_count"), size("lstm.embedding_length"),
                  result.tokenizer->vocab_size()};
  return result;
}

LstmModel make_lstm(const std::string& path, const std::string& tokenizer) {
  FieldReader reader = read_fields(path);
  std::string kind, name = "lstm", own_tokenizer = "bytes";
  int layers = 0, width = 0;
  bool tied = true;
  reader.take("kind", kind);
  reader.take("name", name);
  reader.take("layers", layers, true);
  reader.take("width", width, true);
  reader.take("tied", tied);
  reader.take("tokenizer", own_tokenizer);
  reader.refuse_others();
  model::GgufWriter skeleton;
  skeleton.set_string("general.architecture", "lstm");
  skeleton.set_string("general.name", name);
  skeleton.set_u32("lstm.block_count", static_cast<std::uint32_t>(layers));
  skeleton.set_u32("lstm.embedding_length", static_cast<std::uint32_t>(width));
  set_tokenizer(tokenizer.empty() ? beside(path, own_tokenizer) : tokenizer, skeleton);
  return lstm_of_skeleton(skeleton.bytes(), tied);
}

std::vector<ParameterSpec> lstm_parameters(const LstmModel& model) {
  const std::int64_t width = model.sizes.width, vocab = model.sizes.vocab_size;
  const auto deviation = static_cast<float>(1 / std::sqrt(3.0 * static_cast<double>(width)));
  std::vector<ParameterSpec> specs = {{"token_embd.weight", {vocab, width}, 0.1f, 0}};
  for (int layer = 0; layer < model.sizes.num_layers; ++layer) {
    const std::string name = "lstm." + std::to_string(layer);
    specs.push_back({name + ".input.weight", {4 * width, width}, deviation, 0});
    specs.push_back({name + ".recurrent.weight", {4 * width, width}, deviation, 0});
    specs.push_back({name + ".bias", {4 * width}, 0, 0});
    specs.push_back({name + ".forget.bias", {width}, 0, 1});
  }
  if (!model.tied) specs.push_back({"output.weight", {vocab, width}, deviation, 0});
  specs.push_back({"output.bias", {vocab}, 0, 0});
  return specs;
}

}  // namespace tandem::training
