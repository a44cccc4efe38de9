// SPDX-License-Identifier: Apache-2.0
//
// The thread around EngineLoop, and the queue of requests before it.
//
// Callers and the engine's thread share one mutex. It protects the incoming requests and
// cancellations, the counts that bound the queue, and the status as last published. The thread
// holds it only to swap lists. It delivers events after it has published the status, without the
// lock, so that a sink may call submit(), cancel() and status().
#include "engine/engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "common/error.h"
#include "engine/engine_metrics.h"
#include "engine/executor/executor.h"
#include "engine/loop/engine_loop.h"
#include "engine/loop/sequence.h"
#include "engine/loop/unit_reviver.h"

namespace tandem::engine {
namespace {

constexpr auto kMetricsInterval = std::chrono::milliseconds(100);
constexpr auto kSequencesListed = std::chrono::seconds(10);  // after the last call of sequences()

ExecutorOptions executor_options(const EngineOptions& options) {
  ExecutorOptions result;
  result.device_timeout = options.device_timeout;
  result.weights = options.weights;
  result.early_query = options.early_query;
  result.rings = options.rings;
  result.compute_bandwidth_bytes_per_s = options.compute_bandwidth_bytes_per_s;
  result.timeline = options.timeline;
  result.compute_id = options.compute_id;
  return result;
}

// An executor on the compute unit that `make` returns.
std::unique_ptr<StepRunnerSource> fallback_source(const std::function<NamedCompute()>& make,
                                                  const model::Model& model,
                                                  ExecutorOptions options) {
  NamedCompute next = make();
  if (!next.unit) throw Error("engine", "no compute unit to fall back to");
  options.compute_id = next.id;
  options.compute_bandwidth_bytes_per_s = next.bandwidth_bytes_per_s;
  return std::make_unique<ExecutorSource>(model, std::move(next.unit), std::move(options));
}

EngineLoop make_loop(const model::Model& model, device::ComputeUnit& compute,
                     std::vector<NamedUnit> units, const EngineOptions& options,
                     Fallbacks fallbacks) {
  LoopFallbacks made{std::move(fallbacks.attention), {}, static_cast<bool>(fallbacks.revive)};
  if (fallbacks.compute) {
    made.compute = [make = std::move(fallbacks.compute), &model, base = executor_options(options)] {
      return fallback_source(make, model, base);
    };
  }
  ExecutorSource source(model, compute, executor_options(options));
  return EngineLoop(model, source, std::move(units), options, std::move(made));
}

}  // namespace

struct Engine::State {
  State(const model::Model& model, device::ComputeUnit& compute, std::vector<NamedUnit> units,
        const EngineOptions& options, Fallbacks fallbacks, trace::Metrics* metrics)
      : model(model),
        options(options),
        metrics(metrics),
        loop(make_loop(model, compute, std::move(units), options, fallbacks)) {
    if (fallbacks.revive) {
      reviver = std::make_unique<UnitReviver>(std::move(fallbacks.revive), options.revive_interval,
                                              options.on_warning);
    }
    if (metrics != nullptr) {
      loop.on_token = [metrics](Sequence& sequence) { observe_token(*metrics, sequence); };
      loop.on_end = [metrics](Sequence& sequence) { observe_end(*metrics, sequence); };
    }
    loop.newcomers = [this] { return newcomers(); };
    publish();
  }

  void run();
  bool take_commands();
  std::vector<Newcomer> newcomers();
  void publish();
  void deliver();
  void record_heartbeat() { last_heartbeat = std::chrono::steady_clock::now(); }
  void check_unused_units();
  bool exchange_units();
  bool is_queue_full(const std::string& caller, int count) const;
  SubmitStatus admission(const std::string& caller, int count) const;

  const model::Model& model;
  const EngineOptions options;
  trace::Metrics* const metrics;
  EngineLoop loop;  // the engine thread's, once it runs
  std::unique_ptr<UnitReviver>
      reviver;  // before the loop ends: its units may use the runner's buffers
  Clock::TimePoint metrics_set_at, units_asked_at, sequences_listed_at;
  bool lists_sequences = false;  // the engine thread's
  std::atomic<int> max_request_tokens{0};
  std::atomic<std::chrono::steady_clock::time_point> last_heartbeat{
      std::chrono::steady_clock::now()};

