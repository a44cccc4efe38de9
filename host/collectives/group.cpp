// SPDX-License-Identifier: Apache-2.0
//
// Groups and their queue. One mutex guards tickets, jobs, the report and the reason why the group
// broke; it is never held while a call runs.
#include "collectives/group.h"

#include <exception>
#include <new>
#include <utility>

#include "collectives/frames/group_transport.h"
#include "collectives/group_state.h"
#include "collectives/traffic_trace.h"
#include "transport/message_observer.h"

namespace tandem::collectives {

Group::Group(std::unique_ptr<Transport> transport) {
  if (!transport) throw Error("collectives", "a group needs a transport; make one of transport/*/");
  state_ = std::make_unique<State>(std::move(transport));
}

Group::~Group() = default;
Group::Group(Group&&) noexcept = default;
Group& Group::operator=(Group&&) noexcept = default;

int Group::rank() const { return state_->transport().rank(); }
int Group::world() const { return state_->transport().world(); }
std::string_view Group::transport() const { return state_->transport().kind(); }
TrafficSnapshot Group::traffic() const { return state_->transport().traffic(); }
void Group::abort(const std::string& reason) { state_->break_group(reason); }
bool Group::broken() const { return state_->broken(); }

Group Group::shrink(Deadline deadline) {
  if (!broken()) {
    throw Error("collectives", "the group is not broken; use it, or abort() it before shrink()");
  }
  state_->wait_until_idle(deadline);
  return Group(state_->transport().shrink(deadline));
}

Group::State::State(std::unique_ptr<Transport> transport) : transport_(std::move(transport)) {
  trace_transport(*transport_);
  if (dynamic_cast<GroupTransport*>(transport_.get()) != nullptr) return;  // it has shrunk
  transport_ = std::make_unique<GroupTransport>(std::move(transport_));
}

Group::State::~State() {
  bool in_flight = false;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    in_flight = serving_ != next_ticket_;
  }
  if (in_flight) break_group("the group was destroyed");
  changed_.notify_all();
  if (worker_.joinable()) worker_.join();
}

std::uint64_t Group::State::take_ticket() {
  const std::lock_guard lock(mutex_);
  return next_ticket_++;
}

void Group::State::wait_for_turn(const char* function, std::uint64_t ticket, Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto ready = [&] { return broken_ || serving_ == ticket; };
  bool in_time = true;
  if (deadline.is_never()) {
    changed_.wait(lock, ready);
  } else {
    in_time = changed_.wait_until(lock, deadline.time_point(), ready);
  }
  if (broken_) {
    throw TransportError(TransportError::Kind::kAborted, -1,
                         std::string(function) + ": the group is broken (" + reason_ +
                             "); shrink() makes a group of the remaining ranks",
                         "collectives");
  }
  if (in_time) {
    running_ = true;
    return;
  }
  lock.unlock();
  // The call still takes its turn, so that this rank stays in step with the others.
  const std::string text = std::string(function) + " on rank " +
                           std::to_string(transport_->rank()) +
                           " did not begin by its deadline: earlier calls of the group still run";
  break_group(text);
  throw TransportError(TransportError::Kind::kTimeout, transport_->rank(), text, "collectives");
}

void Group::State::end_turn() {
  {
    const std::lock_guard lock(mutex_);
    ++serving_;
    running_ = false;
  }
  changed_.notify_all();
}

void Group::State::wait_until_idle(Deadline deadline) {
  std::unique_lock lock(mutex_);
  const auto idle = [this] { return !running_; };
  if (deadline.is_never()) {
    changed_.wait(lock, idle);
  } else if (!changed_.wait_until(lock, deadline.time_point(), idle)) {
    throw TransportError(TransportError::Kind::kTimeout, transport_->rank(),
                         "a call of the broken group still runs on rank " +
                             std::to_string(transport_->rank()) + " at the deadline of shrink()",
                         "collectives");
  }
}

