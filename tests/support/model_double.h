// SPDX-License-Identifier: Apache-2.0
//
// ModelDouble: a model without a file and without weights, for what only needs its configuration
// and its tokenizer.
//
// Every token stands for one letter; none ends a generation. Threads: immutable.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/model.h"

namespace tandem::test {

class LetterTokenizer final : public model::Tokenizer {
 public:
  explicit LetterTokenizer(int vocab_size) : vocab_size_(vocab_size) {}

  std::vector<model::TokenId> encode(std::string_view text,
                                     const model::EncodeOptions&) const override {
    return {text.begin(), text.end()};
  }
  std::string mark_control(std::string_view text, std::string_view) const override {
    return std::string(text);
  }
  std::string_view token_bytes(model::TokenId id) const override {
    return kLetters.substr(static_cast<std::size_t>(id) % kLetters.size(), 1);
  }
  int vocab_size() const override { return vocab_size_; }
  model::TokenId bos() const override { return model::kNoToken; }
  model::TokenId eos() const override { return model::kNoToken; }
  bool is_control(model::TokenId) const override { return false; }
  bool is_end_of_generation(model::TokenId) const override { return false; }
  bool strips_leading_space() const override { return false; }

 private:
  static constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
  const int vocab_size_;
};

class ModelDouble final : public model::Model {
 public:
  explicit ModelDouble(model::ModelConfig config)
      : config_(std::move(config)), tokenizer_(config_.vocab_size) {}

  const model::ModelConfig& config() const override { return config_; }
  const std::vector<model::LayerTensors>& layers() const override { return layers_; }
  const TensorView& embedding() const override { return none_; }
  const TensorView& output_norm() const override { return none_; }
  const TensorView& output() const override { return none_; }
  const model::Tokenizer& tokenizer() const override { return tokenizer_; }
  const model::ChatTemplate* chat_template() const override { return nullptr; }
  const std::string& chat_template_error() const override { return no_error_; }

 private:
  const model::ModelConfig config_;
  const LetterTokenizer tokenizer_;
  const std::vector<model::LayerTensors> layers_;
  const TensorView none_;
  const std::string no_error_;
};

}  // namespace tandem::test
