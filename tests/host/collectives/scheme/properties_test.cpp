// SPDX-License-Identifier: Apache-2.0
//
// Every scheme on supports of every shape: exact results, the same bits on every rank.
#include <gtest/gtest.h>

#include <mutex>

#include "host/collectives/scheme/supports.h"
#include "support/ranks.h"

namespace tandem::test {
namespace {

using namespace tandem::collectives;

struct Case {
  Domain domain{2000, 1};
  DType type = DType::kF32;
  DType wire = DType::kF32;
  Reduction reduction = Reduction::kSum;
  int world = 4;
  Support support = Support::kRandom;
  Codec codec = Codec::kAuto;

  std::string name() const {
    return support_name(support) + ", " + std::string(dtype_name(type)) + " as " +
           std::string(dtype_name(wire)) +
           (reduction == Reduction::kMax    ? ", max"
            : reduction == Reduction::kMean ? ", mean"
                                            : ", sum") +
           ", width " + std::to_string(domain.width) + ", " + std::to_string(world) + " ranks";
  }
};

std::string refusal_of(const Scheme& scheme, const Case& at) {
  Problem problem;
  problem.world = at.world;
  problem.domain = at.domain;
  problem.wire = at.wire;
  problem.reduction = at.reduction;
  problem.union_entries.assign(static_cast<std::size_t>(at.world) + 1, 1);
  problem.union_blocks = problem.union_entries;
  return scheme.refusal(problem);
}

SchemeSettings settings_of(const Case& at) {
  SchemeSettings settings;
  settings.reduction = at.reduction;
  settings.wire = at.wire;
  settings.codec = at.codec;
  settings.server_count = 2;
  for (int rank = 0; rank < at.world; ++rank) settings.node_of_rank.push_back(rank % 3 == 0);
  return settings;
}

// Runs `scheme` on all ranks: every rank must have the naive result and all the same bits.
void expect_exact(const Scheme& scheme, const Case& at) {
  SCOPED_TRACE(std::string(scheme.name()) + ", " + at.name());
  const SchemeSettings settings = settings_of(at);
  const auto supports = make_supports(at.support, at.domain.num_units, at.world, settings.seed);
  std::vector<SparseVector> inputs;
  for (int rank = 0; rank < at.world; ++rank) {
    inputs.push_back(make_vector(at.domain, at.type, supports[static_cast<std::size_t>(rank)],
                                 static_cast<std::uint64_t>(rank)));
  }
  const NaiveRows expected = reduce_naively(inputs, at.reduction);
  std::vector<std::vector<std::byte>> bits(inputs.size());
  run_ranks(at.world, [&](std::unique_ptr<Transport> transport) {
    Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(60)));
    const auto rank = static_cast<std::size_t>(transport->rank());
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    const Reduced reduced = scheme.allreduce(ranks, inputs[rank], settings, memory, *aggregator);
    // Means by 5 are rounded once in f32.
    const double tolerance = at.reduction == Reduction::kMean ? 1e-7 : 0;
    const SparseVector entries = present_entries(reduced, at.reduction);
    EXPECT_EQ(difference(entries, expected, tolerance), "");
    if (at.reduction == Reduction::kMax) {  // presence counts, not value
      EXPECT_EQ(entries.num_entries(), expected.size());
    }
    bits[rank] = bits_of(reduced);
  });
  for (const auto& of_rank : bits) EXPECT_TRUE(of_rank == bits.front());
}

void expect_exact_everywhere(const Case& at) {
  for (const Scheme* scheme : all_schemes()) {
    if (refusal_of(*scheme, at).empty()) expect_exact(*scheme, at);
  }
}

TEST(SchemeProperties, SumsAndMaximaOfEverySupportAreExact) {
  for (const Support support : kAllSupports) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMean, Reduction::kMax}) {
      for (const int world : {2, 5, 8}) {
        Case at;
        at.support = support;
        at.reduction = reduction;
        at.world = world;
        expect_exact_everywhere(at);
      }
    }
  }
}

TEST(SchemeProperties, EveryTypeAndWireTypeIsExactOnEveryRank) {
  struct Types {
    DType type, wire;
  };
  for (const Types types : {Types{DType::kF32, DType::kF16}, Types{DType::kF32, DType::kBF16},
                            Types{DType::kF64, DType::kF64}, Types{DType::kU64, DType::kU64}}) {
    for (const Reduction reduction : {Reduction::kSum, Reduction::kMax}) {
      for (const Support support : {Support::kRandom, Support::kEqual}) {
        Case at;
        at.type = types.type;
        at.wire = types.wire;
        at.reduction = reduction;
        at.support = support;
        at.world = 7;
        expect_exact_everywhere(at);
      }
    }
  }
}

TEST(SchemeProperties, RowsOfAnyWidthStayTogether) {
  for (const std::uint32_t width : {2u, 3u, 64u, 300u}) {
    for (const Support support : {Support::kRandom, Support::kClustered}) {
      Case at;
      at.domain = {500, width};
      at.support = support;
      at.world = 5;
      expect_exact_everywhere(at);
    }
  }
}

