// SPDX-License-Identifier: Apache-2.0
//
// Stages continue until they wait; a pass that ends wakes the next stage.
#include "planner/pipeline/pipeline_time.h"

#include <algorithm>
#include <vector>

namespace tandem::planner {
namespace {

constexpr std::int64_t kNotDone = -1;

struct Pass {
  bool is_forward = true;
  int micro_batch = 0;
};

class OneForwardOneBackward {
 public:
  OneForwardOneBackward(std::span<const StagePasses> stages, int num_micro_batches)
      : stages_(stages), count_(num_micro_batches) {
    const std::size_t passes = stages.size() * static_cast<std::size_t>(count_);
    forward_end_.assign(passes, kNotDone);
    backward_end_.assign(passes, kNotDone);
    next_.assign(stages.size(), 0);
    free_ps_.assign(stages.size(), 0);
  }

  std::int64_t run() {
    woken_.push_back(0);
    while (!woken_.empty()) {
      const int stage = woken_.back();
      woken_.pop_back();
      while (next_[index(stage)] < 2 * count_ && run_next(stage)) continue;
    }
    return std::ranges::max(free_ps_);
  }

 private:
  static std::size_t index(int id) { return static_cast<std::size_t>(id); }
  int num_stages() const { return static_cast<int>(stages_.size()); }
  std::size_t place(int stage, int micro_batch) const {
    return index(stage) * index(count_) + index(micro_batch);
  }

  Pass pass(int stage) const {
    const int number = next_[index(stage)];
    const int warm = std::min(num_stages() - 1 - stage, count_);
    if (number < warm) return {true, number};
    const int in_turn = number - warm;
    if (in_turn >= 2 * (count_ - warm)) return {false, number - count_};
    return in_turn % 2 == 0 ? Pass{true, warm + in_turn / 2} : Pass{false, in_turn / 2};
  }

  // Whether the next pass of the stage could run.
  bool run_next(int stage) {
    const Pass next = pass(stage);
    const int feeder = next.is_forward ? stage - 1 : stage + 1;
    std::vector<std::int64_t>& ends = next.is_forward ? forward_end_ : backward_end_;
    std::int64_t ready = 0;
    if (feeder >= 0 && feeder < num_stages()) ready = ends[place(feeder, next.micro_batch)];
    if (ready == kNotDone) return false;
    const StagePasses& times = stages_[index(stage)];
    std::int64_t& free = free_ps_[index(stage)];
    free = std::max(free, ready) + (next.is_forward ? times.forward_ps : times.backward_ps);
    ends[place(stage, next.micro_batch)] = free;
    ++next_[index(stage)];
    const int fed = next.is_forward ? stage + 1 : stage - 1;
    if (fed >= 0 && fed < num_stages()) woken_.push_back(fed);
    return true;
  }

  std::span<const StagePasses> stages_;
  int count_;
  std::vector<std::int64_t> forward_end_, backward_end_;  // [stages, micro-batches]
  std::vector<int> next_, woken_;                         // [stages] number of the next pass
  std::vector<std::int64_t> free_ps_;                     // [stages]
};

}  // namespace

std::int64_t step_ps(std::span<const StagePasses> stages, int num_micro_batches) {
  return OneForwardOneBackward(stages, num_micro_batches).run();
}

}  // namespace tandem::planner
