// SPDX-License-Identifier: Apache-2.0
//
// TrafficRecorder: adds up what one process sends, and writes it as a record file.
//
// The libraries that are loaded into traced programs use it, so it needs no other library. Memory
// grows with the number of distinct cells (pair, kind, operation, phase, window), not with the
// calls. Names are string literals: their addresses are compared; spaces become "_". Threads: any;
// a call takes an uncontended lock and a look-up. Format of the file: record_file.h.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>

#include "trace/communication/collective_model.h"

namespace tandem::trace {

struct RecordIdentity {
  int rank = 0, world = 1;
  std::string host;
  std::string model;  // how collectives are modelled
};

struct RecordedFlow {
  const char* kind = "";       // "mpi_point_to_point", ...
  const char* operation = "";  // "send", "allreduce", ...
  int source = 0, destination = 0;
  std::uint64_t bytes = 0, messages = 1;
};

// The window of an event that begins `since_begin_s` after the first one; the last int holds all
// later ones. `window_s` 0: one window.
int window_of(double since_begin_s, double window_s);

class TrafficRecorder {
 public:
  // Windows of `window_s` seconds begin at `begin_s`; 0: one window. `now_s`: the time on that
  // clock.
  TrafficRecorder(double begin_s, double window_s, std::function<double()> now_s);

  void add(const RecordedFlow& flow);
  // What a transport counted itself. It is compared with the model, and is in no sum.
  void add_counted(const RecordedFlow& flow);
  // One call of a collective: what its model says, and what the transport carried for it. The
  // operation names the algorithm. Neither is in a sum.
  void add_modelled(const RecordedFlow& flow);
  void add_carried(const RecordedFlow& flow);
  // A call that no model covers.
  void add_unmodelled(const char* operation);

  // From now on flows belong to this phase.
  void set_phase(int phase);
  // While paused nothing is added.
  void set_paused(bool paused);

  // False: the file cannot be written; errno tells why.
  bool write(const std::string& path, const RecordIdentity& identity) const;

 private:
  struct Key {
    const char* kind;
    const char* operation;
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

  void add_to(Cells& cells, const RecordedFlow& flow);
  int window() const;

  const double begin_s_, window_s_;
  const std::function<double()> now_s_;
  mutable std::mutex mutex_;  // guards what follows
  int phase_ = 0;
  bool paused_ = false;
  Cells cells_, counted_, modelled_, carried_;
  std::map<std::string, std::uint64_t> unmodelled_;
};

}  // namespace tandem::trace
