// SPDX-License-Identifier: Apache-2.0
//
// TrafficRecorder: adds up the traffic that one process sends, and writes it as a record file.
//
// The libraries that are loaded into traced programs use it, so it needs no other library. Memory
// grows with the number of distinct cells (pair, kind, operation, phase, window), not with the
// calls. The first `most_events` events are also kept one by one. Later events are only counted;
// the sums include them. Names are string literals, because their addresses are compared. Spaces in
// names become "_". Threads: any; a call takes an uncontended lock and a look-up. Format of the
// file: record_file.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

#include "common/bounded_log.h"
#include "trace/communication/collective_model.h"

namespace tandem::trace {

struct RecordIdentity {
  int rank = 0, world = 1;
  std::string host;
  std::string model;  // how collectives are modelled
  int gpus = 0;       // above 0: the parties are this many GPUs of the process, not ranks
};

struct RecordedFlow {
  const char* kind = "";       // "mpi_point_to_point", ...
  const char* operation = "";  // "send", "allreduce", ...
  int source = 0, destination = 0;
  std::uint64_t bytes = 0, messages = 1;
  const char* phase = nullptr;  // null: that of set_phase()
};

// The window of an event that begins `since_begin_s` after the first one. Later events are in the
// last window. `window_s` 0: one window.
int window_of(double since_begin_s, double window_s);

// Writes a time in seconds as a record needs it. The result is the same in every locale.
std::string time_word(double seconds);

class TrafficRecorder {
 public:
  // Windows of `window_s` seconds begin at `begin_s`; 0: one window. `now_s`: the time on that
  // clock.
  TrafficRecorder(double begin_s, double window_s, std::function<double()> now_s,
                  std::size_t most_events = 0);

  void add(const RecordedFlow& flow);
  // The same for a flow that began at `time_s`, in seconds of the constructor's clock.
  void add_at(const RecordedFlow& flow, double time_s);
  // Adds what a transport counted itself. Readers compare it with the model. No sum includes it.
  void add_counted(const RecordedFlow& flow);
  // One call of a collective: the traffic by its model, and the traffic that the transport carried.
  // The operation names the algorithm. Neither is added to a sum.
  void add_modelled(const RecordedFlow& flow);
  void add_carried(const RecordedFlow& flow);
  // Calls that no model covers.
  void add_unmodelled(const char* operation, std::uint64_t calls = 1);

  // Later flows belong to this phase.
  void set_phase(int phase);
  // While paused, nothing is recorded.
  void set_paused(bool paused);

  // Returns false, with errno set, if the file cannot be written.
  bool write(const std::string& path, const RecordIdentity& identity) const;

 private:
  struct Key {
    const char* kind;
    const char* operation;
    const char* phase_name;  // null: the number
    int source, destination, phase, window;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  struct Volume {
    std::uint64_t bytes = 0, messages = 0;
  };
  using Cells = std::unordered_map<Key, Volume, KeyHash>;
  struct Event {
    double time_s;  // since begin_s_
    RecordedFlow flow;
    int phase;
  };

  void add_to(Cells& cells, const RecordedFlow& flow, double since_s);
  double since_begin_s() const;
  void write_events(std::FILE* file) const;

  const double begin_s_, window_s_;
  const std::function<double()> now_s_;
  mutable std::mutex mutex_;  // guards the members below
  int phase_ = 0;
  bool paused_ = false;
  Cells cells_, counted_, modelled_, carried_;
  BoundedLog<Event> events_;
  std::map<std::string, std::uint64_t> unmodelled_;
};

}  // namespace tandem::trace
