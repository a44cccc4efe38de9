// SPDX-License-Identifier: Apache-2.0
//
// With several NUMA nodes, products and attention have the same bits as with one, although weights
// are in regions, pages in stripes, and workers of one node help others.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/processors.h"
#include "cpu/attention_unit.h"
#include "cpu/compute_unit.h"
#include "support/memory_policy.h"
#include "tensor/quantize.h"

namespace tandem::device::cpu {
namespace {

// Threads of nodes, whether this machine has them or not.
ThreadPlan plan_of(const std::vector<int>& threads_of_nodes,
                   const std::vector<int>& processors = {}) {
  ThreadPlan plan;
  plan.num_nodes = static_cast<int>(threads_of_nodes.size());
  for (int node = 0; node < plan.num_nodes; ++node) {
    const auto count = static_cast<std::size_t>(threads_of_nodes[static_cast<std::size_t>(node)]);
    plan.threads.insert(plan.threads.end(), count, ThreadPlace{node, processors});
  }
  return plan;
}

std::vector<float> randoms(std::size_t count) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

struct Weights {
  DType dtype;
  std::int64_t out, in;
  bool transient;
};

// Two products of one input, on a team of the plan.
std::vector<float> multiply(const ThreadPlan& plan, const Weights& w, std::int64_t rows) {
  Team team(plan);
  CpuComputeUnit unit(team);
  std::vector<std::byte> bytes(static_cast<std::size_t>(w.out) * dtype_row_bytes(w.dtype, w.in));
  const auto size = static_cast<std::size_t>(w.out * w.in);
  quantize_row(w.dtype, randoms(size).data(), bytes.data(), static_cast<std::int64_t>(size));
  const WeightSource source{w.dtype, w.out, w.in, bytes.data(), WeightRole::kProduct, w.transient};
  const auto first = unit.load(source), second = unit.load(source);
  const auto x = randoms(static_cast<std::size_t>(rows * w.in));
  const auto input = unit.allocate(x.size() * sizeof(float), MemoryKind::kHost);
  std::memcpy(input->host().data(), x.data(), x.size() * sizeof(float));
  const auto values = static_cast<std::size_t>(rows * w.out);
  const auto out = unit.allocate(2 * values * sizeof(float), MemoryKind::kHost);
  const LinearTarget targets[] = {{first.get(), nullptr, {out.get(), 0}},
                                  {second.get(), nullptr, {out.get(), values * sizeof(float)}}};
  unit.enqueue(LinearOp{rows, {input.get(), 0}, targets});
  std::vector<float> result(2 * values);
  std::memcpy(result.data(), out->host().data(), result.size() * sizeof(float));
  return result;
}

TEST(Nodes, MultiplyAsOneNodeDoes) {
  for (const Weights& w : {Weights{DType::kQ8_0, 1000, 512, false},
                           {DType::kQ4_K, 1337, 512, true},
                           {DType::kF16, 1001, 256, true},
                           {DType::kBF16, 999, 256, false},
                           {DType::kF32, 3, 4096, true},
                           {DType::kBF16, 1001, 1251, true},
                           {DType::kF16, 1001, 1250, true}}) {  // a copy cut between nodes
    for (const std::int64_t rows : {1, 5, 70}) {
      const std::vector<float> one = multiply(plan_of({1}), w, rows);
      for (const std::vector<int>& nodes : {std::vector{2}, {2, 2}, {1, 3}, {1, 1, 1}}) {
        const std::vector<float> several = multiply(plan_of(nodes), w, rows);
        EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(float)), 0)
            << dtype_name(w.dtype) << ", rows " << rows << ", nodes " << nodes.size();
      }
    }
  }
}

// One long sequence and some short ones, appended and attended to.
std::vector<float> attend(const ThreadPlan& plan) {
  constexpr int kTokens[] = {3000, 40, 700};
  AttentionUnitOptions options;
  options.geometry = {2, 8, 2, 64, 16, DType::kF16};
  options.kv_bytes = std::uint64_t{64} << 20;
  Team team(plan);
  CpuAttentionUnit unit(team, options);
  const std::vector<float> kv = randoms(3000 * 2 * 64), q = randoms(3 * 8 * 64);
  std::vector<float> o(q.size()), lse(3 * 8);
  PageId next = 0;
  std::vector<PageId> pages;
  std::vector<AttentionSequence> append, ask;
  for (int i = 0; i < 3; ++i) {
    AttentionSequence s;
    s.page_begin = static_cast<std::int32_t>(pages.size());
    s.num_pages = (kTokens[i] + 15) / 16;
    for (int page = 0; page < s.num_pages; ++page) pages.push_back(next++);
    s.num_new = kTokens[i];
    append.push_back(s);
    s.num_new = 0;
    s.q_begin = i;
    s.num_q = 1;
    s.num_attend = kTokens[i];
    ask.push_back(s);
  }
  const AttentionBatch all{1, 0.125f, 0, {}, kv, kv, append, pages};
  unit.wait(unit.submit(all, {o, lse}), Deadline::never());
  const AttentionBatch batch{1, 0.125f, 0, q, {}, {}, ask, pages};
  unit.wait(unit.submit(batch, {o, lse}), Deadline::never());
  o.insert(o.end(), lse.begin(), lse.end());
  return o;
}

