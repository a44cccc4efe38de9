// SPDX-License-Identifier: Apache-2.0
//
// A model file put together: metadata, family, tokenizer, chat template (declared in model.h).
#include "model/families/family.h"
#include "model/loader/gguf/gguf_file.h"
#include "model/model.h"
#include "model/tokenizer/read_tokenizer.h"

namespace tandem::model {
namespace {

class GgufModel : public Model {
 public:
  explicit GgufModel(const std::string& path)
      : file_(whole(path)),
        tokenizer_(read_tokenizer(file_)),
        weights_(read_family(file_, tokenizer_->vocab_size())) {
    read_chat_template();
  }

  const ModelConfig& config() const override { return weights_.config; }
  const std::vector<LayerTensors>& layers() const override { return weights_.layers; }
  const TensorView& embedding() const override { return weights_.embedding; }
  const TensorView& output_norm() const override { return weights_.output_norm; }
  const TensorView& output() const override { return weights_.output; }
  const Tokenizer& tokenizer() const override { return *tokenizer_; }
  const ChatTemplate* chat_template() const override { return chat_template_.get(); }
  const std::string& chat_template_error() const override { return chat_template_error_; }

  void read_ahead(const std::function<void(double)>& progress) const { file_.read_ahead(progress); }

 private:
  static GgufFile whole(const std::string& path) {
    GgufFile file(path);
    if (const auto parts = file.get_u32("split.count").value_or(1); parts > 1) {
      throw file.field_error("split.count", "the model is split over " + std::to_string(parts) +
                                                " files; merge them into one");
    }
    return file;
  }

  // A template we cannot read must not keep the model from completing plain text.
  void read_chat_template() {
    const auto source = file_.get_string("tokenizer.chat_template");
    if (!source) return;
    const auto text_of = [&](TokenId id) { return std::string(tokenizer_->token_bytes(id)); };
    try {
      chat_template_ = std::make_unique<ChatTemplate>(
          std::string(*source), text_of(tokenizer_->bos()), text_of(tokenizer_->eos()));
    } catch (const Error& error) {
      chat_template_error_ = error.what();
    }
  }

  GgufFile file_;
  std::unique_ptr<Tokenizer> tokenizer_;
  FamilyWeights weights_;
  std::unique_ptr<ChatTemplate> chat_template_;
  std::string chat_template_error_;
};

}  // namespace

std::unique_ptr<Model> load_model(const std::string& path,
                                  const std::function<void(double)>& progress) {
  auto model = std::make_unique<GgufModel>(path);
  if (progress) model->read_ahead(progress);
  return model;
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& path) {
  return read_tokenizer(GgufFile(path));
}

}  // namespace tandem::model
