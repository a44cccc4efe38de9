// SPDX-License-Identifier: Apache-2.0
//
// What orders OpenCL commands: queues, events, and what the program waits for.
#include <vector>

#include "run_order_case.h"

namespace tandem::emulation {
namespace {

using Kind = OrderNode::Kind;
using Node = std::shared_ptr<OrderNode>;

class OrderNodes : public RunOrderCase {};

// As if each came after all others that have begun.
TEST_F(OrderNodes, CommandsOfOneNodeFollowEachOther) {
  const OrderOwner owner{queue, queue, true};
  EXPECT_EQ(start_for(owner, 0, 100)->over[0], 0u);
  const uint32_t first = make(0);
  EXPECT_EQ(start_for(owner, 1, 200)->over[0], first);
  const uint32_t second = make(1);
  const auto third = start_for(owner, 0, 300);
  EXPECT_EQ(third->over[0], first);
  EXPECT_EQ(third->over[1], second);
  EXPECT_EQ(start(2, 400)->over[0], 0u) << "the program has waited for none";
}

TEST_F(OrderNodes, OnlyEventsAndQueuesTellOfOpenClCommands) {
  start_for({queue, queue, true}, 0, 100);
  make(0);
  order.waited(card, 100);
  EXPECT_EQ(start(1, 200)->over[0], 0u);
  order.waited(queue);
  EXPECT_EQ(start(1, 300)->over[0], 1u);
}

TEST_F(OrderNodes, ACommandFollowsThoseThatItWaitsFor) {
  const Node first = node(Kind::kKernel), second = node(Kind::kKernel), third = node(Kind::kKernel);
  order.put_after(*second, first);
  EXPECT_TRUE(start_for({first, queue, true}, 0, 100));
  const uint32_t call = make(0);
  EXPECT_EQ(start_for({third, queue, true}, 2, 300)->over[0], 0u) << "it waits for none";
  EXPECT_EQ(start_for({second, queue, true}, 1, 200)->over[0], call);
  const uint32_t later = make(1);
  const Node fourth = node(Kind::kKernel);
  order.put_after(*fourth, second);
  const auto known = start_for({fourth, queue, true}, 3, 400);
  EXPECT_EQ(known->over[0], call);
  EXPECT_EQ(known->over[1], later);
}

// A copy, a marker.
TEST_F(OrderNodes, CommandsBetweenPassOnWhatIsBeforeThem) {
  const Node first = node(Kind::kKernel), between = node(Kind::kOther), last = node(Kind::kKernel);
  order.put_after(*between, first);
  order.put_after(*last, between);
  EXPECT_TRUE(start_for({first, queue, true}, 0, 100));
  const uint32_t call = make(0);
  EXPECT_EQ(last->after, std::vector<Node>{first}) << "long chains of copies stay short";
  EXPECT_EQ(start_for({last, queue, true}, 1, 200)->over[0], call);
}

TEST_F(OrderNodes, CommandsBetweenPassOnWhatWasOverBefore) {
  const Node first = node(Kind::kKernel), between = node(Kind::kOther), last = node(Kind::kKernel);
  order.put_after(*between, first);
  EXPECT_TRUE(start_for({first, queue, true}, 0, 100));
  const uint32_t call = make(0);
  order.put_after(*between, node(Kind::kKernel));
  order.put_after(*last, between);
  EXPECT_EQ(start_for({last, queue, true}, 1, 200)->over[0], call);
}

TEST_F(OrderNodes, ACommandBetweenMayBeBehindWhatIsNotKnown) {
  const Node between = node(Kind::kOther), last = node(Kind::kKernel);
  order.put_after(*between, nullptr);
  order.put_after(*last, between);
  EXPECT_FALSE(start_for({last, queue, true}, 1, 200));
}

// Its buffer is freed: a later one at the address has nothing to do with it.
TEST_F(OrderNodes, ACommandThatIsShownIsOver) {
  EXPECT_TRUE(start_for({node(Kind::kKernel), queue, true}, 0, 100));
  const uint32_t call = begin(0);
  order.show(card, 100);
  EXPECT_EQ(start(1, 200)->over[0], 0u) << "it still runs";
  end(0);
  order.show(card, 100);
  EXPECT_EQ(start(1, 300)->over[0], call);
}

TEST_F(OrderNodes, WhatFollowsAWholeQueueFollowsAllOfIt) {
  const Node first = node(Kind::kKernel), last = node(Kind::kKernel);
  order.put_after(*last, queue);
  EXPECT_TRUE(start_for({first, queue, true}, 0, 100));
  const uint32_t call = make(0);
  EXPECT_EQ(start_for({last, node(Kind::kQueue), true}, 1, 200)->over[0], call);
}

// While it waits, what is over is reduced to numbers; a queue may get more commands.
TEST_F(OrderNodes, WhatIsOverBeforeACommandStartsStaysBeforeIt) {
  const Node first = node(Kind::kKernel), last = node(Kind::kKernel);
  EXPECT_TRUE(start_for({first, queue, true}, 0, 100));
  const uint32_t call = make(0);
  const Node other_queue = node(Kind::kQueue);
  EXPECT_TRUE(start_for({other_queue, other_queue, true}, 1, 200));
  make(1);
  order.put_after(*last, first);
  order.put_after(*last, other_queue);
  order.put_after(*last, node(Kind::kKernel));
  EXPECT_EQ(last->after.size(), 2u);
  EXPECT_TRUE(start_for({other_queue, other_queue, true}, 1, 300));
  const uint32_t later = make(1);
  const auto known = start_for({last, queue, true}, 2, 400);
  EXPECT_EQ(known->over[0], call);
  EXPECT_EQ(known->over[1], later);
}

TEST_F(OrderNodes, BehindAnEventThatIsNotKnownNoOrderIsKnown) {
  const Node unknown = node(Kind::kKernel), last = node(Kind::kKernel);
  order.put_after(*unknown, nullptr);
  order.put_after(*last, unknown);
  EXPECT_FALSE(start_for({unknown, queue, true}, 0, 100));
  make(0);
  EXPECT_FALSE(start_for({last, queue, true}, 1, 200));
  make(1);
  const Node behind = node(Kind::kKernel);
  order.put_after(*behind, last);
  EXPECT_FALSE(start_for({behind, queue, true}, 3, 250));
  EXPECT_TRUE(start_for({node(Kind::kKernel), queue, true}, 4, 260));
  make(4);
  order.waited(last);
  const auto known = start(2, 300);
  EXPECT_EQ(known->over[4], 1u);
  EXPECT_EQ(known->over[0], 1u) << "all that has begun may be before it";
  EXPECT_EQ(known->over[1], 1u);
}

TEST_F(OrderNodes, AWaitForAnEventIsAWaitForWhatIsBeforeIt) {
  const Node first = node(Kind::kKernel), second = node(Kind::kKernel), other = node(Kind::kKernel);
  order.put_after(*second, first);
  EXPECT_TRUE(start_for({first, queue, true}, 0, 100));
  make(0);
  EXPECT_TRUE(start_for({second, queue, true}, 1, 200));
  make(1);
  EXPECT_TRUE(start_for({other, queue, true}, 2, 300));
  make(2);
  order.waited(second);
  const auto known = start(3, 400);
  EXPECT_EQ(known->over[0], 1u);
  EXPECT_EQ(known->over[1], 1u);
  EXPECT_EQ(known->over[2], 0u);
  order.waited(queue);
  EXPECT_EQ(start(3, 500)->over[2], 1u);
  order.waited(nullptr);
  EXPECT_EQ(start(3, 600)->over[3], 0u) << "they have not begun";
}

// Work-groups of one command have no order, but that is no race for sure.
TEST_F(OrderNodes, OfSeveralWorkGroupsNoOrderIsKnown) {
  const Node groups = node(Kind::kGroups), last = node(Kind::kKernel);
  EXPECT_FALSE(start_for({groups, queue, false}, 0, 100));
  EXPECT_FALSE(start_for({}, 1, 200)) << "a further one";
  const uint32_t call = make(0);
  const uint32_t further = make(1);
  order.put_after(*last, groups);
  const auto known = start_for({last, queue, true}, 2, 300);
  EXPECT_EQ(known->over[0], call);
  EXPECT_EQ(known->over[1], further);
}

// Commands that are over leave only numbers behind, so a long chain stays short.
TEST_F(OrderNodes, ALongChainKeepsItsOrder) {
  Node last = node(Kind::kKernel);
  EXPECT_TRUE(start_for({last, queue, true}, 0, 100));
  make(0);
  for (uint64_t packet = 1000; packet < 4000; ++packet) {
    const Node next = node(Kind::kKernel);
    order.put_after(*next, last);
    order.put_after(*queue, last);
    ASSERT_EQ(start_for({next, queue, true}, 1, packet)->over[0], 1u);
    make(1);
    EXPECT_TRUE(next->after.empty());
    last = next;
  }
  EXPECT_LE(queue->after.size(), 1u);
  EXPECT_LE(queue->runs.size(), 1u);
  EXPECT_TRUE(queue->is_known);
}

TEST_F(OrderNodes, ALongChainOfWorkGroupsKeepsItsOrder) {
  Node last = node(Kind::kGroups);
  EXPECT_FALSE(start_for({last, queue, false}, 0, 100));
  make(0);
  for (uint64_t packet = 1000; packet < 1100; ++packet) {
    const Node next = node(Kind::kGroups);
    order.put_after(*next, last);
    for (int group = 0; group < 3; ++group) {
      EXPECT_FALSE(start_for({next, queue, false}, 1, packet));
      make(1);
    }
    EXPECT_TRUE(next->after.empty());
    EXPECT_LE(next->runs.size(), 1u);
    last = next;
  }
  const Node end = node(Kind::kKernel);
  order.put_after(*end, last);
  const auto known = start_for({end, queue, true}, 2, 5000);
  EXPECT_EQ(known->over[0], 1u);
  EXPECT_EQ(known->over[1], 300u);
}

}  // namespace
}  // namespace tandem::emulation
