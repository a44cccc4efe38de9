// SPDX-License-Identifier: Apache-2.0
//
// Two queues with a thread each: updates, and gathers. The gather of a bucket is queued by its
// update, so both run in the order of submit().
#include "training/offload/host_offload.h"

#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <utility>

#include "collectives/collective.h"
#include "common/error.h"
#include "common/raw_vector.h"
#include "tensor/sparse/wire_values.h"
#include "training/offload/owned_range.h"

namespace tandem::training {
namespace {

struct KnownParameter {
  OffloadedParameter parameter;
  std::vector<OwnedRange> ranges;        // by rank
  std::optional<std::uint32_t> updated;  // its number in the optimiser, if this rank owns a part
};

bool cut_by_rows(const UpdateRule& rule) {
  return std::holds_alternative<RowwiseAdagrad>(rule) || std::holds_alternative<RowAdam>(rule);
}

}  // namespace

class HostOffload::State {
 public:
  State(collectives::Group* group, const OffloadOptions& options)
      : options_(options),
        group_(group),
        rank_(group == nullptr ? 0 : group->rank()),
        world_(group == nullptr ? 1 : group->world()),
        pool_(options.threads),
        optimizer_(pool_),
        gathers_(HiddenUntil::kWait),
        updates_(HiddenUntil::kWait) {}

  std::uint32_t add(const OffloadedParameter& parameter);
  void begin_step(const StepFactors& step);
  void submit(const OffloadBucket& bucket);
  bool finish(Deadline deadline);
  std::vector<StateView> state();
  OffloadStatistics statistics() const;

 private:
  using Numbers = std::vector<std::uint32_t>;

  void check(const OffloadBucket& bucket) const;
  void update(const Numbers& parameters, const float* gradients);
  void update_or_break(const Numbers& parameters, const float* gradients);
  void queue_gather(const Numbers& parameters);
  void gather(const Numbers& parameters);
  RawVector<std::byte> packed(const Numbers& parameters) const;
  void unpack(const Numbers& parameters, int rank, std::span<const std::byte> bytes);
  void count(double OffloadStatistics::*sum, double seconds);
  void keep_error(std::exception_ptr error);

