// SPDX-License-Identifier: Apache-2.0
//
// submit() fixes a call on the caller's thread; the queue's thread owns group and error feedback.
#include "training/reducer/reducer.h"

#include <cmath>
#include <mutex>
#include <utility>

#include "common/thread_pool.h"
#include "training/reducer/calls.h"
#include "training/reducer/restored_state.h"
#include "training/reducer/state_bytes.h"
#include "training/reducer/step_report.h"
#include "training/reducer/values.h"

namespace tandem::training {
namespace {

const char* wrong_type(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
    case DType::kF64:
      return nullptr;
    default:
      return "gradients are of type f32, f16, bf16 or f64";
  }
}

}  // namespace

class Reducer::State {
 public:
  State(collectives::Group& group, const ReducerOptions& options)
      : group_(group),
        options_(with_warmup(options)),
        threads_(options.threads > 1 ? std::make_unique<ThreadPool>(options.threads) : nullptr),
        parameters_(options),
        devices_(options.open_device),
        feedback_(sparsifier_options(), devices_),
        report_(options, group.rank()),
        queue_(options.hidden_until) {}

  std::uint32_t add_parameter(const std::string& name, const std::vector<std::int64_t>& shape) {
    const std::lock_guard lock(mutex_);
    model_.reset();
    return parameters_.add(name, shape);
  }

  Ticket submit(const Bucket& bucket);
  Ticket submit_rows(const RowGradient& gradient);
  void end_step();
  Ticket broadcast(std::span<std::uint32_t> values, int root);
  bool wait(Ticket ticket, Deadline deadline) { return queue_.wait(ticket, deadline); }
  collectives::SparseTensor take_rows(Ticket ticket);
  std::vector<std::byte> state();
  void restore(std::span<const std::byte> bytes);
  ReducerStatistics counts() const;
  ReducerStatistics statistics();
  std::uint64_t step() const {
    const std::lock_guard lock(mutex_);
    return step_;
  }

 private:
  collectives::SparsifierOptions sparsifier_options() const {
    collectives::SparsifierOptions options = options_.algorithm;
    options.seed = options_.seed;
    options.agreed = true;  // by agree_on_call()
    options.reduce.timeout = options_.timeout;
    if (options_.wire != DType::kF32) options.reduce.wire = options_.wire;
    options.threads = threads_.get();
    return options;
  }

  // Under mutex_.
  CallHead head_of(bool last, DType type) {
    if (model_ == nullptr) {
      model_ = std::make_shared<const ModelText>(
          model_text(option_lines(options_), *parameters_.lines()));
    }
    const char* wrong = wrong_type(type);
    return {step_, last, type, model_, wrong == nullptr ? "" : wrong};
  }

  // Runs `call` unless the group has failed. body: returns the CallResult.
  template <typename Body>
  QueuedCall communicating(const CallHead& head, const BucketName& bucket, const std::string& title,
                           Body body);
  // Runs the body on the queue's thread, after the queued calls.
  template <typename Body>
  void between_calls(Body body);
  void run_or_fail(const std::function<void()>& body);
  ReducerState collect_state() const;
  void adopt_state(ReducerState state);

  collectives::Group& group_;
  const ReducerOptions options_;
  const std::unique_ptr<ThreadPool> threads_;

  mutable std::mutex mutex_;
  Parameters parameters_;
  std::shared_ptr<const ModelText> model_;
  std::uint64_t step_ = 0;
  std::map<Ticket, std::shared_ptr<collectives::SparseTensor>> rows_;

  // Used on the queue's thread only.
  GradientDevices devices_;
  ErrorFeedback feedback_;
  SparsityTrial trial_;
  std::exception_ptr failure_;  // the first that broke the group

  StatisticsTable statistics_;
  StepReport report_;
  CallQueue queue_;  // ends first
};

void Reducer::State::run_or_fail(const std::function<void()>& body) {
  if (failure_) std::rethrow_exception(failure_);
  try {
    body();
  } catch (const collectives::TransportError&) {
    failure_ = std::current_exception();
    throw;
  } catch (const DeviceError& error) {
    failure_ = std::current_exception();
    group_.abort(error.what());
    throw;
  } catch (const Error&) {
    throw;  // all ranks have it
  } catch (const std::exception& error) {
    failure_ = std::current_exception();
    group_.abort(error.what());  // the other ranks must not wait for this one
    throw;
  }
}

