// SPDX-License-Identifier: Apache-2.0
//
// RunOrderCase: a card of which a test plays rings and units, and the starts of a program there.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "emulation/xrt_shim/checks/run_order.h"

namespace tandem::emulation {

class RunOrderCase : public testing::Test {
 protected:
  ~RunOrderCase() override { order.close_card(card); }

  RunOrder::Start by_program(uint32_t unit, uint64_t packet) {
    return {{card, unit, ring(unit).submitted.load(), packet}, true, false, false};
  }
  // Starts a run and returns what was over; nothing: the card is told no order.
  std::optional<StartOrder> start(const RunOrder::Start& run) {
    const uint64_t ticket = order.start(run);
    const uint32_t index = ring(run.run.unit).submitted.fetch_add(1);
    ring(run.run.unit).entries[index % kRingEntries].call.store(0);
    if (ticket == 0) return std::nullopt;
    return client->state().orders.get(ticket);
  }
  std::optional<StartOrder> start(uint32_t unit, uint64_t packet) {
    return start(by_program(unit, packet));
  }
  // The unit's next command begins; returns the number of its call.
  uint32_t begin(uint32_t unit) {
    const uint32_t call = shared->units[unit].last_call.fetch_add(1) + 1;
    ring(unit).entries[ring(unit).finished.load() % kRingEntries].call.store(call);
    return call;
  }
  void end(uint32_t unit) { ring(unit).finished.fetch_add(1); }
  uint32_t make(uint32_t unit) {
    const uint32_t call = begin(unit);
    end(unit);
    return call;
  }
  Ring& ring(uint32_t unit) { return client->state().rings[unit]; }
  // A run of an OpenCL command.
  std::optional<StartOrder> start_for(const OrderOwner& owner, uint32_t unit, uint64_t packet) {
    order.belongs_to(card, packet, owner);
    return start({{card, unit, ring(unit).submitted.load(), packet}, false, false, false});
  }
  static std::shared_ptr<OrderNode> node(OrderNode::Kind kind) {
    auto made = std::make_shared<OrderNode>();
    made->kind = kind;
    return made;
  }

  RunOrder order;
  std::unique_ptr<ClientArea> client = std::make_unique<ClientArea>(ClientArea::create());
  std::unique_ptr<SharedState> shared = std::make_unique<SharedState>();
  uint64_t card = order.open_card(client->state(), *shared);
  const std::shared_ptr<OrderNode> queue = node(OrderNode::Kind::kQueue);
};

}  // namespace tandem::emulation