void Group::State::measure(const std::function<void(Call&)>& body, Call& call) {
  const TrafficSnapshot before = transport_->traffic();
  const auto start = Deadline::Clock::now();
  body(call);
  const TrafficSnapshot moved = transport_->traffic() - before;
  call.report.bytes_sent = moved.bytes_sent();
  call.report.bytes_received = moved.bytes_received();
  call.report.steps = moved.steps;
  call.report.seconds = std::chrono::duration<double>(Deadline::Clock::now() - start).count();
  const std::lock_guard lock(mutex_);
  report_ = call.report;
}

template <typename MakeText>
void Group::State::break_group_saying(const MakeText& text) noexcept {
  try {
    break_group(text());
  } catch (const std::bad_alloc&) {
    break_group("out of memory");
  }
}

void Group::State::run(const char* function, std::uint64_t ticket, Deadline deadline,
                       const std::function<void(Call&)>& body) {
  wait_for_turn(function, ticket, deadline);
  struct Turn {
    State& state;
    ~Turn() { state.end_turn(); }
  } turn{*this};
  const auto text_of = [&](const std::exception& error) {
    return std::string(function) + ": " + plain_text(error);
  };
  const auto on_this_rank = [&] {
    return std::string(function) + ": rank " + std::to_string(transport_->rank()) + " ";
  };
  try {
    const transport::MessageOperation named(function);
    Communicator ranks(*transport_, static_cast<std::uint32_t>(ticket), deadline);
    Report report;
    report.function = function;
    Call call{*this, ranks, report};
    measure(body, call);
  } catch (const AgreedError&) {
    throw;
  } catch (const TransportError& error) {
    break_group_saying([&] { return text_of(error); });
    throw TransportError(error.kind(), error.peer(), text_of(error), "collectives");
  } catch (const std::bad_alloc&) {
    break_group_saying([&] { return on_this_rank() + "is out of memory"; });
    throw;
  } catch (const std::exception& error) {
    // The ranks have agreed on the arguments, so an encoding, a device or the library has failed.
    const auto text = [&] { return on_this_rank() + "failed: " + plain_text(error); };
    break_group_saying(text);
    throw TransportError(TransportError::Kind::kLocal, -1, text(), "collectives");
  }
}

void Group::State::post(std::function<void(std::uint64_t)> job) {
  {
    const std::lock_guard lock(mutex_);
    if (!worker_.joinable()) worker_ = std::thread([this] { serve_jobs(); });
    jobs_.emplace_back(std::move(job), next_ticket_);
    ++next_ticket_;
  }
  changed_.notify_all();
}

void Group::State::serve_jobs() {
  for (;;) {
    std::pair<std::function<void(std::uint64_t)>, std::uint64_t> job;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
      if (jobs_.empty()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    job.first(job.second);
  }
}

Bucket* Group::State::find_bucket(const std::string& key) {
  const auto found = buckets_.find(key);
  return found == buckets_.end() ? nullptr : &found->second;
}

Bucket& Group::State::keep_bucket(const std::string& key, Bucket&& fresh) {
  const auto [place, is_new] = buckets_.try_emplace(key, std::move(fresh));
  if (!is_new) return place->second;
  bucket_ages_.push_back(key);
  if (bucket_ages_.size() > kMaxBuckets) {
    buckets_.erase(bucket_ages_.front());
    bucket_ages_.pop_front();
  }
  return place->second;
}

const MachineModel& Group::State::machine(Communicator& ranks,
                                          std::span<const std::uint64_t> nodes) {
  if (!machine_) machine_ = probe_machine(ranks, nodes);
  return *machine_;
}

void Group::State::break_group(const std::string& reason) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (!broken_) {
      broken_ = true;
      try {
        reason_ = reason;
      } catch (const std::bad_alloc&) {
        reason_ = "out of memory";  // short enough to need none
      }
    }
  }
  transport_->abort(reason);
  changed_.notify_all();
}

bool Group::State::broken() const {
  const std::lock_guard lock(mutex_);
  return broken_;
}

Report Group::State::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

}  // namespace tandem::collectives
