// SPDX-License-Identifier: Apache-2.0
//
// A rank that sends garbage: every damage to every message of every scheme is an error that names
// rank and phase, or the sum is right; it is never wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "host/collectives/api/groups.h"
#include "host/collectives/faults/faulty_transport.h"

namespace tandem::collectives::test {
namespace {

constexpr int kWorld = 4;
constexpr int kGuilty = 1;
constexpr std::uint64_t kNumUnits = 256;

struct FaultyRun {
  std::vector<RankResult> results;
  bool damaged = false;
};

FaultyRun run_with(Fault& fault, const GroupBody& body) {
  auto transports = transport::inproc::make_world(kWorld);
  auto& guilty = transports[kGuilty];
  guilty = std::make_unique<FaultyTransport>(std::move(guilty), fault);
  FaultyRun run{run_on(std::move(transports), body)};
  run.damaged = fault.done;
  return run;
}

void expect_named(const FaultyRun& run) {
  bool named = false;
  for (const RankResult& result : run.results) {
    if (result.outcome == Outcome::kDone) continue;  // right: its body compared the sum
    EXPECT_EQ(result.outcome, Outcome::kTransportError) << result.text;
    EXPECT_NE(result.text.find("phase"), std::string::npos) << result.text;
    named |=
        result.kind == TransportError::Kind::kGarbage &&
        result.text.find("rank " + std::to_string(kGuilty) + " sent garbage") != std::string::npos;
  }
  EXPECT_TRUE(named);
}

// Damages message after message until the call sends no more. Returns how many were damaged.
int damage_each(Damage damage, const GroupBody& body) {
  int num_damaged = 0;
  int in_a_row = 0;  // not damaged: beyond the last message, or no other one yet to take its place
  for (int message = 0; in_a_row < 6; ++message) {
    Fault fault;
    fault.damage = damage;
    fault.message = message;
    fault.byte = static_cast<std::size_t>(message) * 13;
    const FaultyRun run = run_with(fault, body);
    if (run.damaged) {
      ++num_damaged;
      in_a_row = 0;
      expect_named(run);
      continue;
    }
    ++in_a_row;
    for (const RankResult& result : run.results) {
      EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
    }
  }
  return num_damaged;
}

GroupBody allreduce_with(const Scheme& scheme) {
  std::vector<Tensor> tensors;
  for (int rank = 0; rank < kWorld; ++rank) tensors.push_back(random_tensor(kNumUnits, 40, rank));
  return [tensors, expected = naive_sum(tensors), &scheme](Group& group) {
    const Tensor& own = tensors[static_cast<std::size_t>(group.rank())];
    ReduceOptions options;
    options.scheme = scheme.name();
    options.timeout = std::chrono::seconds(20);
    const auto sum =
        sparse_allreduce(group, SparseView::of(own.indices, own.values, kNumUnits), options);
    EXPECT_EQ(entries_of(sum), expected) << "a wrong sum";
  };
}

TEST(Garbage, NoDamageToAnyMessageOfAnySchemeGivesAWrongSum) {
  for (const Scheme* scheme : all_schemes()) {
    SCOPED_TRACE(scheme->name());
    const GroupBody body = allreduce_with(*scheme);
    for (const Damage damage : {Damage::kFlipBit, Damage::kTruncate, Damage::kExtend,
                                Damage::kEmpty, Damage::kReplay, Damage::kOtherCall}) {
      SCOPED_TRACE(damage_name(damage));
      EXPECT_GT(damage_each(damage, body), 0);
    }
  }
}

TEST(Garbage, AMessageForAnotherRankIsRejected) {
  std::vector<Tensor> tensors;
  for (int rank = 0; rank < kWorld; ++rank) tensors.push_back(random_tensor(kNumUnits, 40, rank));
  const Entries expected = naive_sum(tensors);
  const int num_damaged = damage_each(Damage::kMisroute, [&](Group& group) {
    const Tensor& own = tensors[static_cast<std::size_t>(group.rank())];
    const std::uint64_t share = kNumUnits / kWorld;
    const auto rank = static_cast<std::uint64_t>(group.rank());
    const auto part =
        sparse_reduce_scatter(group, SparseView::of(own.indices, own.values, kNumUnits));
    EXPECT_EQ(entries_of(part), Entries(expected.lower_bound(rank * share),
                                        expected.lower_bound((rank + 1) * share)));
  });
  EXPECT_GT(num_damaged, 0);
}

TEST(Garbage, AHeaderWithALyingLengthIsRejected) {
  // Well framed, so only the reader of headers can notice; it must not believe 4 GiB.
  for (const std::uint32_t lie : {0xffffffffu, 30u, 0u}) {
    auto transports = transport::inproc::make_world(2);
    std::thread liar([&] {
      Communicator ranks(*transports[1], 0, Deadline::after(std::chrono::seconds(20)));
      ByteBuffer message = new_message();
      append_value(message, lie);
      append_value(message, std::uint64_t{7});
      outcome_of([&] { ranks.send_receive("header exchange", 0, std::move(message), 0); });
    });
    Group honest(std::move(transports[0]));
    const RankResult result = outcome_of([&] { barrier(honest); });
    liar.join();
    EXPECT_EQ(result.outcome, Outcome::kTransportError);
    EXPECT_EQ(result.kind, TransportError::Kind::kGarbage);
    EXPECT_NE(result.text.find("rank 1 sent garbage in phase header exchange"), std::string::npos)
        << result.text;
  }
}

TEST(Garbage, EveryByteOfAFrameIsGuarded) {
  for (std::size_t byte = 0; byte < kFrameBytes + 8; ++byte) {
    Fault fault;
    fault.byte = byte;
    const FaultyRun run = run_with(fault, [](Group& group) { barrier(group); });
    EXPECT_TRUE(run.damaged);
    SCOPED_TRACE(byte);
    expect_named(run);
  }
}

}  // namespace
}  // namespace tandem::collectives::test
