// SPDX-License-Identifier: Apache-2.0
//
// Replaces the time model in a build of the demo alone, where no kernel has a copy that counts.
#include "bitstreams/compiler/timing/estimate.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/timing/stream_events.h"
#include "common/error.h"

namespace tandem::timing {
namespace {

[[noreturn]] void refuse() {
  throw Error("time",
              "the demo's build has no time model; build all: cmake --build --preset release");
}

}  // namespace

KernelModel read_model(const std::string&) { refuse(); }

RunTime estimate(const KernelModel&, const RunCounts&, const std::vector<TimedArgument>&,
                 const TimedCard&, const ReplayedRun*) {
  refuse();
}

std::vector<WorkCost> work_costs(const KernelModel&, const RunCounts&,
                                 const std::vector<TimedArgument>&, const TimedCard&) {
  refuse();
}

StreamEvents::StreamEvents(const KernelModel& model, const std::uint64_t* counters, Costs costs)
    : model_(model), counters_(counters), costs_(std::move(costs)) {
  refuse();
}
int StreamEvents::add_stream(const ReplayedStream&) { refuse(); }
void StreamEvents::access(int, int) { refuse(); }
void StreamEvents::started(std::uint64_t, const std::string&, const std::vector<std::uint64_t>&) {
  refuse();
}
void StreamEvents::switched(std::uint64_t, std::uint64_t) { refuse(); }
void StreamEvents::ended(std::uint64_t) { refuse(); }
void StreamEvents::joined() { refuse(); }
ReplayedRun StreamEvents::finish() { refuse(); }

}  // namespace tandem::timing
