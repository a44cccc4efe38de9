// SPDX-License-Identifier: Apache-2.0
//
// The entry points that NCCL loads.
//
// A proxy may run operations of another process (PXN): their context is an address there, so only
// operations of this process are looked at. The record is written when the last communicator ends,
// and again when the process ends: a program may leave communicators to its end.
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "apps/trace_comm/nccl/communicator_events.h"
#include "apps/trace_comm/nccl/profiler_interface.h"
#include "trace/communication/process_recorder.h"

namespace tandem::apps {
namespace {

using namespace nccl_profiler;

constexpr int kNcclSuccess = 0, kNcclInternalError = 3;

struct LiveCommunicators {
  std::mutex mutex;
  std::vector<std::unique_ptr<CommunicatorEvents>> all;
  int live = 0;
};

LiveCommunicators& communicators() {
  // never destroyed, because calls may come until the process ends
  static auto* one = new LiveCommunicators;
  return *one;
}

// One process may have several ranks: the first has the flows.
void write_records() {
  const ProcessRanks ranks = process_ranks();
  for (const int rank : ranks.own) {
    if (rank == ranks.own.front()) {
      trace::write_process_record("nccl", rank, ranks.world);
    } else {
      trace::write_empty_record("nccl", rank, ranks.world);
    }
  }
}

// Returns non-zero to make NCCL continue without the plugin.
int begin(void** context, std::uint64_t id, int* mask, int ranks, int rank,
          std::uint64_t more_events) {
  if (!trace::is_traced()) return kNcclInternalError;
  static std::once_flag at_end;
  std::call_once(at_end, [] { std::atexit(write_records); });
  LiveCommunicators& known = communicators();
  const std::lock_guard lock(known.mutex);
  known.all.push_back(std::make_unique<CommunicatorEvents>(id, rank, ranks));
  ++known.live;
  *context = known.all.back().get();
  *mask =
      static_cast<int>(kCollective | kPointToPoint | kProxyOperation | kProxyStep | more_events);
  return kNcclSuccess;
}

template <typename Type>
int start(void* context, void** event, Descriptor<Type>* descriptor) {
  auto* communicator = static_cast<CommunicatorEvents*>(context);
  *event = context;  // events that are not recorded, but may be parents
  const int rank = descriptor->rank;
  switch (std::uint64_t{descriptor->type}) {
    case kCollective:
      communicator->collective(rank, descriptor->collective);
      break;
    case kPointToPoint:
      communicator->point_to_point(rank, descriptor->point_to_point);
      break;
    case kProxyOperation:
      *event = descriptor->proxy_operation.process == getpid()
                   ? communicator->proxy_flow(rank, descriptor->proxy_operation)
                   : nullptr;
      break;
    case kProxyStep:
      *event = descriptor->parent;
      break;
    case kCopyEngineCollective:
      communicator->copy_engine_collective(rank, descriptor->copy_engine);
      break;
    default:
      *event = nullptr;
  }
  return kNcclSuccess;
}

int stop(void* /*event*/) { return kNcclSuccess; }

int record_state(void* event, int state, StateArguments* arguments) {
  if (event == nullptr || arguments == nullptr || state != kStepSendsNow) return kNcclSuccess;
  auto* flow = static_cast<CommunicatorEvents::ProxyFlow*>(event);
  flow->owner->proxy_sent(*flow, arguments->step_bytes);
  return kNcclSuccess;
}

int end(void* /*context*/) {
  LiveCommunicators& known = communicators();
  bool is_last = false;
  {
    const std::lock_guard lock(known.mutex);
    is_last = --known.live == 0;
  }
  if (is_last) write_records();
  return kNcclSuccess;
}

// The parameters of the next three are those of NCCL's interface.
int begin_v4(void** context, int* mask, const char* /*name*/, std::uint64_t id, int /*nodes*/,
             int ranks, int rank, Logger /*logger*/) {
  return begin(context, id, mask, ranks, rank, 0);
}

int begin_v5(void** context, std::uint64_t id, int* mask, const char* /*name*/, int /*nodes*/,
             int ranks, int rank, Logger /*logger*/) {
  return begin(context, id, mask, ranks, rank, 0);
}

int begin_v6(void** context, std::uint64_t id, int* mask, const char* /*name*/, int /*nodes*/,
             int ranks, int rank, Logger /*logger*/) {
  return begin(context, id, mask, ranks, rank, kCopyEngineCollective);
}

constexpr const char* kPluginName = "Tandem";

}  // namespace
}  // namespace tandem::apps

extern "C" {

tandem::nccl_profiler::PluginV4 ncclProfiler_v4 = {
    tandem::apps::kPluginName, tandem::apps::begin_v4,     tandem::apps::start<std::uint8_t>,
    tandem::apps::stop,        tandem::apps::record_state, tandem::apps::end};
tandem::nccl_profiler::PluginV5 ncclProfiler_v5 = {
    tandem::apps::kPluginName, tandem::apps::begin_v5,     tandem::apps::start<std::uint64_t>,
    tandem::apps::stop,        tandem::apps::record_state, tandem::apps::end};
tandem::nccl_profiler::PluginV5 ncclProfiler_v6 = {
    tandem::apps::kPluginName, tandem::apps::begin_v6,     tandem::apps::start<std::uint64_t>,
    tandem::apps::stop,        tandem::apps::record_state, tandem::apps::end};
}
