// SPDX-License-Identifier: Apache-2.0
//
// RunOrder: which runs a program knows to be over when it starts another one. The card's race check
// uses it (start_order.h).
//
// A program knows it of a run for which it waited, or whose state it has seen; so it does of
// earlier runs of that unit. It may know it of some runs without a call that is seen here (a
// callback, a flag in memory): those count as known once they are over. Of OpenCL's commands the
// queues and events tell it (opencl_order.h). Threads: any. Calls of a card that is closed do
// nothing.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "emulation/protocol/client_area.h"

namespace tandem::emulation {

// A command in a ring of the card.
struct OrderedRun {
  uint64_t card = 0;
  uint32_t unit = 0;
  uint32_t index = 0;   // in the unit's ring, since the card was opened
  uint64_t packet = 0;  // offset
};

// The newest call that is over, by card and unit.
using CallClock = std::map<std::pair<uint64_t, uint32_t>, uint32_t>;

// OpenCL commands whose end orders others: those of an event, or of a whole queue.
struct OrderNode {
  // kGroups: a kernel with several work-groups. kOther: nothing that runs on the card.
  enum class Kind { kOther, kKernel, kGroups, kQueue };
  Kind kind = Kind::kOther;
  CallClock over;  // with these commands
  std::vector<OrderedRun> runs;
  std::vector<std::shared_ptr<OrderNode>> after;
  bool is_known = true;  // false: what else orders them is not known
};
// Whose commands those of a packet are.
struct OrderOwner {
  std::shared_ptr<OrderNode> node, queue;
  bool is_single = false;  // its kernel has one work-group
};

class RunOrder {
 public:
  static RunOrder& instance();

  // Returns the card's number here.
  uint64_t open_card(ClientState& client, const SharedState& shared);
  void close_card(uint64_t card);

  struct Start {
    OrderedRun run;
    bool is_of_program = false;  // an xrt::run, whose waits are told
    bool may_move = false;       // several units can take the command
    bool is_shown = false;       // the program may see its end in ways that are not told
  };
  // A command is about to be put into its ring. Returns its ticket there; 0: its order is not
  // known.
  uint64_t start(const Start& start);
  // The program knows that the run of this packet is over.
  void waited(uint64_t card, uint64_t packet);
  // From now on the program may see the end of this run, or of all runs of a unit, in other ways.
  void show(uint64_t card, uint64_t packet);
  void show_unit(uint64_t card, uint32_t unit);
  // The packet belongs to another run now, which has not started.
  void forget_packet(uint64_t card, uint64_t packet);
  // Whether a race names the run that started last with this packet.
  bool is_raced(uint64_t card, uint64_t packet);

  // The commands of this packet are OpenCL's; those of no node have no order that is known.
  void belongs_to(uint64_t card, uint64_t packet, const OrderOwner& owner);
  // The program knows that the commands of the node are over; null: that all are.
  void waited(const std::shared_ptr<OrderNode>& node);
  // `node` comes after `other`; null: after commands that are not known.
  void put_after(OrderNode& node, const std::shared_ptr<OrderNode>& other);

 private:
  struct OpenCard {
    ClientState* client = nullptr;
    const SharedState* shared = nullptr;
    uint32_t num_units = 0;  // of the last one that got a run, and those before
  };
  struct OpenRun {
    OrderedRun run;
    bool is_shown = false;
    bool has_packet = true;  // no other run has it since
  };
  using PacketKey = std::pair<uint64_t, uint64_t>;
  const RingEntry* entry_of(const OrderedRun& run, const OpenCard& card) const;
  uint32_t call_of(const OrderedRun& run) const;
  bool is_over(const OrderedRun& run) const;
  bool has_ended(const OrderedRun& run) const;
  void add(CallClock& clock, const OrderedRun& run) const;
  void add_shown();
  bool close(const OrderNode& last, CallClock& clock) const;
  bool is_done(const OrderNode& node) const;
  void fold(OrderNode& node) const;
  void know_all();
  void take(const OrderOwner& owner, const OrderedRun& run) const;
  StartOrder order_of(const Start& start, const OrderOwner* owner) const;

  std::mutex mutex_;
  std::map<uint64_t, OpenCard> cards_;
  CallClock over_;                          // as the program knows
  std::vector<OpenRun> runs_;               // that are not in over_; without those of OpenCL
  std::map<PacketKey, OrderOwner> owners_;  // of OpenCL's
  std::map<PacketKey, OrderedRun> newest_;  // by packet
};

}  // namespace tandem::emulation