template <typename Body>
QueuedCall Reducer::State::communicating(const CallHead& head, const BucketName& bucket,
                                         const std::string& title, Body body) {
  struct Outcome {
    CallResult result;
    std::uint64_t bytes = 0;
    bool failed = true;
  };
  auto outcome = std::make_shared<Outcome>();
  QueuedCall call;
  call.step = head.step;
  call.last = head.last;
  call.run = [this, outcome, body = std::move(body)] {
    run_or_fail([&] {
      const std::uint64_t before = group_.traffic().bytes_sent();
      CallContext context{group_, options_, feedback_, trial_, devices_};
      outcome->result = body(context);
      outcome->bytes = group_.traffic().bytes_sent() - before;
      outcome->failed = false;
    });
  };
  call.finished = [this, outcome, bucket, title, step = head.step,
                   last = head.last](const CallTimes& times) {
    statistics_.record(bucket, outcome->result, outcome->bytes, times, outcome->failed);
    report_.call({title, step, last, outcome->bytes, bucket.num_values, outcome->failed},
                 outcome->result, times);
  };
  return call;
}

Ticket Reducer::State::submit(const Bucket& bucket) {
  const std::lock_guard lock(mutex_);
  trial_.step_begins(step_, options_.clock->now());
  BucketCall call{head_of(bucket.last, bucket.type),
                  nullptr,
                  bucket.values,
                  bucket.exact,
                  bucket.flush,
                  {},
                  {}};
  BucketName name;
  std::string title = "a bucket";
  try {
    call.plan = parameters_.plan(bucket.parameters);
    name = {call.plan->names, false, call.plan->num_values};
    title = call.plan->title;
    if (bucket.values == nullptr) call.head.error = "the bucket has no values; give their address";
    if (bucket.placement.memory == Memory::kDevice) {
      call.device = bucket.placement.device;
      call.queue = bucket.placement.queue;
    } else {
      require_host(bucket.placement, "training", "the bucket's values");
    }
  } catch (const Error& error) {
    call.head.error = text_without_module(error);
  }
  if (bucket.last) ++step_;
  return queue_.submit(communicating(
      call.head, name, title, [call](CallContext& context) { return run_bucket(context, call); }));
}

Ticket Reducer::State::submit_rows(const RowGradient& gradient) {
  const std::lock_guard lock(mutex_);
  trial_.step_begins(step_, options_.clock->now());
  RowsCall call;
  call.head = head_of(gradient.last, gradient.type);
  call.rows = gradient.rows.data();
  call.num_rows = gradient.rows.size();
  call.values = gradient.values;
  try {
    call.parameter = parameters_.at(gradient.parameter);
  } catch (const Error& error) {
    call.head.error = text_without_module(error);
  }
  if (gradient.last) ++step_;
  BucketName name{{}, true, call.parameter.num_values};
  if (!call.parameter.name.empty()) name.parameters = {call.parameter.name};
  const auto mean = std::make_shared<collectives::SparseTensor>();
  const Ticket ticket = queue_.submit(
      communicating(call.head, name, call.parameter.name,
                    [call, mean](CallContext& context) { return run_rows(context, call, *mean); }));
  rows_[ticket] = mean;
  return ticket;
}

void Reducer::State::end_step() {
  const std::lock_guard lock(mutex_);
  QueuedCall call;
  call.step = step_++;
  call.last = true;
  call.run = [this, step = call.step] { report_.end_step(step); };
  queue_.submit(std::move(call));
}

Ticket Reducer::State::broadcast(std::span<std::uint32_t> values, int root) {
  const std::lock_guard lock(mutex_);
  QueuedCall call;
  call.step = step_;
  call.run = [this, values, root] {
    run_or_fail([&] {
      collectives::CallOptions options;
      options.timeout = options_.timeout;
      collectives::broadcast(group_, std::as_writable_bytes(values), root, options);
    });
  };
  return queue_.submit(std::move(call));
}

