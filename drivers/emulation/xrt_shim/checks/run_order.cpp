// SPDX-License-Identifier: Apache-2.0
//
// What is not sure here counts as known to be over, so that no race is told wrongly.
#include "emulation/xrt_shim/checks/run_order.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>

#include "emulation/protocol/process_instance.h"

namespace tandem::emulation {
namespace {

constexpr size_t kMostRuns = 4096;   // of which the program does not know that they are over
constexpr size_t kMostAfter = 1024;  // of one node

void merge(CallClock& into, const CallClock& from) {
  for (const auto& [unit, call] : from) {
    uint32_t& known = into[unit];
    known = std::max(known, call);
  }
}

}  // namespace

RunOrder& RunOrder::instance() { return of_this_process<RunOrder>(); }

uint64_t RunOrder::open_card(ClientState& client, const SharedState& shared) {
  static std::atomic<uint64_t> num_cards{0};
  const uint64_t card = ++num_cards;
  const std::lock_guard<std::mutex> lock(mutex_);
  cards_[card] = {&client, &shared, 0};
  return card;
}

void RunOrder::close_card(uint64_t card) {
  const std::lock_guard<std::mutex> lock(mutex_);
  cards_.erase(card);
  std::erase_if(runs_, [card](const OpenRun& each) { return each.run.card == card; });
  std::erase_if(over_, [card](const auto& each) { return each.first.first == card; });
  std::erase_if(owners_, [card](const auto& each) { return each.first.first == card; });
  std::erase_if(newest_, [card](const auto& each) { return each.first.first == card; });
}

// Its entry in the ring; null: it is not there yet, or the entry has another run's command now.
const RingEntry* RunOrder::entry_of(const OrderedRun& run, const OpenCard& card) const {
  const Ring& ring = card.client->rings[run.unit];
  const uint32_t age = ring.submitted.load() - run.index;
  return age == 0 || age > kRingEntries ? nullptr : &ring.entries[run.index % kRingEntries];
}

// The number of its last call, as far as it has begun; 0: of none. Without its entry all that have
// begun count.
uint32_t RunOrder::call_of(const OrderedRun& run) const {
  const auto card = cards_.find(run.card);
  if (card == cards_.end()) return 0;
  const Ring& ring = card->second.client->rings[run.unit];
  if (ring.submitted.load() == run.index) return 0;
  const RingEntry* const entry = entry_of(run, card->second);
  return entry != nullptr ? entry->call.load()
                          : card->second.shared->units[run.unit].last_call.load();
}

// A program may see the packet's state before the unit leaves the entry, but not before this state.
bool RunOrder::is_over(const OrderedRun& run) const {
  const auto card = cards_.find(run.card);
  if (card == cards_.end()) return true;
  const uint32_t finished = card->second.client->rings[run.unit].finished.load();
  if (static_cast<int32_t>(finished - run.index) > 0) return true;
  const RingEntry* const entry = entry_of(run, card->second);
  if (entry == nullptr) return false;
  const EntryState state = entry->state.load();
  return state == EntryState::kDone || state == EntryState::kCancelled;
}

void RunOrder::add(CallClock& clock, const OrderedRun& run) const {
  uint32_t& known = clock[{run.card, run.unit}];
  known = std::max(known, call_of(run));
}

// A unit shows the end of a call in its registers before it has ended the command.
bool RunOrder::has_ended(const OrderedRun& run) const {
  const auto card = cards_.find(run.card);
  const uint32_t call = call_of(run);
  if (card == cards_.end() || call == 0) return false;
  return static_cast<int32_t>(card->second.shared->units[run.unit].ended_call.load() - call) >= 0;
}

void RunOrder::add_shown() {
  std::erase_if(runs_, [this](const OpenRun& each) {
    if (!each.is_shown) return false;
    const bool is_gone = is_over(each.run);
    if (is_gone || has_ended(each.run)) add(over_, each.run);
    return is_gone;
  });
  if (runs_.size() < kMostRuns) return;
  add(over_, runs_.front().run);
  runs_.erase(runs_.begin());
}

// Adds all that is over when the commands of the node are. Returns whether all of it is known.
bool RunOrder::close(const OrderNode& last, CallClock& clock) const {
  bool is_known = true;
  std::vector<const OrderNode*> nodes = {&last};
  std::set<const OrderNode*> seen = {&last};
  while (!nodes.empty()) {
    const OrderNode& node = *nodes.back();
    nodes.pop_back();
    is_known = is_known && node.is_known;
    merge(clock, node.over);
    for (const OrderedRun& run : node.runs) add(clock, run);
    for (const auto& before : node.after) {
      if (seen.insert(before.get()).second) nodes.push_back(before.get());
    }
  }
  return is_known;
}

// Whether nothing will be added to the node any more.
bool RunOrder::is_done(const OrderNode& node) const {
  return node.kind == OrderNode::Kind::kKernel && node.is_known && node.after.empty() &&
         !node.runs.empty() &&
         std::all_of(node.runs.begin(), node.runs.end(),
                     [this](const OrderedRun& run) { return is_over(run); });
}

// Keeps only the numbers of what has begun.
void RunOrder::fold(OrderNode& node) const {
  if (node.kind != OrderNode::Kind::kKernel) {
    std::erase_if(node.runs, [&](const OrderedRun& run) {
      const bool has_begun = call_of(run) != 0;
      if (has_begun) add(node.over, run);
      return has_begun || is_over(run);
    });
  }
  std::erase_if(node.after, [&](const std::shared_ptr<OrderNode>& before) {
    return is_done(*before) && close(*before, node.over);
  });
  if (node.after.size() <= kMostAfter) return;
  node.after.clear();
  node.is_known = false;
}

void RunOrder::know_all() {
  for (const auto& [card, open] : cards_) {
    for (uint32_t unit = 0; unit < kMaxUnits; ++unit) {
      const uint32_t call = open.shared->units[unit].last_call.load();
      if (call != 0) over_[{card, unit}] = call;
    }
  }
}

// What orders an OpenCL command is over when the library starts it.
StartOrder RunOrder::order_of(const Start& start, const OrderOwner* owner) const {
  StartOrder order;
  order.may_move = start.may_move;
  order.is_known = start.is_of_program;
  CallClock before;
  if (owner != nullptr) {
    order.is_known = owner->node != nullptr && close(*owner->node, before) && owner->is_single;
  }
  for (const CallClock& clock : {std::cref(over_), std::cref(before)}) {
    for (const auto& [unit, call] : clock) {
      if (unit.first != start.run.card) continue;
      order.over[unit.second] = std::max(order.over[unit.second], call);
    }
  }
  return order;
}

// Records a run of an OpenCL command that is about to start, so what orders it is over.
void RunOrder::take(const OrderOwner& owner, const OrderedRun& run) const {
  OrderNode& node = *owner.node;
  if (node.kind != OrderNode::Kind::kQueue && node.runs.empty()) {
    CallClock over;
    node.is_known = close(node, over);
    node.over = std::move(over);
    node.after.clear();
  }
  fold(node);
  node.runs.push_back(run);
  if (owner.queue == owner.node) return;
  fold(*owner.queue);
  owner.queue->runs.push_back(run);
}

uint64_t RunOrder::start(const Start& start) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto card = cards_.find(start.run.card);
  if (card == cards_.end()) return 0;
  add_shown();
  const PacketKey packet{start.run.card, start.run.packet};
  // XRT refuses a run that is not over, so one with the same packet is.
  std::erase_if(runs_, [&](const OpenRun& each) {
    const bool is_same = each.has_packet && PacketKey{each.run.card, each.run.packet} == packet;
    if (is_same) add(over_, each.run);
    return is_same;
  });
  const auto found = owners_.find(packet);
  const OrderOwner* const owner = found == owners_.end() ? nullptr : &found->second;
  StartOrder order = order_of(start, owner);
  uint32_t& num_units = card->second.num_units;
  num_units = std::max(num_units, start.run.unit + 1);
  order.num_units = num_units;
  newest_[packet] = start.run;
  if (owner != nullptr && owner->node != nullptr) {
    take(*owner, start.run);
  } else {
    runs_.push_back({start.run, start.is_shown || !start.is_of_program || owner != nullptr, true});
  }
  return order.is_known ? card->second.client->orders.put(order) : 0;
}

