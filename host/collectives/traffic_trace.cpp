// SPDX-License-Identifier: Apache-2.0
//
// The observer and the recorder live until the process ends, because transports may outlive main().
#include "collectives/traffic_trace.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "collectives/scheme/dense_exchange.h"
#include "trace/communication/process_recorder.h"
#include "transport/message_observer.h"

namespace tandem::collectives {
namespace {

constexpr std::array<std::pair<std::string_view, const char*>, 5> kTransportKinds = {{
    {"inproc", "tandem_inproc"},
    {"mpi", "tandem_mpi"},
    {"gloo", "tandem_gloo"},
    {"nccl", "tandem_nccl"},
    {"simulated", "tandem_simulated"},
}};

const std::pair<std::string_view, const char*>& transport_kind(std::string_view transport) {
  const auto* const found = std::ranges::find(kTransportKinds, transport,
                                              &std::pair<std::string_view, const char*>::first);
  TANDEM_CHECK(found != kTransportKinds.end());
  return *found;
}

class TransportTrace final : public transport::MessageObserver {
 public:
  TransportTrace() : process_(getpid()) {
    for (std::size_t kind = 0; kind < kTransportKinds.size(); ++kind) {
      const std::string_view name = kTransportKinds[kind].first;
      is_traced_below_[kind] = name != "gloo" && trace::traces_kind(name);
    }
  }

  void sent(const transport::SentMessage& message) noexcept override {
    const auto& kind = transport_kind(message.transport);
    const trace::RecordedFlow flow{kind.second,         message.operation, message.source,
                                   message.destination, message.bytes,     1,
                                   message.phase};
    // If the library below is traced too, its calls are the flows.
    if (is_traced_below_[static_cast<std::size_t>(&kind - kTransportKinds.data())]) {
      trace::process_recorder().add_counted(flow);
    } else {
      trace::process_recorder().add(flow);
    }
  }

  void note(std::string_view transport, int rank, int world) {
    // This trace replaces that of gloo in this process.
    if (transport == "gloo") {
      if (auto* const give_way = dlsym(RTLD_DEFAULT, "tandem_sockets_are_compared")) {
        reinterpret_cast<void (*)()>(give_way)();
      }
    }
    const std::lock_guard lock(mutex_);
    world_ = std::max(world_, world);
    if (std::ranges::find(ranks_, rank) == ranks_.end()) ranks_.push_back(rank);
  }

  // If a process has several ranks, the first one owns the flows. A child of fork() has a copy of
  // its parent's flows, which only the parent writes.
  void write() {
    if (getpid() != process_) return;
    const std::lock_guard lock(mutex_);
    for (const int rank : ranks_) {
      if (rank == ranks_.front()) {
        trace::write_process_record("transport", rank, world_);
      } else {
        trace::write_empty_record("transport", rank, world_);
      }
    }
  }

 private:
  const pid_t process_;
  std::array<bool, kTransportKinds.size()> is_traced_below_{};
  std::mutex mutex_;  // guards what follows
  std::vector<int> ranks_;
  int world_ = 1;
};

// Null where nothing is traced.
TransportTrace* transport_trace() {
  static TransportTrace* const one = []() -> TransportTrace* {
    if (!trace::traces_kind("transport")) return nullptr;
    auto* const made = new TransportTrace;
    transport::set_message_observer(made);
    std::atexit([] { transport_trace()->write(); });
    return made;
  }();
  return one;
}

}  // namespace

void trace_transport(const Transport& transport) {
  if (TransportTrace* const trace = transport_trace()) {
    trace->note(transport.kind(), transport.whole_rank(transport.rank()), transport.world());
  }
}

ModelledCall::ModelledCall(const Transport& transport) : transport_(transport) {
  if (transport_trace() != nullptr) before_ = transport.traffic();
}

void ModelledCall::end(const Shape& shape) const {
  if (!before_) return;
  const char* const operation =
      shape.is_ring ? "allreduce.dense_ring" : "allreduce.dense_halving_doubling";
  const char* const kind = transport_kind(transport_.kind()).second;
  const int me = transport_.rank(), world = transport_.world();
  std::vector<std::uint64_t> chunks;
  for (int part = 0; part < world && shape.is_ring; ++part) {
    chunks.push_back(even_range(shape.units, part, world).size() * shape.unit_bytes);
  }
  const trace::CollectiveCall call{trace::Collective::kAllReduce,
                                   shape.is_ring ? trace::CollectiveAlgorithm::kRing
                                                 : trace::CollectiveAlgorithm::kHalvingDoubling,
                                   world,
                                   0,
                                   shape.units * shape.unit_bytes,
                                   chunks,
                                   shape.unit_bytes};
  std::vector<trace::Flow> flows;
  trace::model_flows(call, me, flows);
  for (const trace::Flow& flow : flows) {
    trace::process_recorder().add_modelled({kind, operation, transport_.whole_rank(flow.source),
                                            transport_.whole_rank(flow.destination), flow.bytes,
                                            flow.messages});
  }
  const transport::TrafficSnapshot moved = transport_.traffic() - *before_;
  for (int peer = 0; peer < world; ++peer) {
    const transport::PeerTraffic& sent = moved.peers[static_cast<std::size_t>(peer)];
    if (sent.messages_sent == 0) continue;
    trace::process_recorder().add_carried({kind, operation, transport_.whole_rank(me),
                                           transport_.whole_rank(peer), sent.bytes_sent,
                                           sent.messages_sent});
  }
}

}  // namespace tandem::collectives
