// SPDX-License-Identifier: Apache-2.0
//
// A peer that speaks the protocol but sends nonsense inside its messages: an error that names it
// and the phase, from every scheme.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "host/collectives/scheme/supports.h"
#include "support/ranks.h"
#include "tensor/sparse/partition.h"

namespace tandem::test {
namespace {

using namespace tandem::collectives;

struct FirstPhase {
  const char* scheme;
  const char* phase;
};
constexpr FirstPhase kFirstPhases[] = {
    {"dense_ring", "ring reduce-scatter"},
    {"dense_halving_doubling", "recursive halving"},
    {"allgather_sparse", "all-gather"},
    {"sparcml_recursive_doubling", "recursive doubling round"},
    {"sparcml_split_allgather", "push"},
    {"sparcml_split_dense", "split"},
    {"omnireduce", "blocks, first half"},
    {"parameter_server", "push"},
    {"ok_topk", "recursive halving"},
    {"hierarchical_centralisation", "recursive doubling round"},
    {"balanced_parallelism", "push"},
    {"two_level", "push"},
};

// Rank 1's first message has `body`; what rank 0 says of it.
std::string complaint(const FirstPhase& at, const std::vector<std::byte>& body) {
  std::string said;
  run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(60)));
    try {
      if (transport->rank() == 1) {
        ByteBuffer message = new_message();
        message.insert(message.end(), body.begin(), body.end());
        ranks.send(at.phase, 0, std::move(message));
        const Tag never_used = 0xabcdef;  // waits until rank 0 aborts
        transport->start({}, {{0, never_used}})->next(ranks.deadline());
      }
      SchemeMemory memory;
      const auto aggregator = make_cpu_aggregator();
      const SparseVector own = make_vector({1000, 1}, DType::kF32, {1, 5, 999}, 1);
      scheme_by_name(at.scheme).allreduce(ranks, own, {}, memory, *aggregator);
      said = "nothing";
    } catch (const TransportError& error) {
      if (transport->rank() == 1) return;
      EXPECT_EQ(error.kind(), TransportError::Kind::kGarbage) << error.what();
      EXPECT_EQ(error.peer(), 1);
      said = error.what();
    }
  });
  return said;
}

TEST(SchemeGarbage, CutSurplusAndMeaninglessBodiesAreRejectedByName) {
  ASSERT_EQ(std::size(kFirstPhases), all_schemes().size());
  for (const FirstPhase& at : kFirstPhases) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{100'001}}) {
      SCOPED_TRACE(std::string(at.scheme) + ", " + std::to_string(size) + " bytes");
      const std::string said = complaint(at, std::vector<std::byte>(size, std::byte{0xfe}));
      EXPECT_NE(said.find("rank 1"), std::string::npos) << said;
      EXPECT_NE(said.find(at.phase), std::string::npos) << said;
    }
  }
}

TEST(SchemeGarbage, AnIndexOutsideTheDomainIsRejected) {
  for (const FirstPhase& at : kFirstPhases) {
    const bool whole = std::string(at.scheme) == "allgather_sparse";
    const bool split = std::string(at.phase) == "push" || std::string(at.phase) == "split";
    if (!whole && !split) continue;
    SCOPED_TRACE(at.scheme);
    ByteBuffer body;
    encode(make_vector({5000, 1}, DType::kF32, {1, 4000}, 1), Codec::kCoo32, DType::kF32,
           Reduction::kSum, body);
    EXPECT_NE(complaint(at, {body.begin(), body.end()}).find("rank 1"), std::string::npos);
  }
}

TEST(SchemeGarbage, APlaceOfAHashedOwnerThatStandsForNoUnitIsRejected) {
  // 1,000 units of 3 owners: of the last group, one unit, two owners have a place and no unit.
  const Partition owners = Partition::hashed(1000, 3, SchemeSettings{}.seed);
  int num_rejected = 0;
  for (int owner = 0; owner < 3; ++owner) {
    if (owners.unit(owner, 333) < 1000) continue;
    for (const char* name : {"balanced_parallelism", "two_level"}) {
      SCOPED_TRACE(std::string(name) + ", owner " + std::to_string(owner));
      run_ranks(3, [&](std::unique_ptr<Transport> transport) {
        const int liar = (owner + 1) % 3;
        const int rank = transport->rank();
        Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(60)));
        SchemeMemory memory;
        const auto aggregator = make_cpu_aggregator();
        try {
          if (rank == liar) {
            ByteBuffer message = new_message();
            encode(make_vector({334, 1}, DType::kF32, {333}, 1), Codec::kCoo32, DType::kF32,
                   Reduction::kSum, message);
            ranks.send("push", owner, std::move(message));
            transport->start({}, {{owner, Tag{0xabcdef}}})->next(ranks.deadline());
          }
          const SparseVector own = make_vector({1000, 1}, DType::kF32, {1, 5, 999}, 1);
          SchemeSettings settings;
          if (std::string(name) == "two_level") --settings.seed;  // it adds 1 between nodes
          scheme_by_name(name).allreduce(ranks, own, settings, memory, *aggregator);
          ADD_FAILURE() << "rank " << rank << " has a result";
        } catch (const TransportError& error) {
          if (rank != owner) return;
          EXPECT_EQ(error.kind(), TransportError::Kind::kGarbage) << error.what();
          EXPECT_EQ(error.peer(), liar);
          EXPECT_NE(std::string(error.what()).find("stands for no unit"), std::string::npos)
              << error.what();
        }
      });
      ++num_rejected;
    }
  }
  EXPECT_EQ(num_rejected, 4);
}

