// SPDX-License-Identifier: Apache-2.0
//
// Traffic: all events of a run, added up by pair, kind, operation, phase and time window.
//
// A party is a rank or a device (0, 1, ...), the host of devices, or the switch of an NVLink
// domain. Matrices have the host as row and column 0 where it takes part, then the parties in
// order, then the switch. What transports counted themselves is kept apart: it is compared, never
// added. Threads: a plain value.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trace/communication/collective_model.h"
#include "trace/communication_matrix.h"

namespace tandem::trace {

constexpr int kHostParty = -2;
constexpr int kMostParties = 4096;  // a dense matrix of more is of no use to people

struct TrafficKey {
  int source = 0, destination = 0;
  std::string kind, operation;
  int phase = 0, window = 0;

  auto operator<=>(const TrafficKey&) const = default;
};

struct TrafficVolume {
  std::uint64_t bytes = 0, messages = 0;

  bool operator==(const TrafficVolume&) const = default;
};

// The two sides of a comparison of calls.
enum class CallSide : std::uint8_t {
  kModelled,  // what the algorithm's model says
  kCarried,   // what the transport counted for the same calls
};

class Traffic {
 public:
  using Cells = std::map<TrafficKey, TrafficVolume>;
  using Filter = std::function<bool(const TrafficKey&)>;

  // `party_word`: "rank" or "gpu", for labels.
  explicit Traffic(std::string party_word = "rank") : party_word_(std::move(party_word)) {}

  // Throws Error("communication", ...) when a party is not below kMostParties.
  void add(const TrafficKey& key, const TrafficVolume& volume);
  void add_counted(const TrafficKey& key, const TrafficVolume& volume);
  // `key.operation` names the algorithm.
  void add_call(CallSide side, const TrafficKey& key, const TrafficVolume& volume);
  void add_unmodelled(const std::string& operation, std::uint64_t calls);
  // What parties are, for labels. Where records differ in it, both words are said.
  void name_parties(const std::string& word) { party_words_.insert(word); }
  // There are at least so many ranks or devices, also where some were idle.
  void set_least_parties(int count);
  void set_host_of(int party, const std::string& host);
  void note_record(int rank) { recorded_.insert(rank); }
  void set_model(std::string model) { model_ = std::move(model); }
  void set_window_s(double seconds) { window_s_ = seconds; }

  const Cells& cells() const { return cells_; }
  bool has_counted() const { return !counted_.empty(); }
  const std::map<std::string, std::uint64_t>& unmodelled() const { return unmodelled_; }
  const std::string& model() const { return model_; }
  double window_s() const { return window_s_; }
  // Ranks of which no record came, where records are by rank.
  std::vector<int> missing_ranks() const;

  int size() const;  // rows of a matrix
  bool has_host() const { return has_host_; }
  int index_of(int party) const;
  std::vector<std::string> labels() const;  // [size] "host", "rank 0", ..., "switch"
  std::vector<std::string> hosts() const;   // [size] the machine of each; empty: unknown

  CommunicationMatrix matrix(const Filter& includes = {}) const;
  CommunicationMatrix counted_matrix() const;
  CommunicationMatrix call_matrix(CallSide side, const std::string& algorithm) const;
  std::set<std::string> algorithms() const;  // those of add_call()
  std::set<std::string> kinds() const;
  std::set<std::string> operations() const;
  std::set<int> phases() const;
  std::set<int> windows() const;

 private:
  void note(int party);
  void add_to(Cells& cells, const TrafficKey& key, const TrafficVolume& volume);
  CommunicationMatrix sum(const Cells& cells, const Filter& includes) const;

  std::string party_word_, model_;
  double window_s_ = 0;
  int parties_ = 0;
  bool has_host_ = false, has_switch_ = false;
  Cells cells_, counted_, modelled_, carried_;
  std::set<std::string> party_words_;  // of records; empty: party_word_
  std::map<std::string, std::uint64_t> unmodelled_;
  std::map<int, std::string> hosts_;
  std::set<int> recorded_;
};

}  // namespace tandem::trace
