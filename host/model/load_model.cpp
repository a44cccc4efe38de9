// SPDX-License-Identifier: Apache-2.0
//
// A model put together from a GGUF file or a directory: configuration, family, tokenizer, chat
// template (declared in model.h).
#include <filesystem>

#include "model/families/family.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/loader/safetensors/safetensors_checkpoint.h"
#include "model/model.h"
#include "model/tokenizer/read_tokenizer.h"
#include "model/tokenizer/tokenizer_json.h"
#include "model/tokenizer/vocabulary.h"

namespace tandem::model {
namespace {

class LoadedModel : public Model {
 public:
  LoadedModel(std::unique_ptr<Checkpoint> checkpoint, std::unique_ptr<Tokenizer> tokenizer)
      : checkpoint_(std::move(checkpoint)),
        tokenizer_(std::move(tokenizer)),
        weights_(read_family(*checkpoint_, tokenizer_->vocab_size())) {}

  const ModelConfig& config() const override { return weights_.config; }
  const std::vector<LayerTensors>& layers() const override { return weights_.layers; }
  const TensorView& embedding() const override { return weights_.embedding; }
  const TensorView& output_norm() const override { return weights_.output_norm; }
  const TensorView& output() const override { return weights_.output; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  const ChatTemplate* chat_template() const override { return chat_template_.get(); }
  const std::string& chat_template_error() const override { return chat_template_error_; }

  void release(const TensorView& tensor) const override {
    checkpoint_->release({tensor.data, tensor.size_bytes()});
  }

  void read_ahead(const std::function<void(double)>& progress) const {
    checkpoint_->read_ahead(progress);
  }

  // A template we cannot read must not keep the model from completing plain text.
  void read_chat_template(const std::function<std::optional<std::string>()>& source) {
    const auto text_of = [&](TokenId id) { return std::string(tokenizer_->token_bytes(id)); };
    try {
      const std::optional<std::string> text = source();
      if (!text) return;
      chat_template_ = std::make_unique<ChatTemplate>(*text, text_of(tokenizer_->bos()),
                                                      text_of(tokenizer_->eos()));
    } catch (const Error& error) {
      chat_template_error_ = error.what();
    }
  }

 private:
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<Tokenizer> tokenizer_;
  FamilyWeights weights_;
  std::unique_ptr<ChatTemplate> chat_template_;
  std::string chat_template_error_;
};

std::unique_ptr<LoadedModel> load_gguf(const std::string& path) {
  auto file = std::make_unique<GgufFile>(path);
  if (const auto parts = file->get_u32("split.count").value_or(1); parts > 1) {
    throw file->field_error("split.count", "the model is split over " + std::to_string(parts) +
                                               " files; merge them into one");
  }
  std::optional<std::string> source;
  if (const auto text = file->get_string("tokenizer.chat_template")) source = *text;
  auto tokenizer = read_tokenizer(*file);
  auto model = std::make_unique<LoadedModel>(std::move(file), std::move(tokenizer));
  model->read_chat_template([&] { return source; });
  return model;
}

std::unique_ptr<LoadedModel> load_directory(const std::string& path) {
  auto checkpoint = std::make_unique<SafetensorsCheckpoint>(path);
  const CheckpointTensor* embedding = checkpoint->find_tensor("token_embd.weight");
  if (embedding == nullptr) throw checkpoint->missing_tensor_error("token_embd.weight");
  const TensorView rows = checkpoint->view(*embedding);
  const std::string width =
      std::string(checkpoint->require_string("general.architecture")) + ".embedding_length";
  if (rows.rows > static_cast<std::int64_t>(kMaxTokens)) {
    throw checkpoint->tensor_error(*embedding, "has more rows than there can be tokens");
  }
  if (rows.columns != checkpoint->require_u32(width)) {
    throw checkpoint->tensor_error(*embedding, "has rows of " + std::to_string(rows.columns) +
                                                   " values, the width is " +
                                                   std::to_string(checkpoint->require_u32(width)));
  }
  const HubTexts texts = read_hub_texts(path);
  auto tokenizer = read_tokenizer_json(texts, static_cast<int>(rows.rows));
  auto model = std::make_unique<LoadedModel>(std::move(checkpoint), std::move(tokenizer));
  model->read_chat_template([&] { return hub_chat_template(texts); });
  return model;
}

}  // namespace

std::unique_ptr<Model> load_model(const std::string& path,
                                  const std::function<void(double)>& progress,
                                  const std::function<void(const ModelConfig&)>& accept) {
  auto model = std::filesystem::is_directory(path) ? load_directory(path) : load_gguf(path);
  if (accept) accept(model->config());
  if (progress) model->read_ahead(progress);
  return model;
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  if (std::filesystem::is_directory(path)) return read_tokenizer_json(read_hub_texts(path), 0);
  return read_tokenizer(GgufFile(path));
}

}  // namespace tandem::model
