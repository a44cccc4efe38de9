// SPDX-License-Identifier: Apache-2.0
//
// One group serves reductions and gathers. So gathers that would begin beside reductions wait for
// the end of the pass.
#include "training/trainer/dense_update.h"

#include <utility>

#include "training/offload/host_offload.h"
#include "training/trainer/local_directions.h"

namespace tandem::training {
namespace {

std::uint32_t width_of(const ParameterSpec& spec, std::size_t count) {
  return static_cast<std::uint32_t>(
      spec.shape.size() > 1 ? static_cast<std::size_t>(spec.shape.back()) : count);
}

UpdateRule rule_of_parameter(const ParameterSet& parameters, std::size_t parameter,
                             const DenseUpdateOptions& options) {
  const UpdateRule rule = rule_of(parameters.spec(parameter), options.rule);
  const bool directions = !options.directions.empty() && options.directions[parameter];
  return directions ? rule_of_directions(rule, options.rate_of_directions) : rule;
}

class UpdateInPlace final : public DenseUpdate {
 public:
  UpdateInPlace(ParameterSet& parameters, const GradientMean& mean,
                const DenseUpdateOptions& options)
      : parameters_(parameters), mean_(mean), pool_(options.threads), optimizer_(pool_) {
    for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
      const ParameterSpec& spec = parameters.spec(parameter);
      const std::size_t count = parameters.values(parameter).size();
      numbers_.push_back(
          optimizer_.add({.name = spec.name,
                          .count = count,
                          .width = width_of(spec, count),
                          .rule = rule_of_parameter(parameters, parameter, options)}));
    }
  }

  void begin(const StepFactors&) override {}
  void take(const MeanBucket&) override {}
  void apply(const StepFactors& step) override {
    for (std::size_t parameter = 0; parameter < numbers_.size(); ++parameter) {
      optimizer_.update(step, {.parameter = numbers_[parameter],
                               .weights = parameters_.values(parameter),
                               .gradient = mean_.gradient(parameter),
                               .copy = {}});
    }
  }
  void drop() override {}
  std::vector<StateView> state() override { return optimizer_.state(); }

 private:
  ParameterSet& parameters_;
  const GradientMean& mean_;
  ThreadPool pool_;
  Optimizer optimizer_;
  std::vector<std::uint32_t> numbers_;
};

class OffloadedUpdate final : public DenseUpdate {
 public:
  OffloadedUpdate(collectives::Group* group, ParameterSet& parameters,
                  const DenseUpdateOptions& options)
      : early_(options.early), offload_(group, {options.threads, options.timeout, options.early}) {
    for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
      const ParameterSpec& spec = parameters.spec(parameter);
      offload_.add({.name = spec.name,
                    .width = width_of(spec, parameters.values(parameter).size()),
                    .rule = rule_of_parameter(parameters, parameter, options),
                    .weights = parameters.values(parameter),
                    .copy = {}});
    }
  }

  void begin(const StepFactors& step) override {
    if (early_) offload_.begin_step(step);
  }
  void take(const MeanBucket& bucket) override {
    if (!early_) return buckets_.push_back(bucket);
    offload_.submit({bucket.parameters, bucket.values, bucket.arrived});
  }
  void apply(const StepFactors& step) override {
    if (!early_) {
      offload_.begin_step(step);
      for (const MeanBucket& bucket : buckets_) {
        offload_.submit({bucket.parameters, bucket.values, {}});
      }
      buckets_.clear();
    }
    offload_.finish(Deadline::never());  // every gather has its timeout
  }
  void drop() override {
    buckets_.clear();
    if (early_) offload_.finish(Deadline::never());
  }
  std::vector<StateView> state() override { return offload_.state(); }

 private:
  const bool early_;
  std::vector<MeanBucket> buckets_;  // buckets whose means have arrived
  HostOffload offload_;
};

}  // namespace

UpdateRule rule_of(const ParameterSpec& spec, const UpdateRule& rule) {
  UpdateRule result = rule;
  if (spec.shape.size() < 2) std::visit([](auto& each) { each.weight_decay = 0; }, result);
  return result;
}

void add_state_places(const std::string& name, std::uint64_t count, std::uint32_t width,
                      const UpdateRule& rule, std::vector<TensorPlace>& places) {
  for (const StateSlot& slot : state_slots(rule)) {
    const std::uint64_t values = slot.per_row ? count / width : count;
    places.push_back({name + "/" + slot.name, {static_cast<std::int64_t>(values)}});
  }
}

std::vector<TensorPlace> state_places(const ParameterSet& parameters, const UpdateRule& rule) {
  std::vector<TensorPlace> places;
  for (std::size_t parameter = 0; parameter < parameters.size(); ++parameter) {
    const ParameterSpec& spec = parameters.spec(parameter);
    const std::size_t count = parameters.values(parameter).size();
    add_state_places(spec.name, count, width_of(spec, count), rule_of(spec, rule), places);
  }
  return places;
}

std::unique_ptr<DenseUpdate> make_update_in_place(ParameterSet& parameters,
                                                  const GradientMean& mean,
                                                  const DenseUpdateOptions& options) {
  return std::make_unique<UpdateInPlace>(parameters, mean, options);
}

std::unique_ptr<DenseUpdate> make_offloaded_update(collectives::Group* group,
                                                   ParameterSet& parameters,
                                                   const DenseUpdateOptions& options) {
  return std::make_unique<OffloadedUpdate>(group, parameters, options);
}

}  // namespace tandem::training
