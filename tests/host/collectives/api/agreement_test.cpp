// SPDX-License-Identifier: Apache-2.0
//
// Mismatches and bad arguments: one and the same Error on every rank, and the group stays usable.
#include <gtest/gtest.h>

#include "collectives/agreement.h"
#include "collectives/reduction.h"
#include "host/collectives/api/groups.h"

namespace tandem::collectives::test {
namespace {

// All ranks fail alike, with all of `parts` in the text; the group works afterwards.
void expect_agreed_error(int world, const GroupBody& body, const std::vector<std::string>& parts) {
  std::vector<RankResult> results(static_cast<std::size_t>(world));
  const auto after = run_groups(world, [&](Group& group) {
    auto& result = results[static_cast<std::size_t>(group.rank())];
    result = outcome_of([&] { body(group); });
    EXPECT_FALSE(group.broken());
    const std::vector<std::uint32_t> indices = {1};
    const std::vector<std::uint64_t> values = {2};
    const auto sum = sparse_allreduce(group, SparseView::of(indices, values, 4));
    EXPECT_EQ(entries_of(sum), (Entries{{1, 2 * static_cast<std::uint64_t>(world)}}));
  });
  for (const RankResult& result : after) EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
  for (const RankResult& result : results) {
    EXPECT_EQ(result.outcome, Outcome::kError) << result.text;
    EXPECT_EQ(result.text, results.front().text);
    for (const std::string& part : parts)
      EXPECT_NE(result.text.find(part), std::string::npos)
          << "'" << part << "' is not in: " << result.text;
  }
}

struct Arguments {
  std::vector<std::uint32_t> indices = {0, 3};
  std::vector<float> values = {1, 2};
  SparseView view() const { return SparseView::of(indices, values, 10); }
};

TEST(Agreement, RanksPerNodeCountsMoreThanTheNamesOfNodes) {
  Agreement agreement;
  agreement.nodes = {7, 7, 9, 7};
  ReduceOptions options;
  EXPECT_EQ(node_of_rank(agreement, options), (std::vector<int>{0, 0, 1, 0}));
  options.ranks_per_node = 1;
  EXPECT_EQ(node_of_rank(agreement, options), (std::vector<int>{0, 1, 2, 3}));
  options.ranks_per_node = 2;
  EXPECT_EQ(node_of_rank(agreement, options), (std::vector<int>{0, 0, 1, 1}));
}

TEST(Agreement, RefusesMemoryThatTheHostCannotRead) {
  const Arguments own;
  const Placement on_device{Memory::kDevice, "cuda:0", nullptr};
  expect_agreed_error(
      3,
      [&](Group& group) {
        SparseView view = own.view();
        if (group.rank() == 1) view.placement = on_device;
        sparse_allreduce(group, view);
      },
      {"sparse_allreduce", "rank 1", "memory of cuda:0", "copy them to host memory"});
  const auto dense_call = [&](auto&& call) {
    return [&on_device, call](Group& group) {
      std::vector<float> values = {1, 2};
      DenseView view = DenseView::of(values);
      if (group.rank() == 0) view.placement = on_device;
      call(group, view);
    };
  };
  expect_agreed_error(2, dense_call([](Group& group, DenseView view) { allreduce(group, view); }),
                      {"allreduce", "rank 0", "memory of cuda:0"});
  expect_agreed_error(
      2, dense_call([](Group& group, DenseView view) { sparse_allreduce_dense(group, view); }),
      {"sparse_allreduce_dense", "rank 0", "memory of cuda:0"});
  int queue = 0;
  expect_agreed_error(2,
                      [&](Group& group) {
                        SparseView view = own.view();
                        view.placement = {Memory::kPinned, "cuda:0", &queue};
                        sparse_allreduce(group, view);
                      },
                      {"wait for the queue"});
}

TEST(Agreement, NamesTheFieldsRanksAndValuesThatDiffer) {
  const Arguments own;
  const auto call = [&](int odd, const std::function<void(SparseView&, ReduceOptions&)>& change) {
    return [&own, odd, change](Group& group) {
      SparseView view = own.view();
      ReduceOptions options;
      if (group.rank() == odd) change(view, options);
      sparse_allreduce(group, view, options);
    };
  };
  expect_agreed_error(5, call(2, [](auto& view, auto&) { view.num_units = 11; }),
                      {"sparse_allreduce", "num_units: 10 on ranks 0, 1, 3, 4, 11 on rank 2"});
  expect_agreed_error(4, call(3, [](auto& view, auto&) { view.type = DType::kI32; }),
                      {"rank 3", "type: f32 on ranks 0-2, i32 on rank 3"});
  expect_agreed_error(3,
                      call(0,
                           [](auto& view, auto&) {
                             view.width = 2;
                             view.num_entries = 1;
                           }),
                      {"width: 2 on rank 0, 1 on ranks 1, 2"});
  expect_agreed_error(3, call(1, [](auto&, auto& o) { o.reduction = Reduction::kMean; }),
                      {"reduction: sum on ranks 0, 2, mean on rank 1"});
  expect_agreed_error(2, call(1, [](auto&, auto& o) { o.scheme = "allgather_sparse"; }),
                      {"scheme: auto on rank 0, allgather_sparse on rank 1"});
  expect_agreed_error(2, call(1, [](auto&, auto& o) { o.codec = "bitmap"; }), {"codec: auto"});
  expect_agreed_error(2, call(1, [](auto&, auto& o) { o.wire = DType::kF16; }),
                      {"wire type: f32 on rank 0, f16 on rank 1"});
  expect_agreed_error(2, call(1, [](auto&, auto& o) { o.seed = 1; }), {"seed"});
  expect_agreed_error(2, call(1, [](auto&, auto& o) { o.bucket = "layer 2"; }),
                      {"bucket: 'default' on rank 0, 'layer 2' on rank 1"});
  expect_agreed_error(2, call(1, [](auto&, auto& o) { o.ranks_per_node = 2; }), {"ranks_per_node"});
}

TEST(Agreement, NamesTheRankWhoseArgumentIsInvalid) {
  const auto call = [](const std::function<void(Arguments&, SparseView&, ReduceOptions&)>& change) {
    return [change](Group& group) {
      Arguments own;
      SparseView view = own.view();
      ReduceOptions options;
      if (group.rank() == 1) change(own, view, options);
      sparse_allreduce(group, view, options);
    };
  };
  const std::string function = "sparse_allreduce: ";
  expect_agreed_error(3, call([](auto& own, auto&, auto&) { own.indices[1] = 10; }),
                      {function + "rank 1: ", "index 10", "10 units"});
  expect_agreed_error(3, call([](auto&, auto& view, auto&) { view.indices = nullptr; }),
                      {function + "rank 1: ", "null"});
  expect_agreed_error(3, call([](auto&, auto& view, auto&) { view.values = nullptr; }),
                      {function + "rank 1: ", "null"});
  expect_agreed_error(3, call([](auto& own, auto& view, auto&) {
                        own.indices = {3, 3};
                        view.indices = own.indices.data();
                        view.sorted_unique = true;
                      }),
                      {function + "rank 1: ", "sorted"});
  expect_agreed_error(2, call([](auto&, auto&, auto& o) { o.scheme = "magic"; }),
                      {"rank 1: ", "no scheme is called 'magic'", "allgather_sparse"});
  expect_agreed_error(2, call([](auto&, auto&, auto& o) { o.codec = "zip"; }),
                      {"rank 1: ", "no codec is called 'zip'", "bitmap"});
  expect_agreed_error(2, call([](auto&, auto&, auto& o) { o.wire = DType::kF64; }),
                      {"rank 1: ", "f64 cannot carry sums of f32"});
  expect_agreed_error(2, call([](auto&, auto&, auto& o) { o.ranks_per_node = -1; }), {"rank 1: "});
}

TEST(Agreement, CountsThatOverflowAreRefused) {
  const auto with = [](const std::function<void(SparseView&)>& change) {
    return [change](Group& group) {
      const std::vector<std::uint64_t> indices = {0};
      const std::vector<std::uint64_t> values = {1};
      SparseView view = SparseView::of(indices, values, 4);
      change(view);
      sparse_allreduce(group, view);
    };
  };
  const std::uint64_t huge = std::uint64_t{1} << 62;
  expect_agreed_error(2, with([&](SparseView& view) { view.num_units = huge; }), {"2^63"});
  expect_agreed_error(2, with([&](SparseView& view) {
                        view.num_units = std::uint64_t{1} << 40;
                        view.width = 1u << 31;
                      }),
                      {"2^63"});
  expect_agreed_error(2, with([&](SparseView& view) { view.num_entries = huge; }), {"2^63"});
  expect_agreed_error(2, with([&](SparseView& view) { view.width = 0; }), {"width is 0"});
  expect_agreed_error(2, with([&](SparseView& view) {
                        view.index_type = IndexType::kU32;
                        view.num_units = std::uint64_t{1} << 33;
                      }),
                      {"64-bit"});
  expect_agreed_error(2,
                      [&](Group& group) {
                        const std::vector<std::uint64_t> indices = {0};
                        const std::vector<std::uint64_t> values = {1};
                        const std::vector<SparseView> views(
                            9, SparseView::of(indices, values, huge / 8));
                        sparse_allreduce_fused(group, views);
                      },
                      {"2^63"});
}

TEST(Agreement, TheSumOfAllRanksSizesIsChecked) {
  auto transports = transport::inproc::make_world(2);
  std::vector<RankResult> outcomes(2);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      Communicator ranks(*transports[rank], 1, Deadline::after(std::chrono::seconds(30)));
      CallHeader header;
      header.function = "f";
      header.count = std::uint64_t{1} << 63;
      outcomes[rank] = outcome_of([&] { agree(ranks, header); });
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const RankResult& outcome : outcomes) {
    EXPECT_EQ(outcome.outcome, Outcome::kError);
    EXPECT_NE(outcome.text.find("2^64"), std::string::npos);
  }
}

TEST(Agreement, DifferentFunctionsAreNamed) {
  const Arguments own;
  expect_agreed_error(4,
                      [&](Group& group) {
                        if (group.rank() == 0) {
                          barrier(group);
                        } else {
                          sparse_allreduce(group, own.view());
                        }
                      },
                      {"different functions: barrier on rank 0, sparse_allreduce on ranks 1-3"});
  expect_agreed_error(2,
                      [&](Group& group) {
                        std::vector<float> values(4);
                        if (group.rank() == 0) {
                          allreduce(group, DenseView::of(values));
                        } else {
                          broadcast(group, std::as_writable_bytes(std::span(values)), 0);
                        }
                      },
                      {"allreduce on rank 0, broadcast on rank 1"});
}

TEST(Agreement, BroadcastsAndExchangesCheckTheirArguments) {
  expect_agreed_error(3,
                      [](Group& group) {
                        std::vector<std::byte> bytes(4);
                        broadcast(group, bytes, group.rank() == 2 ? 1 : 0);
                      },
                      {"broadcast", "root: 0 on ranks 0, 1, 1 on rank 2"});
  expect_agreed_error(3,
                      [](Group& group) {
                        std::vector<std::byte> bytes(group.rank() == 1 ? 5 : 4);
                        broadcast(group, bytes, 0);
                      },
                      {"bytes: 4 on ranks 0, 2, 5 on rank 1"});
  expect_agreed_error(3,
                      [](Group& group) {
                        std::vector<std::byte> bytes(4);
                        broadcast(group, bytes, 3);
                      },
                      {"rank 0: root 3", "rank 2: root 3"});
  expect_agreed_error(
      3,
      [](Group& group) {
        const std::vector<std::span<const std::byte>> parts(group.rank() == 1 ? 2 : 3);
        alltoallv(group, parts);
      },
      {"rank 1: 2 parts for 3 ranks"});
}

TEST(Agreement, DenseCallsCheckTheirArguments) {
  expect_agreed_error(2,
                      [](Group& group) {
                        std::vector<float> values(10);
                        sparse_allreduce_dense(group, DenseView::of(values),
                                               group.rank() == 0 ? 3 : 2);
                      },
                      {"rank 0: 10 values", "width: 3 on rank 0, 2 on rank 1"});
  expect_agreed_error(2,
                      [](Group& group) {
                        std::vector<float> values(group.rank() == 0 ? 10 : 12);
                        allreduce(group, DenseView::of(values));
                      },
                      {"allreduce", "num_values: 10 on rank 0, 12 on rank 1"});
  expect_agreed_error(2,
                      [](Group& group) {
                        std::vector<float> values(10);
                        ReduceOptions options;
                        options.scheme = "allgather_sparse";
                        allreduce(group, DenseView::of(values), options);
                      },
                      {"dense_ring"});
}

TEST(Agreement, FusedTensorsMustMatch) {
  const Arguments own;
  expect_agreed_error(2,
                      [&](Group& group) {
                        std::vector<SparseView> views(2, own.view());
                        if (group.rank() == 1) views[1].num_units = 12;
                        sparse_allreduce_fused(group, views);
                      },
                      {"num_units of tensor 1: 10 on rank 0, 12 on rank 1"});
  expect_agreed_error(2,
                      [&](Group& group) {
                        const std::vector<SparseView> views(group.rank() == 0 ? 2 : 3, own.view());
                        sparse_allreduce_fused(group, views);
                      },
                      {"the number of tensors: 2 on rank 0, 3 on rank 1"});
  expect_agreed_error(2,
                      [&](Group& group) {
                        std::vector<SparseView> views(2, own.view());
                        if (group.rank() == 1)
                          views[1].num_units = 3;  // index 3 is then out of range
                        sparse_allreduce_fused(group, views);
                      },
                      {"rank 1: tensor 1: entry 1 has index 3"});
}

TEST(Agreement, FusedTensorsHaveOneIndexType) {
  const Arguments own;
  expect_agreed_error(2,
                      [&](Group& group) {
                        std::vector<SparseView> views(2, own.view());
                        views[1].index_type = IndexType::kU64;
                        views[1].num_entries = 0;
                        sparse_allreduce_fused(group, views);
                      },
                      {"tensor 1 has another width, type or index type than tensor 0"});
}

TEST(Agreement, TakesTheStepsOfItsHeader) {
  for (const auto& [world, steps] : std::vector<std::pair<int, std::uint64_t>>{
           {1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}, {16, 4}}) {
    const std::uint64_t expected = steps;
    for (const auto& result : run_groups(world, [&](Group& group) {
           barrier(group);
           EXPECT_EQ(last_report(group).steps, expected);
         })) {
      EXPECT_EQ(result.outcome, Outcome::kDone) << result.text;
    }
  }
}

}  // namespace
}  // namespace tandem::collectives::test