// A unit takes its commands in order. Of OpenCL's runs the library asks for the state, not the
// program.
void RunOrder::waited(uint64_t card, uint64_t packet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (owners_.contains({card, packet})) return;
  const auto found = newest_.find({card, packet});
  if (found == newest_.end()) return;
  const OrderedRun ended = found->second;
  add(over_, ended);
  std::erase_if(runs_, [&ended](const OpenRun& each) {
    return each.run.card == ended.card && each.run.unit == ended.unit &&
           static_cast<int32_t>(ended.index - each.run.index) >= 0;
  });
}

void RunOrder::show(uint64_t card, uint64_t packet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (OpenRun& each : runs_) {
    if (each.has_packet && each.run.card == card && each.run.packet == packet) {
      each.is_shown = true;
      return;
    }
  }
  const auto newest = newest_.find({card, packet});
  if (newest != newest_.end() && is_over(newest->second)) add(over_, newest->second);
}

void RunOrder::show_unit(uint64_t card, uint32_t unit) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (OpenRun& each : runs_) {
    if (each.run.card == card && each.run.unit == unit) each.is_shown = true;
  }
}

void RunOrder::forget_packet(uint64_t card, uint64_t packet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (OpenRun& each : runs_) {
    if (each.run.card == card && each.run.packet == packet) each.has_packet = false;
  }
  owners_.erase({card, packet});
  newest_.erase({card, packet});
}

bool RunOrder::is_raced(uint64_t card, uint64_t packet) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = newest_.find({card, packet});
  if (found == newest_.end()) return false;
  const uint32_t call = call_of(found->second);
  const auto open = cards_.find(card);
  if (call == 0 || open == cards_.end()) return false;
  const UnitChannel& unit = open->second.shared->units[found->second.unit];
  return unit.raced[call % kMostRaced].load() == (call & kCallMask);
}

void RunOrder::belongs_to(uint64_t card, uint64_t packet, const OrderOwner& owner) {
  const std::lock_guard<std::mutex> lock(mutex_);
  owners_[{card, packet}] = owner;
}

void RunOrder::waited(const std::shared_ptr<OrderNode>& node) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (node == nullptr || !close(*node, over_)) return know_all();
  fold(*node);
}

// Commands that run nothing on the card are left out: only what is before them counts.
void RunOrder::put_after(OrderNode& node, const std::shared_ptr<OrderNode>& other) {
  const std::lock_guard<std::mutex> lock(mutex_);
  fold(node);
  node.is_known = node.is_known && other != nullptr;
  if (other == nullptr || &node == other.get()) return;
  std::vector<std::shared_ptr<OrderNode>> before = {other};
  if (other->kind == OrderNode::Kind::kOther) {
    merge(node.over, other->over);
    node.is_known = node.is_known && other->is_known;
    before = other->after;
  }
  for (const auto& each : before) {
    const bool is_known = std::find(node.after.begin(), node.after.end(), each) != node.after.end();
    if (!is_known && each.get() != &node) node.after.push_back(each);
  }
}

}  // namespace tandem::emulation