  std::mutex mutex;
  std::condition_variable work, idle;
  std::vector<std::unique_ptr<Sequence>> incoming;
  std::atomic<bool> has_incoming = false;
  std::vector<RequestId> cancelled;
  EngineStatus status;
  std::vector<SequenceStatus> sequences;
  std::chrono::steady_clock::time_point sequences_asked_at{};
  RequestId last_id = 0;
  int num_active = 0;                         // accepted and not finished
  int num_waiting = 0;                        // of these in the loop's queue, when last published
  std::map<std::string, int> num_waiting_of;  // by caller
  bool refusing = false;
  bool stopping = false;

  std::thread thread;  // last: it uses all of the above
};

void Engine::State::run() {
  while (take_commands()) {
    loop.step();
    check_unused_units();
    exchange_units();
    publish();
    deliver();
  }
  loop.cancel_all();
  publish();
  deliver();
}

// Waits for work; false when the engine must stop. Asks the units from time to time, so that a lost
// card is found here and not by the next request.
bool Engine::State::take_commands() {
  std::vector<std::unique_ptr<Sequence>> added;
  std::vector<RequestId> dropped;
  bool stop = false;
  {
    std::unique_lock lock(mutex);
    const auto has_work = [&] {
      return stopping || !incoming.empty() || !cancelled.empty() || !loop.idle();
    };
    record_heartbeat();
    while (!work.wait_for(lock, options.idle_check, has_work)) {
      record_heartbeat();
      lock.unlock();
      const bool lost = loop.check_units();
      if (exchange_units() || lost) publish();
      lock.lock();
    }
    record_heartbeat();
    added.swap(incoming);
    has_incoming = false;
    dropped.swap(cancelled);
    num_waiting += static_cast<int>(added.size());
    for (const auto& sequence : added) ++num_waiting_of[sequence->caller()];
    stop = stopping;
  }
  for (auto& sequence : added) loop.add(std::move(sequence));
  for (const RequestId id : dropped) loop.cancel(id);
  return !stop;
}

// Returns the shortest new request of each caller.
std::vector<Newcomer> Engine::State::newcomers() {
  std::vector<Newcomer> result;
  if (!has_incoming) return result;
  const std::lock_guard lock(mutex);
  for (const auto& sequence : incoming) {
    const auto known = std::ranges::find(result, sequence->caller(), &Newcomer::caller);
    if (known == result.end()) {
      result.push_back({sequence->caller(), sequence->num_tokens()});
    } else {
      known->num_tokens = std::min(known->num_tokens, sequence->num_tokens());
    }
  }
  return result;
}

// A silent unit delays the step by 0.1 s, so this check is rare.
void Engine::State::check_unused_units() {
  const Clock::TimePoint now = options.clock->now();
  if (now - units_asked_at < std::max(options.idle_check, options.device_timeout / 4)) return;
  units_asked_at = now;
  loop.check_units(EngineLoop::UnitsAsked::kUnused);
}

// Hands lost units to the reviver and takes back those that work again. True if one returned.
bool Engine::State::exchange_units() {
  if (!reviver) return false;
  reviver->add_lost(loop.take_lost_units());
  if (!reviver->any_ready()) return false;
  for (NamedUnit& unit : reviver->take_ready()) loop.return_unit(std::move(unit));
  return true;
}

void Engine::State::publish() {
  EngineStatus now = loop.status();
  max_request_tokens = loop.max_request_tokens();
  const Clock::TimePoint time = options.clock->now();
  if (metrics != nullptr && (loop.idle() || time - metrics_set_at >= kMetricsInterval)) {
    metrics_set_at = time;
    set_totals(*metrics, now);
  }
  std::optional<std::vector<SequenceStatus>> listed;
  if (!lists_sequences) listed.emplace();
  if (lists_sequences && (loop.idle() || time - sequences_listed_at >= kMetricsInterval)) {
    // An empty list does not delay the next one, so that short requests are listed too.
    if (!loop.idle()) sequences_listed_at = time;
    listed = loop.sequences();
  }
  const std::lock_guard lock(mutex);
  if (listed) sequences = std::move(*listed);
  lists_sequences = std::chrono::steady_clock::now() - sequences_asked_at < kSequencesListed;
  num_waiting = now.waiting;
  num_waiting_of = {now.waiting_by_caller.begin(), now.waiting_by_caller.end()};
  status = std::move(now);
}

void Engine::State::deliver() {
  int num_ended = 0;
  for (Delivery& delivery : loop.take_deliveries()) {
    if (delivery.event.finish) ++num_ended;
    try {
      if (delivery.sink) delivery.sink(std::move(delivery.event));
    } catch (...) {
      // A sink that fails must not stop the other requests.
    }
  }
  if (num_ended == 0) return;
  const std::lock_guard lock(mutex);
  num_active -= num_ended;
  if (num_active == 0) idle.notify_all();
}

// A full queue still accepts requests of a caller with less than its equal part of the queue, so no
// caller can fill it alone.
bool Engine::State::is_queue_full(const std::string& caller, int count) const {
  const int num_queued = num_waiting + static_cast<int>(incoming.size());
  if (num_queued + count <= options.max_waiting) return false;
  std::map<std::string, int> counts = num_waiting_of;
  for (const auto& sequence : incoming) ++counts[sequence->caller()];
  const int own = counts[caller];
  const auto num_callers = std::ranges::count_if(
      counts, [&](const auto& c) { return c.second > 0 || c.first == caller; });
  return own + count > std::max<std::ptrdiff_t>(1, options.max_waiting / num_callers);
}

// The caller holds the mutex.
SubmitStatus Engine::State::admission(const std::string& caller, int count) const {
  if (refusing) return SubmitStatus::kStopping;
  return is_queue_full(caller, count) ? SubmitStatus::kQueueFull : SubmitStatus::kAccepted;
}

Engine::Engine(const model::Model& model, device::ComputeUnit& compute,
               std::vector<NamedUnit> units, const EngineOptions& options, Fallbacks fallbacks,
               trace::Metrics* metrics)
    : state_(std::make_unique<State>(model, compute, std::move(units), options,
                                     std::move(fallbacks), metrics)) {
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Engine::~Engine() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->refusing = state_->stopping = true;
  }
  state_->work.notify_all();
  state_->thread.join();
}