  const OffloadOptions options_;
  collectives::Group* const group_;
  const int rank_, world_;
  ThreadPool pool_;
  Optimizer optimizer_;
  std::vector<KnownParameter> known_;
  StepFactors step_;
  bool in_step_ = false;
  Ticket last_update_ = 0, last_gather_ = 0;
  std::vector<Numbers> kept_;          // buckets whose gathers come last
  std::atomic<bool> spoiled_ = false;  // the step has an error: its later buckets do nothing
  mutable std::mutex mutex_;           // guards the members below
  std::exception_ptr error_;
  OffloadStatistics statistics_;
  CallQueue gathers_;  // ends after the updates, which submit to it
  CallQueue updates_;
};

std::uint32_t HostOffload::State::add(const OffloadedParameter& parameter) {
  if (in_step_ || statistics().steps > 0) {
    throw Error("training", "parameter " + parameter.name + " comes after the first step");
  }
  if (!parameter.copy.empty() && parameter.copy.size() != parameter.weights.size()) {
    throw Error("training", "parameter " + parameter.name + " has " +
                                std::to_string(parameter.weights.size()) + " weights but " +
                                std::to_string(parameter.copy.size()) + " bf16 values");
  }
  const auto number = static_cast<std::uint32_t>(known_.size());
  KnownParameter known{parameter, {}, {}};
  for (int rank = 0; rank < world_; ++rank) {
    known.ranges.push_back(owned_range(number, parameter.weights.size(), parameter.width,
                                       cut_by_rows(parameter.rule), rank, world_));
  }
  const OwnedRange own = known.ranges[static_cast<std::size_t>(rank_)];
  check_rule(parameter.rule);
  if (own.count > 0 || parameter.weights.empty()) {
    known.updated = optimizer_.add({.name = parameter.name,
                                    .count = parameter.weights.size(),
                                    .width = parameter.width,
                                    .rule = parameter.rule,
                                    .owned_first = own.first,
                                    .owned_count = own.count});
  }
  known_.push_back(std::move(known));
  return number;
}

void HostOffload::State::begin_step(const StepFactors& step) {
  if (in_step_) throw Error("training", "the last step of the offload is not finished");
  check_step(step);
  step_ = step;
  spoiled_ = false;
  in_step_ = true;
}

void HostOffload::State::check(const OffloadBucket& bucket) const {
  if (!in_step_) throw Error("training", "submit() outside a step; call begin_step() first");
  std::uint64_t values = 0;
  for (const std::uint32_t number : bucket.parameters) {
    if (number >= known_.size()) {
      throw Error("training", "the offload has no parameter " + std::to_string(number));
    }
    values += known_[number].parameter.weights.size();
  }
  if (bucket.parameters.empty() || values != bucket.gradients.size()) {
    throw Error("training", "a bucket of " + std::to_string(bucket.parameters.size()) +
                                " parameters has " + std::to_string(values) + " values, not " +
                                std::to_string(bucket.gradients.size()));
  }
}

void HostOffload::State::submit(const OffloadBucket& bucket) {
  check(bucket);
  QueuedCall call;
  call.step = step_.iteration;
  call.run = [this, numbers = Numbers(bucket.parameters.begin(), bucket.parameters.end()),
              gradients = bucket.gradients.data(), arrived = bucket.arrived] {
    try {
      if (arrived) arrived();
    } catch (...) {
      spoiled_ = true;
      keep_error(std::current_exception());
    }
    if (!spoiled_) update_or_break(numbers, gradients);
    const std::lock_guard lock(mutex_);
    ++statistics_.buckets;
    if (spoiled_) ++statistics_.skipped_buckets;
  };
  call.finished = [this](const CallTimes& times) {
    count(&OffloadStatistics::update_seconds, times.seconds);
  };
  last_update_ = updates_.submit(std::move(call));
}

// Runs on the thread of the updates. An error here is an error of this rank only.
void HostOffload::State::update_or_break(const Numbers& parameters, const float* gradients) {
  try {
    update(parameters, gradients);
    if (world_ == 1) return;
    if (options_.gathers_last) return kept_.push_back(parameters);
    queue_gather(parameters);
  } catch (const std::exception& error) {
    spoiled_ = true;
    keep_error(std::current_exception());
    if (group_ != nullptr) group_->abort(std::string("an update failed: ") + error.what());
  }
}

void HostOffload::State::queue_gather(const Numbers& parameters) {
  QueuedCall call;
  call.step = step_.iteration;
  call.run = [this, parameters] { gather(parameters); };
  call.finished = [this](const CallTimes& times) {
    count(&OffloadStatistics::gather_seconds, times.seconds);
  };
  last_gather_ = gathers_.submit(std::move(call));
}

void HostOffload::State::update(const Numbers& parameters, const float* gradients) {
  for (const std::uint32_t number : parameters) {
    const KnownParameter& known = known_[number];
    const OffloadedParameter& p = known.parameter;
    const OwnedRange own = known.ranges[static_cast<std::size_t>(rank_)];
    if (own.count > 0) {
      optimizer_.update(step_,
                        {.parameter = *known.updated,
                         .first = own.first,
                         .weights = p.weights.subspan(own.first, own.count),
                         .gradient = {gradients + own.first, own.count},
                         .copy = p.copy.empty() ? p.copy : p.copy.subspan(own.first, own.count)});
    }
    gradients += p.weights.size();
  }
}

RawVector<std::byte> HostOffload::State::packed(const Numbers& parameters) const {
  RawVector<std::byte> bytes;
  for (const std::uint32_t number : parameters) {
    const OwnedRange own = known_[number].ranges[static_cast<std::size_t>(rank_)];
    const auto part = std::as_bytes(known_[number].parameter.weights.subspan(own.first, own.count));
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return bytes;
}

// On the thread of the gathers; the next update changes other parameters meanwhile.
void HostOffload::State::gather(const Numbers& parameters) {
  try {
    const RawVector<std::byte> own = packed(parameters);
    const auto all = collectives::allgatherv(*group_, own, {options_.timeout});
    for (int rank = 0; rank < world_; ++rank) {
      if (rank != rank_) unpack(parameters, rank, all[static_cast<std::size_t>(rank)]);
    }
    const std::lock_guard lock(mutex_);
    statistics_.gathered_bytes += own.size();
  } catch (...) {
    keep_error(std::current_exception());
  }
}

void HostOffload::State::unpack(const Numbers& parameters, int rank,
                                std::span<const std::byte> bytes) {
  const auto place = static_cast<std::size_t>(rank);
  std::size_t expected = 0;
  for (const std::uint32_t number : parameters) {
    expected += known_[number].ranges[place].count * sizeof(float);
  }
  if (bytes.size() != expected) {
    throw Error("training", "rank " + std::to_string(rank) + " sent " +
                                std::to_string(bytes.size()) + " bytes of weights, not " +
                                std::to_string(expected) +
                                ": the ranks have other parameters or buckets");
  }
  for (const std::uint32_t number : parameters) {
    const OffloadedParameter& p = known_[number].parameter;
    const OwnedRange range = known_[number].ranges[place];
    float* to = p.weights.data() + range.first;
    const std::size_t size = range.count * sizeof(float);
    if (size > 0) std::memcpy(to, bytes.data(), size);
    if (size > 0 && !p.copy.empty()) {
      sparse::store_wire(bytes.data(), range.count, DType::kF32, DType::kBF16,
                         reinterpret_cast<std::byte*>(p.copy.data() + range.first));
    }
    bytes = bytes.subspan(size);
  }
}

bool HostOffload::State::finish(Deadline deadline) {
  if (!in_step_) throw Error("training", "finish() outside a step; call begin_step() first");
  const auto begin = SteadyClock::now();
  if (last_update_ != 0 && !updates_.wait(last_update_, deadline)) return false;
  for (const Numbers& parameters : std::exchange(kept_, {})) queue_gather(parameters);
  if (last_gather_ != 0 && !gathers_.wait(last_gather_, deadline)) return false;
  in_step_ = false;
  count(&OffloadStatistics::exposed_seconds,
        std::chrono::duration<double>(SteadyClock::now() - begin).count());
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    ++statistics_.steps;
    error = std::exchange(error_, nullptr);
  }
  if (error) std::rethrow_exception(error);
  return true;
}

std::vector<StateView> HostOffload::State::state() {
  if (in_step_) throw Error("training", "state() inside a step; call finish() first");
  return optimizer_.state();
}

OffloadStatistics HostOffload::State::statistics() const {
  const std::lock_guard lock(mutex_);
  OffloadStatistics statistics = statistics_;
  statistics.state_bytes = optimizer_.state_bytes();
  return statistics;
}

void HostOffload::State::count(double OffloadStatistics::*sum, double seconds) {
  const std::lock_guard lock(mutex_);
  statistics_.*sum += seconds;
}

void HostOffload::State::keep_error(std::exception_ptr error) {
  const std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

HostOffload::HostOffload(collectives::Group* gather, const OffloadOptions& options)
    : state_(std::make_unique<State>(gather, options)) {}
HostOffload::~HostOffload() = default;

std::uint32_t HostOffload::add(const OffloadedParameter& parameter) {
  return state_->add(parameter);
}
void HostOffload::begin_step(const StepFactors& step) { state_->begin_step(step); }
void HostOffload::submit(const OffloadBucket& bucket) { state_->submit(bucket); }
bool HostOffload::finish(Deadline deadline) { return state_->finish(deadline); }
std::vector<StateView> HostOffload::state() { return state_->state(); }
OffloadStatistics HostOffload::statistics() const { return state_->statistics(); }

}  // namespace tandem::training