TEST(SchemeProperties, DomainsBeyond32BitsWorkUnlessTheSchemeSaysWhyNot) {
  int num_refusals = 0;
  for (const Scheme* scheme : all_schemes()) {
    for (const Support support : kAllSupports) {
      Case at;
      at.domain = {(std::uint64_t{1} << 40) + 12345, 1};
      at.support = support;
      at.world = 5;
      const std::string refusal = refusal_of(*scheme, at);
      if (refusal.empty()) {
        for (const Codec codec : {Codec::kAuto, Codec::kCoo32, Codec::kBitmap}) {
          at.codec = codec;
          expect_exact(*scheme, at);
        }
      } else {
        EXPECT_NE(refusal.find("densely"), std::string::npos) << scheme->name();
        ++num_refusals;
      }
    }
  }
  EXPECT_EQ(num_refusals, 3 * static_cast<int>(std::size(kAllSupports)));
}

TEST(SchemeProperties, PartialSumsOnA16BitWireDifferNowhere) {
  // Thirds are not exact in 16 bits: every rounding counts, and must be the same on all ranks.
  for (const Scheme* scheme : all_schemes()) {
    for (const DType wire : {DType::kF16, DType::kBF16}) {
      for (const int world : {3, 5, 8}) {
        SCOPED_TRACE(std::string(scheme->name()) + ", " + std::to_string(world) + " ranks");
        const auto supports = make_supports(Support::kRandom, 300, world, 1);
        std::vector<SparseVector> inputs;
        for (int rank = 0; rank < world; ++rank) {
          const auto at = static_cast<std::size_t>(rank);
          inputs.push_back(make_vector({300, 1}, DType::kF32, supports[at], at));
          for (float& value : inputs.back().values<float>()) value /= 3;
        }
        const NaiveRows expected = reduce_naively(inputs, Reduction::kSum);
        std::vector<std::vector<std::byte>> bits(inputs.size());
        run_ranks(world, [&](std::unique_ptr<Transport> transport) {
          Communicator ranks(*transport, 1, Deadline::after(std::chrono::seconds(60)));
          const auto rank = static_cast<std::size_t>(transport->rank());
          SchemeSettings settings;
          settings.wire = wire;
          SchemeMemory memory;
          const auto aggregator = make_cpu_aggregator();
          const Reduced reduced =
              scheme->allreduce(ranks, inputs[rank], settings, memory, *aggregator);
          EXPECT_EQ(difference(present_entries(reduced, Reduction::kSum), expected,
                               wire == DType::kF16 ? 1e-2 : 8e-2),
                    "");
          bits[rank] = bits_of(reduced);
        });
        for (const auto& of_rank : bits) EXPECT_TRUE(of_rank == bits.front());
      }
    }
  }
}

TEST(SchemeProperties, OkTopkAgreesOnRegionsAnewForAnotherSize) {
  const int world = 4;
  run_ranks(world, [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    SchemeSettings settings;
    settings.wire = DType::kU64;
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    std::uint32_t number = 0;
    for (const std::uint64_t units : {1000u, 400u, 1000u, 4000u}) {
      std::vector<SparseVector> inputs;
      for (std::size_t of = 0; of < 4; ++of) {
        inputs.push_back(make_vector({units, 1}, DType::kU64, {of, units / 2 + of, units - 1}, of));
      }
      Communicator ranks(*transport, number++, Deadline::after(std::chrono::seconds(60)));
      const Reduced reduced =
          scheme_by_name("ok_topk").allreduce(ranks, inputs[rank], settings, memory, *aggregator);
      EXPECT_EQ(
          difference(std::get<SparseVector>(reduced), reduce_naively(inputs, Reduction::kSum), 0),
          "");
      EXPECT_EQ(memory.region_bounds.back(), units);
    }
  });
}

TEST(SchemeProperties, OkTopkMovesEntriesWhenItsRegionsHaveGrownStale) {
  // Regions agreed on for one support serve another, all of whose entries lie in one region.
  const int world = 8;
  const Domain domain{10000, 1};
  std::vector<SparseVector> wide_spread;
  std::vector<SparseVector> clustered;
  for (int rank = 0; rank < world; ++rank) {
    std::vector<std::uint64_t> everywhere;
    std::vector<std::uint64_t> at_the_end;
    for (std::uint64_t unit = 0; unit < 500; ++unit) {
      everywhere.push_back(unit * 20);
      at_the_end.push_back(9400 + unit);
    }
    const auto seed = static_cast<std::uint64_t>(rank);
    wide_spread.push_back(make_vector(domain, DType::kU64, everywhere, seed));
    clustered.push_back(make_vector(domain, DType::kU64, at_the_end, seed));
  }
  const NaiveRows expected = reduce_naively(clustered, Reduction::kSum);
  run_ranks(world, [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    SchemeSettings settings;
    settings.wire = DType::kU64;
    SchemeMemory memory;
    const auto aggregator = make_cpu_aggregator();
    const Scheme& ok_topk = scheme_by_name("ok_topk");
    const auto call = [&](std::uint32_t number, const SparseVector& own) {
      Communicator ranks(*transport, number, Deadline::after(std::chrono::seconds(60)));
      const auto before = transport->traffic();
      const Reduced reduced = ok_topk.allreduce(ranks, own, settings, memory, *aggregator);
      EXPECT_EQ((transport->traffic() - before).steps, number == 1 ? 6u + 4u : 2u + 1u + 1u + 1u);
      return std::get<SparseVector>(reduced);
    };
    call(1, wide_spread[rank]);
    EXPECT_EQ(difference(call(2, clustered[rank]), expected, 0), "");
  });
}

}  // namespace
}  // namespace tandem::test