const LoadedWeights& Engine::weights() const { return state_->loop.weights(); }

int Engine::max_request_tokens() const { return state_->max_request_tokens; }

SubmitResult Engine::submit(Request request, EventSink sink) {
  std::vector<Submission> one;
  one.push_back({std::move(request), std::move(sink)});
  const SubmitAllResult result = submit_all(std::move(one));
  return {result.status, result.ids.empty() ? 0 : result.ids.front()};
}

SubmitAllResult Engine::submit_all(std::vector<Submission> submissions) {
  State& s = *state_;
  const std::string caller = submissions.front().request.caller;
  const auto count = static_cast<int>(submissions.size());
  SubmitAllResult result;
  {
    const std::lock_guard lock(s.mutex);
    result.status = s.admission(caller, count);
    if (result.status != SubmitStatus::kAccepted) return result;
    for (int i = 0; i < count; ++i) result.ids.push_back(++s.last_id);
  }
  // Without the lock, because validation and the sampler's tables take long.
  std::vector<std::unique_ptr<Sequence>> sequences;
  for (auto& [request, sink] : submissions) {
    sequences.push_back(std::make_unique<Sequence>(result.ids[sequences.size()], std::move(request),
                                                   std::move(sink), s.model, max_request_tokens(),
                                                   *s.options.clock));
  }
  {
    const std::lock_guard lock(s.mutex);
    result.status = s.admission(caller, count);  // others may have come meanwhile
    if (result.status != SubmitStatus::kAccepted) return {result.status, {}};
    std::ranges::move(sequences, std::back_inserter(s.incoming));
    s.has_incoming = true;
    s.num_active += count;
  }
  s.work.notify_one();
  return result;
}

SubmitStatus Engine::admission(const std::string& caller) const {
  const std::lock_guard lock(state_->mutex);
  return state_->admission(caller, 1);
}

void Engine::cancel(RequestId id) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->cancelled.push_back(id);
  }
  state_->work.notify_one();
}

bool Engine::drain(Deadline deadline) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.refusing = true;
  return s.idle.wait_for(lock, deadline.remaining(), [&] { return s.num_active == 0; });
}

std::chrono::steady_clock::duration Engine::heartbeat_age() const {
  return std::chrono::steady_clock::now() - state_->last_heartbeat.load();
}

EngineStatus Engine::status() const {
  const std::lock_guard lock(state_->mutex);
  EngineStatus status = state_->status;
  status.waiting += static_cast<int>(state_->incoming.size());
  status.draining = state_->refusing;
  return status;
}

std::vector<SequenceStatus> Engine::sequences() const {
  const std::lock_guard lock(state_->mutex);
  state_->sequences_asked_at = std::chrono::steady_clock::now();
  return state_->sequences;
}

}  // namespace tandem::engine
