// SPDX-License-Identifier: Apache-2.0
//
// Cycles are linear in the counts, so an access's time is a sum of weights, but for the loop that
// the process is in: its end has not come yet.
#include "bitstreams/compiler/timing/stream_events.h"

#include <algorithm>
#include <map>

namespace tandem::timing {

StreamEvents::StreamEvents(const KernelModel& model, const std::uint64_t* counters, Costs costs)
    : model_(model), counters_(counters), costs_(std::move(costs)) {
  for (const FunctionModel& function : model.functions) {
    tracked_.push_back(function.entry);
    for (const LoopModel& loop : function.loops) {
      tracked_.push_back(loop.entries);
      tracked_.push_back(loop.header);
      tracked_.insert(tracked_.end(), loop.latches.begin(), loop.latches.end());
    }
  }
  std::sort(tracked_.begin(), tracked_.end());
  tracked_.erase(std::unique(tracked_.begin(), tracked_.end()), tracked_.end());
  Process kernel;
  for (const int counter : tracked_) kernel.seen.push_back(counters_[counter]);
  processes_.push_back(std::move(kernel));
}

int StreamEvents::add_stream(const ReplayedStream& stream) {
  unbounded_.add_stream(stream);
  return bounded_.add_stream(stream);
}

void StreamEvents::add(Kind kind, std::uint32_t number, std::uint32_t point) {
  Process& process = processes_[static_cast<size_t>(running_)];
  Event event{static_cast<std::uint32_t>(running_), kind, number, point, 0};
  for (size_t index = 0; index < tracked_.size(); ++index) {
    const std::uint64_t now = counters_[tracked_[index]];
    if (now == process.seen[index]) continue;
    counted_.push_back(
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(now - process.seen[index])});
    process.seen[index] = now;
    ++event.counts;
  }
  events_.push_back(event);
  if (events_.size() >= kChunk) replay();
}

void StreamEvents::access(int stream, int point) {
  any_ = true;
  add(Kind::kAccess, static_cast<std::uint32_t>(stream), static_cast<std::uint32_t>(point));
}

void StreamEvents::started(std::uint64_t process, const std::string& name,
                           const std::vector<std::uint64_t>& behind) {
  Start start{name, region_, {}};
  for (const std::uint64_t each : behind) {
    const auto found = known_.find(each);
    if (found != known_.end()) start.behind.push_back(found->second);
  }
  starts_.push_back(std::move(start));
  add(Kind::kStart, static_cast<std::uint32_t>(starts_.size()) - 1, 0);
  Process child;
  for (const int counter : tracked_) child.seen.push_back(counters_[counter]);
  child.left = child.seen;
  known_[process] = static_cast<int>(processes_.size());
  processes_.push_back(std::move(child));
}

void StreamEvents::switched(std::uint64_t from, std::uint64_t to) {
  const auto number = [this](std::uint64_t process) {
    const auto found = known_.find(process);
    return found == known_.end() ? 0 : found->second;
  };
  Process& before = processes_[static_cast<size_t>(number(from))];
  Process& after = processes_[static_cast<size_t>(number(to))];
  running_ = number(to);
  if (!before.seen.empty()) before.left.resize(tracked_.size());
  after.left.resize(tracked_.size());
  for (size_t index = 0; index < before.left.size(); ++index) {
    before.left[index] = counters_[tracked_[index]];
  }
  for (size_t index = 0; index < tracked_.size(); ++index) {
    after.seen[index] += counters_[tracked_[index]] - after.left[index];
  }
}

void StreamEvents::ended(std::uint64_t process) {
  if (known_.find(process) == known_.end()) return;
  add(Kind::kEnd, 0, 0);
  Process& over = processes_[static_cast<size_t>(running_)];
  over.seen = {};
  over.left = {};
}

void StreamEvents::joined() { add(Kind::kJoin, 0, 0); }

// Weights of the counters: a loop costs per_entry and, beyond the first trip, per_trip.
void StreamEvents::weigh() {
  std::map<int, double> weights;
  insides_.assign(model_.points.size(), 0);
  for (const WorkCost& cost : costs_()) {
    const FunctionModel& function = model_.functions[static_cast<size_t>(cost.function)];
    if (cost.loop < 0) {
      weights[function.entry] += cost.per_entry;
      continue;
    }
    const LoopModel& loop = function.loops[static_cast<size_t>(cost.loop)];
    weights[function.loops[static_cast<size_t>(cost.outer)].entries] +=
        cost.per_entry - cost.per_trip;
    if (!loop.tests_first) {
      weights[loop.header] += cost.per_trip;
    } else {
      for (const int latch : loop.latches) weights[latch] += cost.per_trip;
    }
    for (size_t index = 0; index < model_.points.size(); ++index) {
      const StreamPoint& point = model_.points[index];
      int around = point.function == cost.function ? point.loop : -1;
      while (around >= 0 && around != cost.loop) {
        around = function.loops[static_cast<size_t>(around)].parent;
      }
      if (around < 0) continue;
      // The innermost loop with a cost comes last, if several are around the point.
      const double before = loop.tests_first ? cost.per_trip : 0;
      insides_[index] = before + cost.prologue + point.offset - cost.per_entry;
    }
  }
  weights_.clear();
  for (const int counter : tracked_) weights_.push_back(weights[counter]);
}

void StreamEvents::replay() {
  weigh();
  size_t at = 0;
  for (const Event& event : events_) {
    Process& process = processes_[event.process];
    double advance = -process.inside;
    for (const size_t end = at + event.counts; at < end; ++at) {
      advance += weights_[counted_[at].counter] * counted_[at].more;
    }
    process.inside = event.kind == Kind::kAccess ? insides_[event.point] : 0;
    advance += process.inside;
    const int number = static_cast<int>(event.process);
    for (StreamReplay* const each : {&bounded_, &unbounded_}) {
      switch (event.kind) {
        case Kind::kAccess:
          each->access(number, static_cast<int>(event.number), model_.points[event.point].writes,
                       advance);
          break;
        case Kind::kStart: {
          const Start& start = starts_[event.number];
          each->add_process(start.name, number, advance, start.region, start.behind);
          break;
        }
        case Kind::kJoin:
          each->join(number, advance);
          break;
        case Kind::kEnd:
          each->end(number, advance);
          break;
      }
    }
  }
  events_.clear();
  counted_.clear();
  starts_.clear();
  bounded_.advance();
  unbounded_.advance();
}

ReplayedRun StreamEvents::finish() {
  replay();
  return {bounded_.finish(), unbounded_.finish()};
}

}  // namespace tandem::timing
