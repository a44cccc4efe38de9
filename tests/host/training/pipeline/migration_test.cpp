// SPDX-License-Identifier: Apache-2.0
//
// A layer that moves, and ranks that are lost while it does: it is never on no rank.
#include "training/pipeline/migration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "collectives/group_state.h"
#include "common/error.h"
#include "host/training/pipeline/toy_layers.h"
#include "support/ranks.h"

namespace tandem::training {
namespace {

using transport::Payload;
using transport::Transport;

constexpr std::chrono::milliseconds kPatience{20'000};

struct Two {
  std::vector<LayerSpec> specs = layers_of(test::toy_parameters(2, false), 2);
  ThreadPool pool{1};
  LayerTools tools{test::make_toy, Adam{}, pool};

  std::unique_ptr<TrainedLayer> layer(int number) {
    return std::make_unique<TrainedLayer>(specs[static_cast<std::size_t>(number)], tools);
  }
};

TEST(Moves, AreTheLayersWhoseRankDiffers) {
  const PipelineShape shape{PassOrder::kOneForward, 3, 4};
  EXPECT_EQ(moves_between({shape, {2, 4}, 6}, {shape, {1, 4}, 6}),
            std::vector<LayerMove>({{1, 0, 1}}));
  EXPECT_EQ(moves_between({shape, {2, 4}, 6}, {shape, {3, 5}, 6}),
            std::vector<LayerMove>({{2, 1, 0}, {4, 2, 1}}));
  EXPECT_TRUE(moves_between({shape, {2, 4}, 6}, {shape, {2, 4}, 6}).empty());
  const PipelineShape round{PassOrder::kInterleaved, 2, 2, 2};  // stages of ranks 0, 1, 0, 1
  EXPECT_EQ(moves_between({round, {1, 2, 3}, 5}, {round, {1, 2, 4}, 5}),
            std::vector<LayerMove>({{3, 1, 0}}));
}

TEST(Migration, ALayerArrivesWithItsStateAndLeavesItsOldRank) {
  Two sender, receiver;
  RankLayers of[2];
  of[0].emplace(1, sender.layer(1));
  ParameterSet& before = of[0].at(1)->parameters();
  before.draw(3);
  std::ranges::fill(before.gradient(0), 0.5f);
  of[0].at(1)->update({.iteration = 1, .learning_rate = 0.1});
  const auto bytes = of[0].at(1)->bytes(), gradients = of[0].at(1)->late_bytes();
  test::run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    collectives::Group group(std::move(transport));
    Two& own = group.rank() == 0 ? sender : receiver;
    const std::uint64_t moved =
        migrate(group, {own.specs, own.tools, {{1, 0, 1}}, kPatience}, of[group.rank()]);
    EXPECT_EQ(moved, bytes.size() + gradients.size() + 3 * sizeof(std::uint64_t));  // three sums
  });
  EXPECT_TRUE(of[0].empty());
  ASSERT_EQ(of[1].size(), 1u);
  const auto after = of[1].at(1)->bytes();
  ASSERT_EQ(after.size(), bytes.size());
  EXPECT_TRUE(std::ranges::equal(after, bytes));
  EXPECT_TRUE(std::ranges::equal(of[1].at(1)->late_bytes(), gradients));
}

// The old owner, while `other` stands in for the new one.
template <typename Other>
void expect_kept(const Other& other, const std::string& text) {
  Two two;
  RankLayers layers;
  layers.emplace(1, two.layer(1));
  std::string failure;
  test::run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    if (transport->rank() == 1) return other(std::move(transport));
    collectives::Group group(std::move(transport));
    try {
      migrate(group, {two.specs, two.tools, {{1, 0, 1}}, kPatience}, layers);
    } catch (const Error& error) {
      failure = error.what();
    }
  });
  EXPECT_THAT(failure, testing::HasSubstr(text));
  EXPECT_EQ(layers.size(), 1u);
}

TEST(Migration, TheOldOwnerKeepsALayerWhoseNewOwnerIsLostBeforeItHasCome) {
  expect_kept([](std::unique_ptr<Transport>) {}, "rank 1");
}

TEST(Migration, TheOldOwnerKeepsALayerThatNobodyHasConfirmed) {
  expect_kept(
      [](std::unique_ptr<Transport> transport) {
        transport->receive(0, 3, Deadline::after(kPatience));  // call 0, layer 1
        transport->receive(0, 4, Deadline::after(kPatience));  // its gradients
      },
      "rank 1");
}

TEST(Migration, TheOldOwnerKeepsALayerThatWasConfirmedAsAnother) {
  expect_kept(
      [](std::unique_ptr<Transport> transport) {
        const Payload message = transport->receive(0, 3, Deadline::after(kPatience));
        transport::ByteBuffer other(message.bytes().begin(),
                                    message.bytes().begin() + sizeof(std::uint64_t));
        other[0] ^= std::byte{1};
        transport->send(0, 5, Payload(std::move(other)), Deadline::after(kPatience));
      },
      "has another layer 1 than it was sent");
}

TEST(Migration, ADamagedLayerIsRefused) {
  Two two;
  RankLayers layers;
  std::string failure;
  test::run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    if (transport->rank() == 0) {
      transport::ByteBuffer bytes;
      bytes.resize(sizeof(std::uint64_t) + two.layer(1)->num_bytes());
      std::ranges::fill(bytes, std::byte{1});
      return transport->send(1, 3, Payload(std::move(bytes)), Deadline::after(kPatience));
    }
    collectives::Group group(std::move(transport));
    try {
      migrate(group, {two.specs, two.tools, {{1, 0, 1}}, kPatience}, layers);
    } catch (const Error& error) {
      failure = error.what();
    }
  });
  EXPECT_THAT(failure, testing::HasSubstr("layer 1 arrived damaged from rank 0"));
  EXPECT_TRUE(layers.empty());
}

TEST(TrainedLayer, BytesOfAnotherLayerAreRefused) {
  Two two;
  const auto bytes = two.layer(0)->bytes();
  EXPECT_THROW(two.layer(1)->restore(bytes), Error);
}

}  // namespace
}  // namespace tandem::training
