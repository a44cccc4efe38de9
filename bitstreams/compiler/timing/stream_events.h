// SPDX-License-Identifier: Apache-2.0
//
// StreamEvents: records which process of a kernel reads and writes which stream, with the work that
// it has done between, and replays it (stream_replay.h) with and without the streams' depths.
//
// The work is what the kernel's counters say since the process's last access; what other processes
// counted meanwhile is taken off when the processor changes hands. The record is replayed and
// dropped every kChunk accesses, with the loops' costs as they are known then, so that little is
// left to do at the run's end. Threads: one. Cost per access: a comparison per loop's counter.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bitstreams/compiler/timing/estimate.h"
#include "bitstreams/compiler/timing/stream_replay.h"

namespace tandem::timing {

class StreamEvents {
 public:
  static constexpr std::size_t kChunk = std::size_t{1} << 18;
  using Costs = std::function<std::vector<WorkCost>()>;

  // `counters`: of the kernel's copy. `costs`: what the loops cost by the counts so far.
  StreamEvents(const KernelModel& model, const std::uint64_t* counters, Costs costs);

  // Keeps what waveforms need, of the replay with the streams' depths.
  void record_waves() { bounded_.record_waves(); }
  int add_stream(const ReplayedStream& stream);
  // The process that runs is about to access a stream.
  void access(int stream, int point);
  // The processes that are started next are of a region of this function.
  void region(int function) { region_ = function; }
  // Processes have the runtime's numbers; the kernel itself is the first that is named.
  void started(std::uint64_t process, const std::string& name,
               const std::vector<std::uint64_t>& behind);
  void switched(std::uint64_t from, std::uint64_t to);
  void ended(std::uint64_t process);
  void joined();

  bool any() const { return any_; }
  // Replays the rest; call it once.
  ReplayedRun finish();

 private:
  enum class Kind : std::uint8_t { kAccess, kStart, kJoin, kEnd };
  struct Event {
    std::uint32_t process = 0;
    Kind kind = Kind::kAccess;
    std::uint32_t number = 0;  // stream, or the index of an entry of starts_
    std::uint32_t point = 0;
    std::uint32_t counts = 0;  // entries of counted_ that belong to it
  };
  struct Counted {
    std::uint32_t counter = 0;  // index into tracked_
    std::uint32_t more = 0;
  };
  struct Process {
    std::vector<std::uint64_t> seen, left;  // counters at its last event; when it stopped running
    double inside = 0;                      // cycles by which it stands before its loop's end
  };
  struct Start {
    std::string name;
    int region = -1;
    std::vector<int> behind;
  };

  void add(Kind kind, std::uint32_t number, std::uint32_t point);
  void replay();
  void weigh();

  const KernelModel& model_;
  const std::uint64_t* const counters_;
  const Costs costs_;
  std::vector<int> tracked_;
  std::vector<double> weights_;                   // cycles per count of tracked_
  std::vector<double> insides_;                   // by point
  std::vector<Process> processes_;                // by the replay's numbers
  std::unordered_map<std::uint64_t, int> known_;  // from the runtime's numbers
  int running_ = 0;
  int region_ = -1;
  bool any_ = false;
  std::vector<Event> events_;
  std::vector<Counted> counted_;
  std::vector<Start> starts_;
  StreamReplay bounded_{true}, unbounded_{false};
};

}  // namespace tandem::timing
