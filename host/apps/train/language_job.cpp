// SPDX-License-Identifier: Apache-2.0
//
// Models of text: llama decoders and LSTMs.
#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "apps/train/job.h"
#include "common/error.h"
#include "training/trainer/decoder_export.h"
#include "training/trainer/decoder_model.h"
#include "training/trainer/lstm_model.h"
#include "training/trainer/text_task.h"

namespace tandem::apps {
namespace {

using training::DecoderModel;
using training::LstmModel;
using Model = std::variant<DecoderModel, LstmModel>;

std::vector<training::ParameterSpec> parameters_of(const Model& model) {
  if (const auto* lstm = std::get_if<LstmModel>(&model)) return training::lstm_parameters(*lstm);
  return training::decoder_parameters(std::get<DecoderModel>(model));
}

// The model that --from or --model-config names.
Model named_model(const TrainOptions& options, const std::string& kind) {
  if (kind == "lstm") return training::make_lstm(options.model_config, options.tokenizer);
  if (!options.from.empty()) return training::read_decoder(options.from, options.tokenizer);
  return training::make_decoder(options.model_config, options.tokenizer);
}

Model saved_model(const training::Checkpoint& checkpoint, const std::string& kind) {
  if (kind == "lstm") return training::checkpoint_lstm(checkpoint);
  return training::checkpoint_decoder(checkpoint);
}

std::string text_of(const training::ParameterSpec& parameter) {
  return fmt::format("{} of [{}]", parameter.name, fmt::join(parameter.shape, ", "));
}

// The model that --from or --model-config names.
std::vector<training::ParameterSpec> named_parameters(const TrainOptions& options,
                                                      const std::string& kind) {
  if (!options.from.empty()) return training::read_decoder_parameters(options.from);
  return parameters_of(named_model(options, kind));
}

// The first parameter in which two models differ; empty: none.
std::string difference(const std::vector<training::ParameterSpec>& there,
                       const std::vector<training::ParameterSpec>& here) {
  for (std::size_t at = 0; at < std::min(there.size(), here.size()); ++at) {
    const std::string one = text_of(there[at]), other = text_of(here[at]);
    if (one != other) return fmt::format("parameter {} is {} there and {} here", at, one, other);
  }
  if (there.size() == here.size()) return "";
  return fmt::format("it has {} parameters there and {} here", there.size(), here.size());
}

Model model_without_checks(const JobSource& source, const std::string& kind) {
  const TrainOptions& options = source.options;
  if (source.checkpoint == nullptr) return named_model(options, kind);
  Model saved = saved_model(*source.checkpoint, kind);
  if (options.from.empty() && options.model_config.empty()) return saved;
  const std::string differs = difference(parameters_of(saved), named_parameters(options, kind));
  if (!differs.empty()) throw other_model(options, differs);
  return saved;
}

Model model_of(const JobSource& source, const std::string& kind) {
  Model model = model_without_checks(source, kind);
  if (const auto* decoder = std::get_if<DecoderModel>(&model)) {
    check_dynamic_options(source.options, decoder->config.experts.count);
  }
  return model;
}

// Tokens of a window. An LSTM has no bound.
int context_of(const Model& model, const std::optional<int>& asked) {
  const auto* decoder = std::get_if<DecoderModel>(&model);
  return decoder == nullptr ? asked.value_or(kWindowTokens) : window_tokens(*decoder, asked);
}

const training::LanguageModel& language_of(const Model& model) {
  return std::visit([](const auto& one) -> const training::LanguageModel& { return one; }, model);
}

class LanguageJob final : public TrainJob {
 public:
  LanguageJob(const JobSource& source, Model model)
      : model_(std::move(model)),
        context_(context_of(model_, source.options.context)),
        parameters_(parameters_of(model_)),
        text_(source.options.text, *language_of(model_).tokenizer) {
    const TrainOptions& options = source.options;
    set_values(source);
    if (!options.valid.empty()) read_valid(options.valid);
    computation_ = make_computation(source);
    task_.emplace(
        training::TextParts{language_of(model_), *computation_, text_, valid_ ? &*valid_ : nullptr},
        training::TextSizes{options.batch, context_, options.seed});
  }

  training::ParameterSet& parameters() override { return parameters_; }
  training::TrainingTask& task() override { return *task_; }
  std::string size() const override { return std::to_string(text_.size()) + " tokens"; }
  std::uint64_t data_checksum() const override { return checksum_of(text_); }
  std::uint64_t valid_checksum() const override { return valid_ ? checksum_of(*valid_) : 0; }

 private:
  void read_valid(const std::string& path) {
    valid_.emplace(path, *language_of(model_).tokenizer);
    if (valid_->size() == 0) {
      throw Error("train", "--valid " + path + " has no token to score; give a longer text");
    }
  }

  void set_values(const JobSource& source) {
    if (source.checkpoint != nullptr) return;  // Trainer::resume() reads them
    if (source.options.from.empty()) {
      parameters_.draw(source.options.seed);
    } else {
      training::read_decoder_values(source.options.from, parameters_);
    }
  }

  std::unique_ptr<training::Computation> make_computation(const JobSource& source) {
    if (const auto* lstm = std::get_if<LstmModel>(&model_)) {
      return source.library().make_lstm(lstm->sizes, source.computation(), parameters_);
    }
    return source.library().make_decoder(
        training::decoder_sizes(std::get<DecoderModel>(model_), context_), source.computation(),
        parameters_);
  }

  Model model_;
  const int context_;
  training::ParameterSet parameters_;
  training::TokenText text_;
  std::optional<training::TokenText> valid_;
  std::unique_ptr<training::Computation> computation_;
  std::optional<training::TextTask> task_;
};

}  // namespace

std::uint64_t checksum_of(const training::TokenText& text) {
  std::uint64_t sum = text.size();
  for (std::uint64_t at = 0; at < text.size(); ++at) {
    sum = sum * 0x100000001b3u ^ static_cast<std::uint64_t>(text[at]);
  }
  return sum;
}

training::DecoderModel decoder_of(const JobSource& source) {
  return std::get<DecoderModel>(model_of(source, "llama"));
}

int window_tokens(const DecoderModel& model, const std::optional<int>& asked) {
  if (asked) training::check_context(model, *asked);
  return asked.value_or(std::min(kWindowTokens, model.config.context_length));
}

std::unique_ptr<TrainJob> make_language_job(const JobSource& source, const std::string& kind) {
  if (source.options.text.empty())
    throw Error("train", "--text is missing: a file of UTF-8, or of token ids in .u16 or .u32");
  return std::make_unique<LanguageJob>(source, model_of(source, kind));
}

}  // namespace tandem::apps
