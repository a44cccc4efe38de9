// SPDX-License-Identifier: Apache-2.0
//
// TextTask: a language model that learns a text: samples are windows.
//
// `evaluated` is scored in the windows of `tandem perplexity --context`; ranks share the work.
// Ownership: borrows its parts. Threads: one.
#pragma once

#include "training/trainer/language_model.h"
#include "training/trainer/token_text.h"
#include "training/trainer/training_task.h"
#include "training/trainer/windows.h"

namespace tandem::training {

struct TextParts {
  const LanguageModel& model;
  Computation& computation;
  const TokenText& text;
  const TokenText* evaluated = nullptr;  // null: none
};

struct TextSizes {
  int batch = 8;      // windows of a pass
  int context = 256;  // tokens of a window
  std::uint64_t seed = 1;
};

class TextTask final : public TrainingTask {
 public:
  TextTask(const TextParts& parts, const TextSizes& sizes);

  std::uint64_t losses_of_sample() const override;
  void require(std::uint64_t samples) const override { windows_.require(samples); }
  double backward(std::uint64_t first, float scale, GradientListener* listener) override;
  std::optional<EvaluationFigures> evaluate(collectives::Group* group,
                                            const Patience& patience) override;
  void describe(nlohmann::ordered_json& fields) const override;
  void write_files(const std::string& folder) const override;

 private:
  TextParts parts_;
  TextSizes sizes_;
  Windows windows_;
  TokenRows rows_;
};

}  // namespace tandem::training
