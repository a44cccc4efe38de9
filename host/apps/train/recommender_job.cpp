// SPDX-License-Identifier: Apache-2.0
//
// A recommender on synthetic samples, or on a file of Criteo's format.
#include "apps/train/job.h"
#include "common/error.h"
#include "training/trainer/recommender_task.h"

namespace tandem::apps {
namespace {

training::RecommenderConfig saved_config(const training::Checkpoint& checkpoint) {
  try {
    return training::recommender_of_json(checkpoint.fields.at("recommender"));
  } catch (const nlohmann::json::exception& error) {
    throw Error("train", "'" + checkpoint.file("checkpoint.json") +
                             "': field 'recommender': " + error.what());
  }
}

training::RecommenderConfig config_of(const JobSource& source) {
  const std::string& named = source.options.model_config;
  if (source.checkpoint == nullptr) return training::read_recommender_config(named);
  training::RecommenderConfig saved = saved_config(*source.checkpoint);
  if (named.empty()) return saved;
  const auto there = to_json(saved), here = to_json(training::read_recommender_config(named));
  for (const auto& [field, value] : there.items()) {
    if (here.at(field) == value) continue;
    throw other_model(source.options, "field '" + field + "' is " + value.dump() + " there and " +
                                          here.at(field).dump() + " here");
  }
  return saved;
}

class RecommenderJob final : public TrainJob {
 public:
  explicit RecommenderJob(const JobSource& source)
      : config_(config_of(source)),
        parameters_(training::recommender_parameters(config_)),
        samples_(training::open_samples(source.options.data, config_, source.options.seed)) {
    const TrainOptions& options = source.options;
    if (!options.valid.empty()) {
      valid_ = training::open_samples(options.valid, config_, options.seed);
    }
    const training::RecommenderSizes sizes = {config_.dense, config_.width, config_.tables(),
                                              static_cast<int>(config_.bottom.size()) + 1,
                                              static_cast<int>(config_.top.size()) + 1};
    computation_ = source.library().make_recommender(sizes, source.computation(), parameters_);
    task_.emplace(training::RecommenderParts{config_, *computation_, *samples_, valid_.get()},
                  options.batch);
    if (source.checkpoint != nullptr) return;  // Trainer::resume() reads the values
    parameters_.draw(options.seed);
    task_->draw(options.seed);
  }

  training::ParameterSet& parameters() override { return parameters_; }
  training::TrainingTask& task() override { return *task_; }
  std::string size() const override {
    std::uint64_t values = 0;
    for (const training::TrainedTable& table : task_->tables()) values += table.weights.size();
    const std::string samples =
        samples_->size() == 0 ? "synthetic" : std::to_string(samples_->size());
    return std::to_string(config_.tables()) + " tables of " + std::to_string(values) + " values, " +
           samples + " samples";
  }
  std::uint64_t data_checksum() const override { return samples_->checksum(); }
  std::uint64_t valid_checksum() const override { return valid_ ? valid_->checksum() : 0; }

 private:
  training::RecommenderConfig config_;
  training::ParameterSet parameters_;
  std::unique_ptr<training::RecommenderSamples> samples_, valid_;
  std::unique_ptr<training::RecommenderComputation> computation_;
  std::optional<training::RecommenderTask> task_;
};

}  // namespace

std::unique_ptr<TrainJob> make_recommender_job(const JobSource& source) {
  if (source.options.data.empty()) {
    throw Error("train", "--data is missing: a file of Criteo's format, or the word synthetic");
  }
  return std::make_unique<RecommenderJob>(source);
}

}  // namespace tandem::apps
