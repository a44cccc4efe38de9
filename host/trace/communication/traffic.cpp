// SPDX-License-Identifier: Apache-2.0
//
// Sums over cells; the order of rows is decided in index_of() alone.
#include "trace/communication/traffic.h"

#include <algorithm>

#include "common/error.h"
#include "trace/communication/recorder.h"

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

TrafficKey Traffic::with_own_names(TrafficKey key) {
  const auto own = [this](std::string_view name, std::string_view last) {
    if (name == last) return last;
    auto found = names_->find(name);
    if (found == names_->end()) found = names_->emplace(name).first;
    return std::string_view(*found);
  };
  key.kind = own(key.kind, last_key_.kind);
  key.operation = own(key.operation, last_key_.operation);
  key.phase = own(key.phase, last_key_.phase);
  last_key_ = key;
  return key;
}

void Traffic::add_to(TrafficCells& cells, const TrafficKey& key, const TrafficVolume& volume) {
  note(key.source);
  note(key.destination);
  cells.add(with_own_names(key), volume);
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

void Traffic::add_event(const TrafficEvent& event) {
  TrafficKey key = event.key;
  key.window = window_of(event.time_s, window_s_);
  add(key, event.volume);
  keep_event(event);
}

void Traffic::keep_event(const TrafficEvent& event) {
  if (!keeps_events_) return;
  note(event.key.source);
  note(event.key.destination);
  if (events_.size() == kMostEvents) {
    ++dropped_events_;
    return;
  }
  events_.push_back({event.time_s, with_own_names(event.key), event.volume});
}

std::vector<TrafficEvent> Traffic::events() const {
  std::vector<TrafficEvent> sorted = events_;
  std::ranges::stable_sort(sorted, {}, &TrafficEvent::time_s);
  return sorted;
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

CommunicationMatrix Traffic::sum(const TrafficCells& cells, const Filter& includes) const {
  CommunicationMatrix matrix(size());
  for (const auto& [key, volume] : cells.sorted()) {
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

namespace {

// Neighbours have often the same value, which is looked up once.
template <typename Value, typename Member>
std::set<Value> values_of(const TrafficCells& cells, Member member) {
  std::set<Value> found;
  const TrafficKey* last = nullptr;
  for (const auto& [key, volume] : cells.sorted()) {
    if (last == nullptr || last->*member != key.*member) found.emplace(key.*member);
    last = &key;
  }
  return found;
}

}  // namespace

std::set<std::string> Traffic::algorithms() const {
  return values_of<std::string>(modelled_, &TrafficKey::operation);
}
std::set<std::string> Traffic::kinds() const {
  return values_of<std::string>(cells_, &TrafficKey::kind);
}
std::set<std::string> Traffic::operations() const {
  return values_of<std::string>(cells_, &TrafficKey::operation);
}
std::set<std::string> Traffic::phases() const {
  return values_of<std::string>(cells_, &TrafficKey::phase);
}
std::set<int> Traffic::windows() const { return values_of<int>(cells_, &TrafficKey::window); }

}  // namespace tandem::trace
