// SPDX-License-Identifier: Apache-2.0
//
// StreamReplay: decides which process of a kernel waits for which, from the accesses of streams
// that a run made.
//
// Each process is a list of accesses with the cycles of own work before each. A read waits for its
// value; a write waits for the read that frees its place. A stream of depth 1 or 2 passes a value
// after one cycle, a deeper one after two; a place is free one cycle after the read. One value per
// cycle enters, one leaves. Reading ahead in the list never changes a result, so the replay may go
// on while the run does: advance() takes what has come and forgets it. Pure. Cost: about ten
// nanoseconds per access. Source: Kahn process networks with bounded channels; Vitis HLS user guide
// (UG1399), "Dataflow".
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tandem::timing {

constexpr std::size_t kMostWaved = std::size_t{1} << 20;
constexpr std::uint64_t kMostPending = std::uint64_t{1} << 25;  // accesses that wait undecided
constexpr double kDefaultDepth = 2;  // of a stream without a pragma (config_dataflow -fifo_depth)

struct ReplayedStream {
  std::string name, file;
  int line = 0;
  double depth = kDefaultDepth;
  bool is_stated = false;   // by a pragma or the type
  double values = 0;        // that were read
  double empty_cycles = 0;  // that its reader waited
  double full_cycles = 0;   // that its writer waited
  double most = 0;          // values held at a time; 0: not counted
  bool stuck = false;       // with this depth the design stands still
  bool uncounted = false;   // its waits are not known: too many accesses came before their readers
};

struct ReplayedProcess {
  std::string name;
  double start = 0, end = 0;
  double waits = 0;                                // cycles
  std::vector<std::pair<double, double>> waiting;  // from when to when; of waveforms
};

// The cycles in which values entered and left a stream, in order.
struct StreamWave {
  std::vector<double> writes, reads;
};

struct StreamTimes {
  std::map<int, double> regions;  // cycles of all passes, by the number of the region's function
  std::vector<ReplayedStream> streams;
  std::vector<ReplayedProcess> processes;  // of the first passes
  std::vector<StreamWave> waves;           // by stream; empty without record_waves()
  // The waves are complete up to this cycle.
  double waves_end = std::numeric_limits<double>::infinity();
};

struct ReplayedRun {
  StreamTimes bounded, unbounded;  // with the streams' depths, and with any depth
};

class StreamReplay {
 public:
  // `bounded`: streams have their depths; else they hold any number of values, and `most` counts.
  // With `most_pending` undecided accesses, a stream that is full grows and is `uncounted`.
  explicit StreamReplay(bool bounded, std::uint64_t most_pending = kMostPending)
      : bounded_(bounded), most_pending_(most_pending) {
    processes_.emplace_back();
  }

  // Keeps what waveforms need, up to kMostWaved accesses and waits.
  void record_waves() { records_waves_ = true; }

  int add_stream(const ReplayedStream& stream);
  // Starts a process; 0 is the kernel itself. `behind`: processes that must end first. `region`:
  // the number of the function whose region it is in.
  int add_process(const std::string& name, int parent, double advance, int region,
                  std::vector<int> behind);
  // `advance`: cycles of own work since the access before; negative in overlapped iterations.
  void access(int process, int stream, bool writes, double advance);
  void join(int process, double advance);  // waits for the processes that it started
  void end(int process, double advance);

  void advance() { run(false); }
  // After the last access. Where nothing goes on, a full stream grows and is `stuck`.
  StreamTimes finish();

 private:
  enum class Kind : std::uint8_t { kRead, kWrite, kStart, kJoin, kEnd };
  struct Event {
    float advance = 0;
    std::uint32_t what = 0;  // number * 8 + kind
  };
  // Takes no memory when it is empty, unlike a deque: a run may start millions of processes.
  class EventQueue {
   public:
    bool empty() const { return head_ == events_.size(); }
    const Event& front() const { return events_[head_]; }
    void push_back(const Event& event) { events_.push_back(event); }
    void pop_front();
    void release() { events_ = {}, head_ = 0; }

   private:
    std::vector<Event> events_;
    std::size_t head_ = 0;
  };
  struct Stream {
    ReplayedStream told;
    std::deque<double> written;  // times of values that are not read
    std::deque<double> freed;    // times of reads that later writes may wait for
    std::uint64_t num_written = 0, num_read = 0;
    double last_write = -1, last_read = -1;
    int reader = -1, writer = -1;                // processes that wait
    std::deque<double> writes_seen, reads_seen;  // of which `held` follows, in order of time
    double held = 0;
    bool bounded = true;
    StreamWave wave;
  };
  struct Process {
    EventQueue events;
    std::vector<int> behind;
    std::string name;
    int parent = -1, region = -1;
    double now = 0, start = 0, waits = 0;
    double children_end = 0;
    double opened = -1;  // of the kernel: when its region began
    int live = 0;
    bool started = false, ended = false;
    std::vector<std::pair<double, double>> waiting;
  };

  void add(int process, Kind kind, int number, double advance);
  void run(bool is_last);
  void run_process(int index);
  bool step(int index, const Event& event);
  bool read(Process& process, int index, Stream& stream, double wanted);
  bool write(Process& process, int index, Stream& stream, double wanted);
  bool may_begin(Process& process);
  void begin(Process& parent, int child, double at);
  void finish_process(Process& process, double at);
  bool unlock(bool is_last);
  bool keeps_wave(double at);
  void note_wait(Process& process, double from, double to);
  static void count_held(Stream& stream, bool is_last);

  const bool bounded_;
  const std::uint64_t most_pending_;
  bool records_waves_ = false;
  std::size_t num_waved_ = 0;
  double waves_end_ = std::numeric_limits<double>::infinity();
  std::vector<Stream> streams_;
  std::deque<Process> processes_;
  std::vector<int> ready_;
  std::size_t first_ = 1;  // all processes before it have ended, but for the kernel
  std::size_t num_behind_ = 0;
  std::uint64_t pending_ = 0;
  std::map<int, double> regions_;
  std::vector<ReplayedProcess> shown_;
};

}  // namespace tandem::timing
