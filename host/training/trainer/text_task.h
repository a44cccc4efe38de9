// SPDX-License-Identifier: Apache-2.0
//
// TextTask: a language model that learns from a text; a sample is a window of the text.
//
// `evaluated` is scored in the windows of `tandem perplexity --context`; ranks share the work.
// Ownership: borrows its parts. Threads: one.
#pragma once

#include "training/trainer/language_model.h"
#include "training/trainer/text_batches.h"
#include "training/trainer/training_task.h"

namespace tandem::training {

struct TextParts {
  const LanguageModel& model;
  Computation& computation;
  const TokenText& text;
  const TokenText* evaluated = nullptr;  // null: none
};

class TextTask final : public TrainingTask {
 public:
  TextTask(const TextParts& parts, const TextSizes& sizes);

  std::uint64_t losses_of_sample() const override;
  void require(std::uint64_t samples) const override { batches_.require(samples); }
  double backward(std::uint64_t first, float scale, GradientListener* listener) override;
  std::optional<EvaluationFigures> evaluate(collectives::Group* group,
                                            const Patience& patience) override;
  void describe(nlohmann::ordered_json& fields) const override;
  void write_files(const std::string& folder) const override;

 private:
  TextParts parts_;
  TextSizes sizes_;
  TextBatches batches_;
};

}  // namespace tandem::training