TEST(Nodes, AttendAsOneNodeDoes) {
  for (const int threads : {2, 4}) {  // the number of threads decides how sequences are cut
    const std::vector<float> one = attend(plan_of({threads}));
    EXPECT_GT(one.back(), 0.0f);
    for (const std::vector<int>& processors : {std::vector<int>{}, affinity_mask()}) {
      const std::vector<float> several = attend(plan_of({1, threads - 1}, processors));
      EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof(float)), 0);
    }
  }
}

class Stripes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!processors_are_known()) GTEST_SKIP() << "this build has no hwloc";
    const std::string refusal = test::refusal_of_binding();
    if (!refusal.empty()) GTEST_SKIP() << "the system refuses " << refusal;
  }

  static constexpr AttentionGeometry kGeometry{2, 8, 2, 64, 16, DType::kF16};  // 8 KiB a page
  // Of nodes that are all this process's: what is bound to which cannot be told apart.
  const std::vector<std::vector<int>> nodes_ = std::vector(3, affinity_mask());
};

TEST_F(Stripes, HoldPagesInTurn) {
  for (const std::uint32_t pages : {2000u, 30000u, 60001u}) {
    const KvPool pool(kGeometry, pages, nodes_);
    std::vector<std::uint32_t> held(3);
    std::uint32_t changes = 0;
    for (PageId page = 0; page < pages; ++page) {
      held[static_cast<std::size_t>(pool.home_of(page))] += 1;
      if (page > 0) changes += pool.home_of(page) != pool.home_of(page - 1);
    }
    for (const std::uint32_t count : held) EXPECT_GT(count, pages / 5);
    EXPECT_LT(changes, pages / 200);  // adjacent pages stay together
  }
}

TEST_F(Stripes, AreBoundWholeHugePagesAtATime) {
  for (const std::uint32_t pages : {2000u, 30000u, 60001u}) {
    SCOPED_TRACE(pages);
    const KvPool pool(kGeometry, pages, nodes_);
    const std::vector<KvPool::Stripe> stripes = pool.stripes();
    EXPECT_GE(stripes.size(), 6u);
    const std::byte* expected = stripes.front().memory.data();
    int near_home = 0, asked = 0;
    for (const KvPool::Stripe& stripe : stripes) {
      EXPECT_EQ(stripe.memory.data(), expected);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(expected) % kHugePageBytes, 0u);
      EXPECT_TRUE(test::is_bound(expected));
      EXPECT_TRUE(test::is_bound(expected + stripe.memory.size() - 1));
      expected += stripe.memory.size();
      for (int layer = 0; layer < 2; ++layer) {
        for (PageId page = 0; page < pages; page += 10) {
          const auto* at = static_cast<const std::byte*>(pool.tile(layer, page, 0, 0).k);
          if (at < stripe.memory.data() || at >= expected) continue;
          ++asked;
          near_home += pool.home_of(page) == stripe.node;
        }
      }
    }
    EXPECT_EQ(asked, 2 * static_cast<int>((pages + 9) / 10));
    EXPECT_GT(near_home, asked * 2 / 3);  // others lie at borders
  }
}

TEST_F(Stripes, AreNotWhereThreadsAreNotBound) {
  const std::vector<std::vector<int>> unbound(3), partly{affinity_mask(), {}};
  for (const auto* nodes : {&unbound, &partly}) {
    const KvPool pool(kGeometry, 30000, *nodes);
    for (PageId page = 0; page < 30000; ++page) ASSERT_EQ(pool.home_of(page), 0);
    EXPECT_EQ(test::policy_of(pool.tile(0, 0, 0, 0).k), test::policy_of(&pool));
  }
}

}  // namespace
}  // namespace tandem::device::cpu
