// SPDX-License-Identifier: Apache-2.0
//
// Entries sorted through files against those sorted in memory, bit by bit.
#include "tensor/sparse/formats/external_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../random_tensor.h"
#include "common/error.h"
#include "tensor/sparse/features/features_text.h"
#include "tensor/sparse/features/streamed_features.h"
#include "tensor/sparse/formats/entry_order.h"

namespace tandem::sparse {
namespace {

std::vector<std::size_t> modes_of_order(std::size_t order) {
  std::vector<std::size_t> modes(order);
  for (std::size_t mode = 0; mode < order; ++mode) modes[mode] = mode;
  return modes;
}

CooTensor visited(ExternalOrder& order, const std::vector<std::uint64_t>& sizes) {
  CooTensor all(sizes);
  order.visit([&](const CooTensor& chunk) {
    for (std::size_t i = 0; i < chunk.num_entries(); ++i) {
      all.append(test::index_of_entry(chunk, i), chunk.values[i]);
    }
  });
  return all;
}

TEST(ExternalOrder, SumsDuplicatesWithTheBitsOfMemory) {
  ThreadPool pool({2, Pin::kOff});
  const std::vector<std::uint64_t> sizes{7, 9, std::uint64_t{1} << 40};
  CooTensor tensor = test::random_tensor(sizes, 900, 3);
  for (std::size_t i = 0; i < tensor.num_entries(); ++i) tensor.indices[2].set(i, i % 5);
  tensor.indices[2].set(17, std::uint64_t{1} << 39);
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{12000},
        std::size_t{1} << 20}) {  // of 2 entries, of about a hundred, of all
    ExternalOrder order(modes_of_order(3), {bytes}, pool);
    const std::array<std::uint64_t, 300> thirds{};
    for (std::uint64_t begin = 0; begin < 900; begin += thirds.size()) {
      std::vector<std::uint64_t> positions(thirds.size());
      for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = begin + i;
      order.add(gathered(tensor, positions, pool));
    }
    CooTensor expected = tensor;
    sum_duplicates(expected, pool);
    ASSERT_LT(expected.num_entries(), 400u);
    EXPECT_EQ(visited(order, sizes), expected) << bytes;
    EXPECT_EQ(visited(order, sizes), expected) << "once more";
    EXPECT_EQ(order.num_runs(), bytes == 0 ? 450u : bytes == 12000 ? 9u : 0u);
  }
}

TEST(ExternalOrder, ComparesByTheNamedModes) {
  ThreadPool pool({1, Pin::kOff});
  const CooTensor tensor = test::random_tensor({5, 6, 7}, 80, 1);
  ExternalOrder order({2, 0}, {1500}, pool);
  order.add(tensor);
  CooTensor expected({7, 5});
  for (std::size_t i = 0; i < tensor.num_entries(); ++i) {
    expected.append(test::Index{tensor.indices[2][i], tensor.indices[0][i]}, tensor.values[i]);
  }
  sum_duplicates(expected, pool);
  EXPECT_EQ(visited(order, expected.sizes), expected);
  EXPECT_GT(order.num_runs(), 1u);
}

TEST(ExternalOrder, TellsWhichFolderCannotHoldItsRuns) {
  ThreadPool pool({1, Pin::kOff});
  ExternalOrder order(modes_of_order(3), {0, "/no/such/folder"}, pool);
  EXPECT_THAT(
      [&] {
        order.add(test::random_tensor({5, 6, 7}, 80, 1));
      },
      testing::ThrowsMessage<Error>(testing::AllOf(
          testing::HasSubstr("in /no/such/folder: No such file"), testing::HasSubstr("TMPDIR"))));
}

TEST(StreamedFeatures, EqualThoseOfMemory) {
  ThreadPool pool({2, Pin::kOff});
  for (const std::vector<std::uint64_t>& sizes :
       {std::vector<std::uint64_t>{40}, std::vector<std::uint64_t>{11, 13},
        std::vector<std::uint64_t>{5, 1, 9}, std::vector<std::uint64_t>{4, 5, 3, 6}}) {
    CooTensor tensor = test::random_tensor(sizes, 60, 4);
    ExternalOrder entries(modes_of_order(sizes.size()), {1000}, pool);
    entries.add(tensor);
    EXPECT_GT(entries.num_runs(), 1u);
    sum_duplicates(tensor, pool);
    EXPECT_EQ(features_json(streamed_features(entries, sizes, {1000}, pool)),
              features_json(features_of(tensor, pool)))
        << sizes.size();
  }
  ExternalOrder none(modes_of_order(3), {1000}, pool);
  const std::vector<std::uint64_t> sizes{2, 3, 4};
  EXPECT_EQ(features_json(streamed_features(none, sizes, {1000}, pool)),
            features_json(features_of(CooTensor(sizes), pool)));
}

}  // namespace
}  // namespace tandem::sparse
