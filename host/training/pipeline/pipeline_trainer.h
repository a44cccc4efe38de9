// SPDX-License-Identifier: Apache-2.0
//
// PipelineTrainer: the loop of a run whose layers lie on several ranks.
//
// Ranks run it alike. Losses, gradient norms and weights have the bits of a Trainer on one rank
// with the same micro-batches (batch, accumulate). A checkpoint is that of a Trainer, so either
// goes on with the other's. Layers are timed in every step; at rebalance points all ranks decide
// from the same profile, and layers move (migration.h). Ownership: borrows what the parts name.
// Threads: one; request_stop() from any, and from signal handlers. Errors: Error("train", ...);
// TransportError when a rank is lost, and then --resume goes on from the last checkpoint.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/group.h"
#include "training/pipeline/pipeline_step.h"
#include "training/pipeline/rebalance.h"
#include "training/trainer/checkpoint.h"
#include "training/trainer/language_model.h"
#include "training/trainer/token_text.h"
#include "training/trainer/trainer.h"

namespace tandem::training {

struct PipelineOptions {
  PassOrder order = PassOrder::kOneForward;
  int chunks = 1;                     // stages of a rank
  planner::Cuts cuts;                 // of the first step; empty: equal numbers of layers
  std::uint64_t rebalance_every = 0;  // steps; 0: the layers stay
  double freeze = 0;                  // of the run, after which the first layer is frozen; 0: never
  // Decides at a rebalance point in place of choose_stages(); equal on all ranks.
  std::function<std::optional<NewStages>(std::uint64_t step, const RebalanceQuestion&)> choose = {};
};

struct PipelineParts {
  std::vector<ParameterSpec> parameters;  // of the whole model
  int num_blocks = 0;
  int width = 0;
  std::uint64_t losses_of_sample = 0;
  MakeLayer make;
  // Sets the first values of these parameters, by number; not called by a resumed run.
  std::function<void(const std::map<std::size_t, std::span<float>>&)> fill;
  std::function<TokenBatch(std::uint64_t first_sample)> batch;
  OpenLogs open_logs = {};
  const LanguageModel* model = nullptr;  // that checkpoints describe; null: none
  // Scores a text by losses(), the same batches on all ranks; empty: there is none.
  std::function<Likelihood(Computation& forward)> score = {};
  // Called on rank 0 with what the pipeline did: a migration, or the profile at the end.
  std::function<void(const nlohmann::ordered_json&)> tell = {};
};

class PipelineTrainer {
 public:
  PipelineTrainer(const TrainerOptions& options, const PipelineOptions& pipeline,
                  PipelineParts parts);
  ~PipelineTrainer();

  void resume(const Checkpoint& checkpoint);
  // group: all its ranks are the pipeline; null: one rank.
  void run(collectives::Group* group);

  std::uint64_t steps_done() const { return step_; }
  bool was_stopped() const { return stopped_; }
  int num_layers() const { return static_cast<int>(specs_.size()); }
  const StagePlan& plan() const { return plan_; }
  RankLayers& layers() { return layers_; }
  static void request_stop() { stop_requested().store(true); }

 private:
  struct Sums;        // of a step, over all ranks
  struct Profile;     // of the steps since the last change
  class ForwardOnly;  // losses() through all ranks

  static std::atomic<bool>& stop_requested();
  int rank() const { return group_ == nullptr ? 0 : group_->rank(); }
  Patience patience() const { return {options_.reduce.timeout, {}}; }
  std::uint64_t samples_of_step() const;
  bool has_shared_matrix() const { return specs_.back().tied; }

  void make_plan();
  void make_layers();
  void fill_layers();
  void share_matrix();
  void train_step();
  StepOutcome run_passes(int first_trained);
  Sums sum_up(const StepOutcome& outcome);
  void update(const Sums& sums, int first_trained);
  void refuse_nan();
  void log_step(const Sums& sums);
  void evaluate_now();
  void rebalance();
  std::vector<LayerProfile> gather_profile();
  void move_layers(const NewStages& found);
  void tell_profile();
  void save();
  void save_if_due();
  void write_parts_of(const std::string& folder);
  nlohmann::ordered_json checkpoint_fields() const;
  void restore(const Checkpoint& checkpoint);

  const TrainerOptions options_;
  const PipelineOptions pipeline_;
  const PipelineParts parts_;
  const std::vector<LayerSpec> specs_;
  ThreadPool pool_;
  const LayerTools tools_;
  collectives::Group* group_ = nullptr;
  StagePlan plan_;
  RankLayers layers_;
  std::optional<Checkpoint> resumed_;
  std::vector<TrainingLog*> logs_;
  std::unique_ptr<Profile> profile_;
  std::uint64_t step_ = 0, samples_ = 0;
  bool stopped_ = false;
};

// Layers that learn no more before step `step` (from 0): those whose share of the run is over,
// freeze^(1/3) + (1 - freeze^(1/3)) layer / layers, cubed. The output always learns.
int frozen_layers(double freeze, int num_layers, std::uint64_t step, std::uint64_t steps);

}  // namespace tandem::training
