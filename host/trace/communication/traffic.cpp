// SPDX-License-Identifier: Apache-2.0
//
// Sums over cells; the order of rows is decided in index_of() alone.
#include "trace/communication/traffic.h"

#include <algorithm>

#include "common/error.h"

namespace tandem::trace {

void Traffic::note(int party) {
  if (party == kHostParty) {
    has_host_ = true;
  } else if (party == kSwitchRank) {
    has_switch_ = true;
  } else if (party < 0 || party >= kMostParties) {
    throw Error("communication", "there is a rank or device " + std::to_string(party) +
                                     "; numbers are 0 to " + std::to_string(kMostParties - 1));
  } else {
    parties_ = std::max(parties_, party + 1);
  }
}

void Traffic::add_to(Cells& cells, const TrafficKey& key, const TrafficVolume& volume) {
  note(key.source);
  note(key.destination);
  TrafficVolume& cell = cells[key];
  cell.bytes += volume.bytes;
  cell.messages += volume.messages;
}

void Traffic::add(const TrafficKey& key, const TrafficVolume& volume) {
  add_to(cells_, key, volume);
}

void Traffic::add_counted(const TrafficKey& key, const TrafficVolume& volume) {
  add_to(counted_, key, volume);
}

void Traffic::add_call(CallSide side, const TrafficKey& key, const TrafficVolume& volume) {
  add_to(side == CallSide::kModelled ? modelled_ : carried_, key, volume);
}

void Traffic::add_unmodelled(const std::string& operation, std::uint64_t calls) {
  unmodelled_[operation] += calls;
}

void Traffic::set_least_parties(int count) {
  if (count > 0) note(count - 1);
}

void Traffic::set_host_of(int party, const std::string& host) { hosts_[party] = host; }

std::vector<int> Traffic::missing_ranks() const {
  std::vector<int> missing;
  for (int rank = 0; rank < parties_ && !recorded_.empty(); ++rank) {
    if (!recorded_.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

int Traffic::size() const { return parties_ + (has_host_ ? 1 : 0) + (has_switch_ ? 1 : 0); }

int Traffic::index_of(int party) const {
  if (party == kHostParty) return 0;
  const int first = has_host_ ? 1 : 0;
  return party == kSwitchRank ? first + parties_ : first + party;
}

std::vector<std::string> Traffic::labels() const {
  std::vector<std::string> labels;
  if (has_host_) labels.push_back("host");
  std::string word;
  for (const std::string& each : party_words_) word = word.empty() ? each : word + " or " + each;
  if (word.empty()) word = party_word_;
  for (int i = 0; i < parties_; ++i) labels.push_back(word + " " + std::to_string(i));
  if (has_switch_) labels.push_back("switch");
  return labels;
}

std::vector<std::string> Traffic::hosts() const {
  if (hosts_.empty()) return {};
  std::vector<std::string> names(static_cast<std::size_t>(size()));
  for (const auto& [party, host] : hosts_) {
    if (party < parties_) names[static_cast<std::size_t>(index_of(party))] = host;
  }
  return names;
}

CommunicationMatrix Traffic::sum(const Cells& cells, const Filter& includes) const {
  CommunicationMatrix matrix(size());
  for (const auto& [key, volume] : cells) {
    if (includes && !includes(key)) continue;
    matrix.add(index_of(key.source), index_of(key.destination), volume.bytes, volume.messages);
  }
  return matrix;
}

CommunicationMatrix Traffic::matrix(const Filter& includes) const { return sum(cells_, includes); }
CommunicationMatrix Traffic::counted_matrix() const { return sum(counted_, {}); }

CommunicationMatrix Traffic::call_matrix(CallSide side, const std::string& algorithm) const {
  return sum(side == CallSide::kModelled ? modelled_ : carried_,
             [&algorithm](const TrafficKey& key) { return key.operation == algorithm; });
}

std::set<std::string> Traffic::algorithms() const {
  std::set<std::string> found;
  for (const auto& [key, volume] : modelled_) found.insert(key.operation);
  return found;
}

std::set<std::string> Traffic::kinds() const {
  std::set<std::string> found;
  for (const auto& [key, volume] : cells_) found.insert(key.kind);
  return found;
}

std::set<std::string> Traffic::operations() const {
  std::set<std::string> found;
  for (const auto& [key, volume] : cells_) found.insert(key.operation);
  return found;
}

std::set<int> Traffic::phases() const {
  std::set<int> found;
  for (const auto& [key, volume] : cells_) found.insert(key.phase);
  return found;
}

std::set<int> Traffic::windows() const {
  std::set<int> found;
  for (const auto& [key, volume] : cells_) found.insert(key.window);
  return found;
}

}  // namespace tandem::trace
