// SPDX-License-Identifier: Apache-2.0
//
// Traffic: all events of a run, summed by pair, kind, operation, phase and time window.
//
// A party is a rank or a device (0, 1, ...), the host of devices, or the switch of an NVLink
// domain. Matrices have the host as row and column 0 where it takes part, then the parties in
// order, then the switch. The counts of transports are kept separately: they are compared, never
// added. If requested, up to kMostEvents single events are kept, too. Threads: a plain value;
// reading sorts what was added, so one thread at a time.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/communication/collective_model.h"
#include "trace/communication/traffic_cells.h"
#include "trace/communication/traffic_parties.h"
#include "trace/communication_matrix.h"

namespace tandem::trace {

constexpr std::size_t kMostEvents = 5'000'000;

// A message, a copy or a part of a collective, as its source saw it.
struct TrafficEvent {
  double time_s = 0;  // since the start of the run
  TrafficKey key;     // its window follows from the time
  TrafficVolume volume;
};

// The two sides of a comparison of calls.
enum class CallSide : std::uint8_t {
  kModelled,  // by the algorithm's model
  kCarried,   // counted by the transport for the same calls
};

class Traffic {
 public:
  using Cells = std::vector<TrafficCells::Cell>;
  using Filter = std::function<bool(const TrafficKey&)>;

  // `party_word`: "rank" or "gpu", for labels.
  explicit Traffic(std::string party_word = "rank") : party_word_(std::move(party_word)) {}

  // The names of a key are copied. Throws Error("communication", ...) when a party is not below
  // kMostParties.
  void add(const TrafficKey& key, const TrafficVolume& volume);
  void add_counted(const TrafficKey& key, const TrafficVolume& volume);
  // `key.operation` names the algorithm.
  void add_call(CallSide side, const TrafficKey& key, const TrafficVolume& volume);
  void add_unmodelled(const std::string& operation, std::uint64_t calls);
  // Adds an event to the sums, and keeps it where events are kept.
  void add_event(const TrafficEvent& event);
  // Keeps an event that is in the sums already.
  void keep_event(const TrafficEvent& event);
  void add_dropped_events(std::uint64_t count) { dropped_events_ += count; }
  void set_keeps_events(bool keeps) { keeps_events_ = keeps; }
  // The kind of the parties, for labels. If records have different kinds, labels name both.
  void name_parties(const std::string& word) { party_words_.insert(word); }
  // Sets the least number of ranks or devices, including idle ones.
  void set_least_parties(int count);
  void set_host_of(int party, const std::string& host);
  void note_record(int rank) { recorded_.insert(rank); }
  void set_model(std::string model) { model_ = std::move(model); }
  void set_window_s(double seconds) { window_s_ = seconds; }

  const Cells& cells() const { return cells_.sorted(); }
  bool keeps_events() const { return keeps_events_; }
  std::vector<TrafficEvent> events() const;  // by time
  std::size_t num_events() const { return events_.size(); }
  std::uint64_t dropped_events() const { return dropped_events_; }
  bool has_counted() const { return !counted_.empty(); }
  const std::map<std::string, std::uint64_t>& unmodelled() const { return unmodelled_; }
  const std::string& model() const { return model_; }
  double window_s() const { return window_s_; }
  // Ranks without a record, if there is one record per rank.
  std::vector<int> missing_ranks() const;

  int size() const;  // rows of a matrix
  bool has_host() const { return has_host_; }
  int index_of(int party) const;
  std::vector<std::string> labels() const;  // [size] "host", "rank 0", ..., "switch"
  std::vector<std::string> hosts() const;   // [size] the machine of each; empty: unknown

  CommunicationMatrix matrix(const Filter& includes = {}) const;
  CommunicationMatrix counted_matrix() const;
  CommunicationMatrix call_matrix(CallSide side, const std::string& algorithm) const;
  std::set<std::string> algorithms() const;  // algorithms of add_call()
  std::set<std::string> kinds() const;
  std::set<std::string> operations() const;
  std::set<std::string> phases() const;
  std::set<int> windows() const;

 private:
  void note(int party);
  TrafficKey with_own_names(TrafficKey key);
  void add_to(TrafficCells& cells, const TrafficKey& key, const TrafficVolume& volume);
  CommunicationMatrix sum(const TrafficCells& cells, const Filter& includes) const;

  std::string party_word_, model_;
  double window_s_ = 0;
  int parties_ = 0;
  bool has_host_ = false, has_switch_ = false, keeps_events_ = false;
  // Shared by copies, because keys point into it.
  std::shared_ptr<std::set<std::string, std::less<>>> names_ =
      std::make_shared<std::set<std::string, std::less<>>>();
  TrafficKey last_key_;  // with its own names, because the next key often has the same
  TrafficCells cells_, counted_, modelled_, carried_;
  std::vector<TrafficEvent> events_;
  std::uint64_t dropped_events_ = 0;
  std::set<std::string> party_words_;  // of records; empty: party_word_
  std::map<std::string, std::uint64_t> unmodelled_;
  std::map<int, std::string> hosts_;
  std::set<int> recorded_;
};

}  // namespace tandem::trace