TEST(SchemeGarbage, ProposedRegionsThatAreNoneAreRejected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  // Of two ranks, rank 0 keeps the bound in the halving and is sent rank 1's.
  for (const double bound :
       {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -1e9, 1e300}) {
    std::vector<std::byte> body(sizeof(bound));
    std::memcpy(body.data(), &bound, sizeof(bound));
    const std::string said = complaint({"ok_topk", "recursive halving"}, body);
    EXPECT_NE(said.find("outside the domain"), std::string::npos) << bound << ": " << said;
  }
}

// Rank 0 of two runs `scheme` with `own`; rank 1 does what `lie` does. What rank 0 says of it.
std::string complaint_about(const char* scheme, const SparseVector& own, SchemeMemory memory,
                            const std::function<void(Communicator&)>& lie) {
  std::string said = "nothing";
  run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(10)));
    try {
      if (transport->rank() == 1) {
        lie(ranks);
        transport->start({}, {{0, Tag{0xabcdef}}})->next(ranks.deadline());  // until it aborts
      }
      const auto aggregator = make_cpu_aggregator();
      scheme_by_name(scheme).allreduce(ranks, own, {}, memory, *aggregator);
      transport->abort("rank 0 has a result");
    } catch (const TransportError& error) {
      if (transport->rank() == 1) return;
      EXPECT_EQ(error.kind(), TransportError::Kind::kGarbage) << error.what();
      EXPECT_EQ(error.peer(), 1);
      said = error.what();
    }
  });
  return said;
}

TEST(SchemeGarbage, MoreReducedEntriesThanARegionHasUnitsAreRejected) {
  SchemeMemory memory;  // regions are agreed on
  memory.num_calls = 1;
  memory.region_bounds = {0, 500, 1000};
  const SparseVector own = make_vector({1000, 1}, DType::kF32, {1, 5, 999}, 1);
  const auto announce = [](std::uint64_t size) {
    return [size](Communicator& ranks) {
      ByteBuffer message = new_message();
      encode(make_vector({500, 1}, DType::kF32, {3}, 1), Codec::kCoo32, DType::kF32,
             Reduction::kSum, message);
      ranks.send_receive("rotated exchange", 0, std::move(message), 0);
      ByteBuffer sizes = new_message();
      append_value(sizes, size);
      ranks.all_gather("sizes", std::move(sizes));
    };
  };
  EXPECT_NE(complaint_about("ok_topk", own, memory, announce(501)).find("more entries than units"),
            std::string::npos);
  EXPECT_NE(complaint_about("ok_topk", own, memory, announce(~std::uint64_t{0}))
                .find("more entries than units"),
            std::string::npos);
}

TEST(SchemeGarbage, AnAggregatorThatSkipsABlockOfThisRankIsRejected) {
  // Four blocks of 256, each in a stream of its own; rank 1 aggregates 2 and 3, rank 0 has 2.
  const SparseVector own = make_vector({1024, 1}, DType::kF32, {600}, 1);
  const auto lie = [](Communicator& ranks) {
    for (const char* phase :
         {"blocks, first half", "blocks, second half", "sums, first half", "sums, second half"}) {
      ByteBuffer none = new_message();  // no block here
      append_value(none, ~std::uint64_t{0});
      ranks.send(phase, 0, std::move(none));
    }
  };
  const std::string said = complaint_about("omnireduce", own, {}, lie);
  EXPECT_NE(said.find("beyond the next one"), std::string::npos) << said;
}

TEST(SchemeGarbage, BlocksThatStreamsDoNotHaveAreRejected) {
  // Four blocks of 256: rank 0 aggregates 0 and 1, in streams of their own.
  for (const std::uint64_t block : {1ull, 3ull, 1000ull}) {
    std::vector<std::byte> body(sizeof(block));
    std::memcpy(body.data(), &block, sizeof(block));
    const std::string said = complaint({"omnireduce", "blocks, first half"}, body);
    EXPECT_NE(said.find("another stream"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace tandem::test
