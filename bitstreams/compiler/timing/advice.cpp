// SPDX-License-Identifier: Apache-2.0
//
// One estimate per change.
#include "bitstreams/compiler/timing/advice.h"

#include <algorithm>

#include "bitstreams/compiler/timing/estimator.h"

namespace tandem::timing {
namespace {

constexpr double kWorthTelling = 0.02;  // of the kernel's time
constexpr double kWorthTrying = 0.05;   // share of a loop of it
constexpr std::size_t kMostAdvice = 5;

std::string file_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Adviser {
 public:
  Adviser(const KernelModel& model, const RunCounts& counts,
          const std::vector<TimedArgument>& arguments, const TimedCard& card, const RunTime& time)
      : model_(model),
        counts_(counts),
        arguments_(arguments),
        card_(card),
        time_(time),
        before_(cycles(model, counts, arguments)) {}

  std::vector<Advice> run() {
    for (const LoopTime& loop : time_.loops) try_loop(loop);
    try_bundles();
    for (const PortTime& port : time_.ports) try_bursts(port);
    std::sort(found_.begin(), found_.end(),
              [](const Advice& a, const Advice& b) { return a.saves_us > b.saves_us; });
    if (found_.size() > kMostAdvice) found_.resize(kMostAdvice);
    return std::move(found_);
  }

 private:
  double cycles(const KernelModel& model, const RunCounts& counts,
                const std::vector<TimedArgument>& arguments) const {
    return Estimator(model, counts, arguments, card_, true).run();
  }

  void add(const std::string& text, double after) {
    const double saved = before_ - after;
    if (saved < kWorthTelling * before_) return;
    found_.push_back({text, saved / card_.clock_mhz});
  }

  // Without what keeps its II above 1, or pipelined if it is not.
  void try_loop(const LoopTime& loop) {
    if (loop.ii == 1 || loop.cycles < kWorthTrying * before_) return;
    KernelModel changed = model_;
    bool any = false;
    for (FunctionModel& function : changed.functions) {
      for (LoopModel& each : function.loops) {
        const bool is_it = each.line == loop.line && each.file == loop.file;
        if (!is_it) continue;
        any = true;
        each.wanted_ii = 0;
        each.recurrences.clear();
        for (ArrayUse& use : each.arrays) use.banks = 0;
        if (loop.ii == 0) each.pipeline = "pragma";
      }
    }
    if (!any) return;
    const std::string place = "loop " + file_of(loop.file) + ":" + std::to_string(loop.line);
    const std::string to = loop.ii == 0 ? ": pipeline it" : ": an II of 1 (" + loop.why + ")";
    add(place + to, cycles(changed, counts_, arguments_));
  }

  void try_bundles() {
    std::vector<TimedArgument> apart = arguments_;
    for (TimedArgument& each : apart) each.bundle += " " + each.name;
    add("ports: a bundle of its own for each argument", cycles(model_, counts_, apart));
  }

  void try_bursts(const PortTime& port) {
    RunCounts changed = counts_;
    KernelModel model = model_;
    for (FunctionModel& function : model.functions) {
      for (const int id : function.sites) {
        SiteModel& site = model.sites[static_cast<size_t>(id)];
        SiteRecord& record = changed.sites[static_cast<size_t>(id)];
        if (record.accesses == 0 || site.writes != port.writes || !is_of(record, port)) continue;
        record.runs = 1;
        if (site.loop < 0) continue;
        const LoopModel& loop = function.loops[static_cast<size_t>(site.loop)];
        site.block = loop.tests_first ? loop.latches.front() : loop.header;
      }
    }
    add("port " + port.argument + ": " + (port.writes ? "writes" : "reads") +
            " at consecutive addresses, unconditionally, so that they form bursts",
        cycles(model, changed, arguments_));
  }

  bool is_of(const SiteRecord& record, const PortTime& port) const {
    const TimedArgument* best = nullptr;
    for (const TimedArgument& each : arguments_) {
      if (each.address + 1 > record.first) continue;
      if (best == nullptr || each.address > best->address) best = &each;
    }
    return best != nullptr && best->name == port.argument;
  }

  const KernelModel& model_;
  const RunCounts& counts_;
  const std::vector<TimedArgument>& arguments_;
  const TimedCard& card_;
  const RunTime& time_;
  const double before_;
  std::vector<Advice> found_;
};

}  // namespace

std::vector<Advice> advise(const KernelModel& model, const RunCounts& counts,
                           const std::vector<TimedArgument>& arguments, const TimedCard& card,
                           const RunTime& time) {
  return Adviser(model, counts, arguments, card, time).run();
}

}  // namespace tandem::timing
