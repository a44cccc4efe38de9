// SPDX-License-Identifier: Apache-2.0
//
// TextTrainer: a Trainer with a TextTask of its own, for runs on a text.
//
// Borrows the parts. Threads: one.
#pragma once

#include "training/trainer/text_task.h"
#include "training/trainer/trainer.h"

namespace tandem::test {

struct TextTrainerParts {
  const training::LanguageModel& model;
  training::ParameterSet& parameters;
  training::Computation& computation;
  const training::TokenText& text;
  const training::TokenText* evaluated = nullptr;  // null: none
  training::OpenLogs open_logs = {};
  training::RanksWait ranks_wait = {};
};

// A base, so that it is there before the Trainer.
struct OwnTextTask {
  training::TextTask task;
};

class TextTrainer : private OwnTextTask, public training::Trainer {
 public:
  static constexpr int kContext = 16;

  TextTrainer(const training::TrainerOptions& options, const TextTrainerParts& parts)
      : OwnTextTask{{{parts.model, parts.computation, parts.text, parts.evaluated},
                     {options.batch, kContext, options.seed}}},
        Trainer(options, {task, parts.parameters, parts.open_logs, parts.ranks_wait}) {}
};

}  // namespace tandem::test
