// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous calls: a ticket is taken at once, the body runs on the group's thread.
//
// Options and views are copied into the job; the memory they point to is the caller's. The deadline
// counts from the call, so that time in the queue is part of it.
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

#include "collectives/group_state.h"
#include "collectives/reduction.h"
#include "collectives/sparse_calls.h"

namespace tandem::collectives {

class Pending::State {
 public:
  explicit State(Group::State& group) : group_(&group) {}

  void finish(std::exception_ptr error) {
    {
      const std::lock_guard lock(mutex_);
      group_ = nullptr;
      error_ = std::move(error);
    }
    changed_.notify_all();
  }

  bool done() const {
    const std::lock_guard lock(mutex_);
    return group_ == nullptr;
  }

  bool wait(Deadline deadline) const {
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return group_ == nullptr; };
    if (deadline.is_never()) {
      changed_.wait(lock, ended);
    } else if (!changed_.wait_until(lock, deadline.time_point(), ended)) {
      return false;
    }
    if (error_) std::rethrow_exception(error_);
    return true;
  }

  void abort(const std::string& reason) {
    const std::lock_guard lock(mutex_);  // the group outlives unfinished calls
    if (group_ != nullptr) group_->break_group(reason);
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  Group::State* group_;  // null once the call is done
  std::exception_ptr error_;
};

bool Pending::done() const { return state_->done(); }
bool Pending::wait(Deadline deadline) const { return state_->wait(deadline); }
void Pending::abort(const std::string& reason) const { state_->abort(reason); }

namespace {

// body(group, ticket): the blocking call.
Pending post(Group& group, std::function<void(Group::State&, std::uint64_t)> body) {
  Group::State& state = group.state();
  const auto pending = std::make_shared<Pending::State>(state);
  state.post([&state, pending, body = std::move(body)](std::uint64_t ticket) {
    std::exception_ptr error;
    try {
      body(state, ticket);
    } catch (...) {
      error = std::current_exception();
    }
    pending->finish(std::move(error));
  });
  return Pending(pending);
}

}  // namespace

namespace {

// The calls that fill a result: run(state, ticket, deadline, input, options, result).
template <typename Result, typename Run, typename Input>
std::pair<std::shared_ptr<Result>, Pending> post_for_result(Group& group, Run run, Input input,
                                                            const ReduceOptions& options) {
  const auto result = std::make_shared<Result>();
  const Deadline deadline = deadline_of(options);
  Pending pending = post(group, [=](Group::State& state, std::uint64_t ticket) {
    run(state, ticket, deadline, input, options, *result);
  });
  return {result, std::move(pending)};
}

}  // namespace

std::pair<std::shared_ptr<SparseTensor>, Pending> sparse_allreduce_async(
    Group& group, const SparseView& input, const ReduceOptions& options) {
  return post_for_result<SparseTensor>(group, run_sparse_allreduce, input, options);
}

std::pair<std::shared_ptr<std::vector<SparseTensor>>, Pending> sparse_allreduce_fused_async(
    Group& group, std::span<const SparseView> inputs, const ReduceOptions& options) {
  return post_for_result<std::vector<SparseTensor>>(
      group, run_sparse_allreduce_fused, std::vector<SparseView>(inputs.begin(), inputs.end()),
      options);
}

std::pair<std::shared_ptr<SparseTensor>, Pending> sparse_reduce_scatter_async(
    Group& group, const SparseView& input, const ReduceOptions& options) {
  return post_for_result<SparseTensor>(group, run_sparse_reduce_scatter, input, options);
}

Pending sparse_allreduce_dense_async(Group& group, DenseView tensor, std::uint32_t width,
                                     const ReduceOptions& options) {
  const Deadline deadline = deadline_of(options);
  return post(group, [=](Group::State& state, std::uint64_t ticket) {
    run_sparse_allreduce_dense(state, ticket, deadline, tensor, width, options);
  });
}

Pending allreduce_async(Group& group, DenseView tensor, const ReduceOptions& options) {
  const Deadline deadline = deadline_of(options);
  return post(group, [=](Group::State& state, std::uint64_t ticket) {
    run_allreduce(state, ticket, deadline, tensor, options);
  });
}

}  // namespace tandem::collectives
