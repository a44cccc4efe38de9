// SPDX-License-Identifier: Apache-2.0
//
// The sparse calls against naive sums: forms of input, types, reductions, fusion, plans.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "collectives/group_state.h"
#include "host/collectives/api/groups.h"

namespace tandem::collectives::test {
namespace {

TEST(SparseCalls, SumUnsortedRepeatedEntriesOnEveryWorld) {
  for (const int world : {1, 2, 3, 4, 5, 7, 8, 16}) {
    std::vector<Tensor> tensors;
    for (int rank = 0; rank < world; ++rank) tensors.push_back(random_tensor(1000, 300, rank));
    const Entries expected = naive_sum(tensors);
    expect_all_done(run_groups(world, [&](Group& group) {
      const Tensor& own = tensors[static_cast<std::size_t>(group.rank())];
      const auto sum = sparse_allreduce(group, SparseView::of(own.indices, own.values, 1000));
      EXPECT_EQ(entries_of(sum), expected);
      EXPECT_EQ(sum.num_units, 1000u);
      // What comes out may go in.
      const auto again = sparse_allreduce(group, sum.view());
      EXPECT_EQ(again.num_entries, sum.num_entries);
    }));
  }
}

TEST(SparseCalls, RanksWithoutEntriesTakePart) {
  for (const bool any : {false, true}) {
    expect_all_done(run_groups(3, [&](Group& group) {
      std::vector<std::uint32_t> indices;
      std::vector<float> values;
      if (any && group.rank() == 1) {
        indices = {7};
        values = {2.5f};
      }
      const auto sum = sparse_allreduce(group, SparseView::of(indices, values, 10));
      ASSERT_EQ(sum.num_entries, any ? 1u : 0u);
      if (any) {
        EXPECT_EQ(sum.indices_as<std::uint32_t>()[0], 7u);
        EXPECT_EQ(sum.values_as<float>()[0], 2.5f);
      }
    }));
  }
}

TEST(SparseCalls, ATensorOfNoUnitsIsEmpty) {
  expect_all_done(run_groups(2, [](Group& group) {
    EXPECT_EQ(sparse_allreduce(group, SparseView{}).num_entries, 0u);
    sparse_allreduce_dense(group, DenseView{});
    allreduce(group, DenseView{});
    EXPECT_EQ(sparse_reduce_scatter(group, SparseView{}).num_entries, 0u);
  }));
}

TEST(SparseCalls, MeanAndMaxFollowTheirDefinitions) {
  expect_all_done(run_groups(4, [](Group& group) {
    // Unit 3: on all ranks; unit 10 + rank: on one; values negative.
    const auto rank = static_cast<std::uint32_t>(group.rank());
    const std::vector<std::uint32_t> indices = {3, 10 + rank};
    const std::vector<double> values = {-1.0 - rank, -8.0};
    const auto view = SparseView::of(indices, values, 20);
    ReduceOptions options;
    options.reduction = Reduction::kMean;
    const auto mean = sparse_allreduce(group, view, options);
    ASSERT_EQ(mean.num_entries, 5u);
    EXPECT_EQ(mean.values_as<double>()[0], -2.5);
    EXPECT_EQ(mean.values_as<double>()[1], -2.0);
    options.reduction = Reduction::kMax;
    const auto max = sparse_allreduce(group, view, options);
    ASSERT_EQ(max.num_entries, 5u);
    EXPECT_EQ(max.values_as<double>()[0], -1.0);
    EXPECT_EQ(max.values_as<double>()[4], -8.0);  // not zero: over the ranks that hold the unit
  }));
}

TEST(SparseCalls, NaNWinsMaxAndStaysInSums) {
  expect_all_done(run_groups(3, [](Group& group) {
    const float value = group.rank() == 1 ? std::numeric_limits<float>::quiet_NaN() : 1.0f;
    const std::vector<std::uint32_t> indices = {0};
    const std::vector<float> values = {value};
    ReduceOptions options;
    for (const auto reduction : {Reduction::kSum, Reduction::kMax}) {
      options.reduction = reduction;
      const auto result = sparse_allreduce(group, SparseView::of(indices, values, 4), options);
      ASSERT_EQ(result.num_entries, 1u);
      EXPECT_TRUE(std::isnan(result.values_as<float>()[0]));
    }
  }));
}

TEST(SparseCalls, SixteenBitValuesAccumulateInF32) {
  // 2048 + 1 is 2048 in f16: a sum in f16 would stay there.
  expect_all_done(run_groups(5, [](Group& group) {
    const std::vector<std::uint32_t> indices = {1};
    const std::vector<std::uint16_t> values = {f32_to_f16(group.rank() == 0 ? 2048.0f : 1.0f)};
    const SparseView view{4, 1, DType::kF16, IndexType::kU32, 1, indices.data(), values.data()};
    ReduceOptions options;
    options.scheme = "allgather_sparse";
    const auto sum = sparse_allreduce(group, view, options);
    ASSERT_EQ(sum.num_entries, 1u);
    EXPECT_EQ(sum.type, DType::kF16);
    EXPECT_EQ(f16_to_f32(sum.values_as<std::uint16_t>()[0]), 2052.0f);
  }));
}

TEST(SparseCalls, A16BitWireRoundsF32ValuesAlikeEverywhere) {
  for (const DType wire : {DType::kF16, DType::kBF16}) {
    std::vector<std::vector<float>> sums(3);
    expect_all_done(run_groups(3, [&](Group& group) {
      const std::vector<std::uint32_t> indices = {0, 1};
      const std::vector<float> values = {1.0001f, 0.1f * static_cast<float>(group.rank() + 1)};
      ReduceOptions options;
      options.wire = wire;
      const auto sum = sparse_allreduce(group, SparseView::of(indices, values, 2), options);
      const auto own = sum.values_as<float>();
      ASSERT_EQ(own.size(), 2u);
      EXPECT_EQ(own[0], 3.0f);  // 1.0001 is 1 on the wire
      sums[static_cast<std::size_t>(group.rank())].assign(own.begin(), own.end());
    }));
    EXPECT_EQ(sums[0], sums[1]);
    EXPECT_EQ(sums[0], sums[2]);
  }
}

TEST(SparseCalls, IndicesBeyond32BitsWork) {
  const std::uint64_t num_units = std::uint64_t{1} << 40;
  expect_all_done(run_groups(3, [&](Group& group) {
    const std::vector<std::uint64_t> indices = {num_units - 1,
                                                static_cast<std::uint64_t>(group.rank())};
    const std::vector<std::uint64_t> values = {5, 7};
    const auto sum = sparse_allreduce(group, SparseView::of(indices, values, num_units));
    EXPECT_EQ(entries_of(sum), (Entries{{0, 7}, {1, 7}, {2, 7}, {num_units - 1, 15}}));
  }));
}

TEST(SparseCalls, RowsAreReducedWhole) {
  expect_all_done(run_groups(3, [](Group& group) {
    const std::vector<std::uint32_t> indices = {9, 2, 9};
    const std::vector<std::uint64_t> values = {1, 2, 3, 4, 10, 20};
    const auto sum = sparse_allreduce(group, SparseView::of(indices, values, 10, 2));
    ASSERT_EQ(sum.num_entries, 2u);
    const auto rows = sum.values_as<std::uint64_t>();
    EXPECT_EQ(std::vector<std::uint64_t>(rows.begin(), rows.end()),
              (std::vector<std::uint64_t>{9, 12, 33, 66}));
  }));
}

TEST(SparseCalls, DenselyStoredGradientsAreReducedInPlace) {
  for (const std::uint32_t width : {1u, 4u}) {
    expect_all_done(run_groups(4, [&](Group& group) {
      std::vector<std::uint64_t> values(64, 0);
      values[static_cast<std::size_t>(group.rank())] = 3;
      values[63] = 1;
      sparse_allreduce_dense(group, DenseView::of(values), width);
      std::vector<std::uint64_t> expected(64, 0);
      for (std::size_t rank = 0; rank < 4; ++rank) expected[rank] = 3;
      expected[63] = 4;
      EXPECT_EQ(values, expected);
    }));
  }
}

TEST(SparseCalls, FusedTensorsComeBackOneByOne) {
  for (const int world : {1, 3, 4}) {
    const std::vector<std::uint64_t> sizes = {100, 1, 0, 5000};
    std::vector<std::vector<Tensor>> tensors(sizes.size());  // [tensor][rank]
    for (std::size_t at = 0; at < sizes.size(); ++at) {
      for (int rank = 0; rank < world; ++rank) {
        tensors[at].push_back(random_tensor(std::max<std::uint64_t>(1, sizes[at]),
                                            sizes[at] == 0 ? 0 : 40 * at + 5,
                                            rank * 10 + static_cast<int>(at)));
      }
    }
    expect_all_done(run_groups(world, [&](Group& group) {
      std::vector<SparseView> views;
      for (std::size_t at = 0; at < sizes.size(); ++at) {
        const Tensor& own = tensors[at][static_cast<std::size_t>(group.rank())];
        views.push_back(SparseView::of(own.indices, own.values, sizes[at]));
      }
      const auto sums = sparse_allreduce_fused(group, views);
      ASSERT_EQ(sums.size(), sizes.size());
      for (std::size_t at = 0; at < sizes.size(); ++at) {
        EXPECT_EQ(entries_of(sums[at]), naive_sum(tensors[at])) << "tensor " << at;
        EXPECT_EQ(sums[at].num_units, sizes[at]);
      }
      EXPECT_TRUE(sparse_allreduce_fused(group, {}).empty());
    }));
  }
}

TEST(SparseCalls, AFusedSpaceMayNeedWiderIndicesThanItsTensors) {
  const std::uint64_t half = std::uint64_t{1} << 32;
  expect_all_done(run_groups(2, [&](Group& group) {
    const std::vector<std::uint32_t> indices = {0xffffffffu};
    const std::vector<std::uint64_t> values = {4};
    const std::vector<SparseView> views(3, SparseView::of(indices, values, half));
    for (const SparseTensor& sum : sparse_allreduce_fused(group, views)) {
      EXPECT_EQ(sum.index_type, IndexType::kU32);
      EXPECT_EQ(entries_of(sum), (Entries{{0xffffffffu, 8}}));
    }
  }));
}

TEST(SparseCalls, ReduceScatterGivesEveryRankItsRange) {
  for (const int world : {1, 2, 3, 5, 8}) {
    std::vector<Tensor> tensors;
    for (int rank = 0; rank < world; ++rank) tensors.push_back(random_tensor(97, 60, rank));
    const Entries expected = naive_sum(tensors);
    const std::uint64_t share =
        (97 + static_cast<std::uint64_t>(world) - 1) / static_cast<std::uint64_t>(world);
    expect_all_done(run_groups(world, [&](Group& group) {
      const auto rank = static_cast<std::uint64_t>(group.rank());
      const Tensor& own = tensors[static_cast<std::size_t>(group.rank())];
      const auto part = sparse_reduce_scatter(group, SparseView::of(own.indices, own.values, 97));
      EXPECT_EQ(entries_of(part), Entries(expected.lower_bound(rank * share),
                                          expected.lower_bound((rank + 1) * share)));
    }));
  }
}

TEST(SparseCalls, APlanTellsTheSizeBeforeItFillsTheCallersMemory) {
  expect_all_done(run_groups(3, [](Group& group) {
    const std::vector<std::uint32_t> indices = {5, static_cast<std::uint32_t>(group.rank())};
    const std::vector<std::uint64_t> values = {1, 2};
    const SparseAllreducePlan plan(group, SparseView::of(indices, values, 6));
    ASSERT_EQ(plan.num_entries(), 4u);
    std::vector<std::uint32_t> out_indices(4);
    std::vector<std::uint64_t> out_values(4);
    EXPECT_THROW(plan.execute(nullptr, out_values.data()), Error);
    plan.execute(out_indices.data(), out_values.data());
    EXPECT_EQ(out_indices, (std::vector<std::uint32_t>{0, 1, 2, 5}));
    EXPECT_EQ(out_values, (std::vector<std::uint64_t>{2, 2, 2, 3}));
  }));
}

TEST(SparseCalls, EverySchemeAndCodecIsReachedByName) {
  const std::vector<Tensor> tensors = {random_tensor(1000, 99, 0), random_tensor(1000, 5, 1),
                                       random_tensor(1000, 0, 2), random_tensor(1000, 400, 3)};
  const Entries expected = naive_sum(tensors);
  expect_all_done(run_groups(4, [&](Group& group) {
    const Tensor& own = tensors[static_cast<std::size_t>(group.rank())];
    for (const Scheme* scheme : all_schemes()) {
      for (const Codec codec : all_codecs()) {
        ReduceOptions options;
        options.scheme = scheme->name();
        options.codec = codec_name(codec);
        const auto sum =
            sparse_allreduce(group, SparseView::of(own.indices, own.values, 1000), options);
        EXPECT_EQ(entries_of(sum), expected) << options.scheme << ", " << options.codec;
        EXPECT_EQ(last_report(group).scheme, options.scheme);
      }
    }
  }));
}

TEST(SparseCalls, AutoAgreesOnASchemeAndExplainsIt) {
  std::vector<std::vector<std::string>> chosen(4);
  expect_all_done(run_groups(4, [&](Group& group) {
    ReduceOptions options;
    options.explain = true;
    for (int call = 0; call < 6; ++call) {
      // Denser and denser: the profile drifts, and with it the choice may.
      std::vector<Tensor> tensors;
      for (int rank = 0; rank < 4; ++rank) {
        tensors.push_back(random_tensor(20'000, 50u << (2 * call), rank));
      }
      const Tensor& own = tensors[static_cast<std::size_t>(group.rank())];
      const auto sum =
          sparse_allreduce(group, SparseView::of(own.indices, own.values, 20'000), options);
      EXPECT_EQ(entries_of(sum), naive_sum(tensors));
      const Report report = last_report(group);
      EXPECT_NE(report.explanation.find(report.scheme), std::string::npos) << report.explanation;
      EXPECT_GT(report.scheme_seconds, 0.0);
      EXPECT_LE(report.scheme_seconds, report.seconds);
      chosen[static_cast<std::size_t>(group.rank())].push_back(report.scheme);
    }
    sparse_allreduce(group, SparseView{}, options);  // no entries anywhere
    EXPECT_NE(last_report(group).explanation.find(last_report(group).scheme), std::string::npos);
    options.scheme = "allgather_sparse";
    sparse_allreduce(group, SparseView{}, options);
    EXPECT_TRUE(last_report(group).explanation.empty());
  }));
  for (const auto& of_rank : chosen) EXPECT_EQ(of_rank, chosen.front());
}

TEST(SparseCalls, AReduceScatterSendsNoSketchesAndGivesTheBitsOfTheAllReduce) {
  expect_all_done(run_groups(3, [](Group& group) {
    const std::vector<std::uint32_t> indices = {1, 5, 8};
    const std::vector<float> values = {1.0f / 3, 0.1f, static_cast<float>(group.rank())};
    const SparseView input = SparseView::of(indices, values, 9);
    ReduceOptions options;
    options.wire = DType::kBF16;
    const SparseTensor part = sparse_reduce_scatter(group, input, options);
    EXPECT_LT(last_report(group).bytes_sent, 1000u);
    options.scheme = "balanced_parallelism";
    const SparseTensor sum = sparse_allreduce(group, input, options);
    ASSERT_EQ(part.num_entries, 1u);
    const auto all = sum.values_as<float>();
    const auto at = static_cast<std::size_t>(group.rank());
    EXPECT_EQ(part.indices_as<std::uint32_t>()[0], indices[at]);
    EXPECT_EQ(part.values_as<float>()[0], all[at]);
  }));
}

TEST(SparseCalls, ACodecThatCannotCarryAHugeDomainIsReplacedInReduceScatterToo) {
  expect_all_done(run_groups(2, [](Group& group) {
    const std::vector<std::uint64_t> indices = {1, std::uint64_t{1} << 40};
    const std::vector<std::uint64_t> values = {1, 2};
    ReduceOptions options;
    options.codec = "dense";
    const SparseTensor part = sparse_reduce_scatter(
        group, SparseView::of(indices, values, (std::uint64_t{1} << 40) + 1), options);
    ASSERT_EQ(part.num_entries, 1u);
    EXPECT_EQ(part.values_as<std::uint64_t>()[0], group.rank() == 0 ? 2u : 4u);
  }));
}

TEST(SparseCalls, BucketsAreKeptApartByWhatChangesTheChoiceAndAreBounded) {
  expect_all_done(run_groups(2, [](Group& group) {
    const Tensor own = random_tensor(100, 5, group.rank());
    const SparseView input = SparseView::of(own.indices, own.values, 100);
    ReduceOptions options;
    options.scheme = "allgather_sparse";
    const auto call = [&] { sparse_allreduce(group, input, options); };
    call();
    call();
    EXPECT_EQ(group.state().num_buckets(), 1u);
    options.codec = "coo32";
    call();
    options.reduction = Reduction::kMax;
    call();
    options.ranks_per_node = 2;
    call();
    EXPECT_EQ(group.state().num_buckets(), 4u);
    for (std::size_t at = 0; at < Group::State::kMaxBuckets + 3; ++at) {
      options.bucket = std::to_string(at);
      call();
    }
    EXPECT_EQ(group.state().num_buckets(), Group::State::kMaxBuckets);
    options.scheme = "auto";  // of a forgotten bucket: all ranks start afresh
    options.bucket = "0";
    call();
    EXPECT_EQ(group.state().num_buckets(), Group::State::kMaxBuckets);
  }));
}

TEST(SparseCalls, TheReportCountsWhatTheCallMoved) {
  expect_all_done(run_groups(3, [](Group& group) {
    const Tensor own = random_tensor(1000, 50, group.rank());
    const auto before = group.traffic();
    sparse_allreduce(group, SparseView::of(own.indices, own.values, 1000));
    const auto moved = group.traffic() - before;
    const Report report = last_report(group);
    EXPECT_EQ(report.function, "sparse_allreduce");
    EXPECT_EQ(report.bytes_sent, moved.bytes_sent());
    EXPECT_EQ(report.bytes_received, moved.bytes_received());
    EXPECT_EQ(report.steps, moved.steps);
    EXPECT_GT(report.bytes_sent, 0u);
    EXPECT_GT(report.seconds, 0.0);
  }));
}

}  // namespace
}  // namespace tandem::collectives::test