collectives::SparseTensor Reducer::State::take_rows(Ticket ticket) {
  std::shared_ptr<collectives::SparseTensor> mean;
  {
    const std::lock_guard lock(mutex_);
    const auto found = rows_.find(ticket);
    if (found == rows_.end()) {
      throw Error("training", "ticket " + std::to_string(ticket) +
                                  " has no rows: it is not of submit_rows(), or they were taken");
    }
    mean = found->second;
    rows_.erase(found);
  }
  if (!queue_.wait(ticket, Deadline::never())) return {};
  return std::move(*mean);
}

template <typename Body>
void Reducer::State::between_calls(Body body) {
  QueuedCall call;
  {
    const std::lock_guard lock(mutex_);
    call.step = step_;
  }
  call.run = std::move(body);
  queue_.wait(queue_.submit(std::move(call)), Deadline::never());
}

ReducerState Reducer::State::collect_state() const {
  const std::lock_guard lock(mutex_);
  ReducerState state;
  state.rank = static_cast<std::uint32_t>(group_.rank());
  state.world = static_cast<std::uint32_t>(group_.world());
  state.step = step_;
  state.payoff = trial_.outcome().payoff;
  std::map<std::uint32_t, Tensors> tensors = feedback_.tensors();
  for (std::uint32_t number = 0; number < parameters_.size(); ++number) {
    const Parameter& parameter = parameters_[number];
    state.parameters.push_back({parameter.name, parameter.shape, std::move(tensors[number])});
  }
  state.parts = feedback_.parts();
  return state;
}

std::vector<std::byte> Reducer::State::state() {
  std::vector<std::byte> bytes;
  between_calls([&] { bytes = state_bytes(collect_state()); });
  return bytes;
}

void Reducer::State::adopt_state(ReducerState state) {
  const std::lock_guard lock(mutex_);
  check_same_model(state, parameters_, group_.rank(), group_.world());
  feedback_.restore(tensors_by_number(state, parameters_), restored_parts(state, parameters_));
  trial_.restore(state.payoff);
  step_ = state.step;
}

void Reducer::State::restore(std::span<const std::byte> bytes) {
  between_calls([&] { adopt_state(parse_state(bytes)); });
}

ReducerStatistics Reducer::State::counts() const {
  ReducerStatistics all = statistics_.snapshot();
  all.rank = group_.rank();
  all.world = group_.world();
  return all;
}

ReducerStatistics Reducer::State::statistics() {
  ReducerStatistics all = counts();
  std::map<std::string, double> squares;
  between_calls([&] {
    const std::lock_guard lock(mutex_);
    all.steps = step_;
    all.trial = trial_.outcome();
    all.warmup_steps = *options_.warmup_steps;
    for (const auto& [number, tensors] : feedback_.tensors()) {
      squares[parameters_[number].name] = residual_squares(tensors);
    }
  });
  add_residual_norms(all, squares);
  if (options_.metrics != nullptr) options_.metrics->set_residual_norm(all.residual_norm);
  return all;
}

Reducer::Reducer(collectives::Group& group, const ReducerOptions& options) {
  check_options(options);
  state_ = std::make_unique<State>(group, options);
}

Reducer::~Reducer() = default;

std::uint32_t Reducer::add_parameter(const std::string& name,
                                     const std::vector<std::int64_t>& shape) {
  return state_->add_parameter(name, shape);
}
Ticket Reducer::submit(const Bucket& bucket) { return state_->submit(bucket); }
Ticket Reducer::submit_rows(const RowGradient& gradient) { return state_->submit_rows(gradient); }
void Reducer::end_step() { state_->end_step(); }
Ticket Reducer::broadcast(std::span<std::uint32_t> values, int root) {
  return state_->broadcast(values, root);
}
bool Reducer::wait(Ticket ticket, Deadline deadline) { return state_->wait(ticket, deadline); }
collectives::SparseTensor Reducer::take_rows(Ticket ticket) { return state_->take_rows(ticket); }
std::vector<std::byte> Reducer::state() { return state_->state(); }
void Reducer::restore(std::span<const std::byte> bytes) { state_->restore(bytes); }
ReducerStatistics Reducer::statistics() { return state_->statistics(); }
ReducerStatistics Reducer::counts() const { return state_->counts(); }
std::uint64_t Reducer::step() const { return state_->step(); }

}  // namespace tandem::training
