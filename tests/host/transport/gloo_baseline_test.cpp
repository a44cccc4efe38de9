// SPDX-License-Identifier: Apache-2.0
//
// Sums of this library over its gloo transport against gloo's own dense all-reduce, on the same
// data and ranks: exact for u64 and for f32 holding small integers, within rounding otherwise.
#include <gloo/allreduce.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/rendezvous/prefix_store.h>
#include <gloo/transport/tcp/device.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "collectives/collective.h"
#include "host/transport/gloo_world.h"

namespace tandem::transport {
namespace {

using collectives::DenseView;
using collectives::Group;
using collectives::ReduceOptions;

// One value in twenty is not zero; rank `world` - 1 has none.
template <typename T, typename Draw>
std::vector<T> input_of(int rank, int world, std::size_t count, const Draw& draw) {
  std::mt19937_64 random(static_cast<std::uint64_t>(rank) * 1000 + count);
  std::vector<T> values(count, T{0});
  if (rank == world - 1) return values;
  for (T& value : values) {
    if (random() % 20 == 0) value = draw(random);
  }
  return values;
}

class GlooItself {
 public:
  GlooItself(const std::string& directory, int rank, int world) {
    std::filesystem::create_directories(directory);
    ::gloo::transport::tcp::attr attributes("127.0.0.1");
    auto device = ::gloo::transport::tcp::CreateDevice(attributes);
    ::gloo::rendezvous::FileStore files(directory);
    auto context = std::make_shared<::gloo::rendezvous::Context>(rank, world);
    context->connectFullMesh(files, device);
    context_ = std::move(context);
  }

  template <typename T>
  void sum(std::vector<T>& values) {
    ::gloo::AllreduceOptions options(context_);
    options.setOutput(values.data(), values.size());
    options.setReduceFunction([](void* sum, const void* a, const void* b, std::size_t count) {
      ::gloo::sum<T>(sum, a, b, count);
    });
    ::gloo::allreduce(options);
  }

 private:
  std::shared_ptr<::gloo::Context> context_;
};

// Calls compare(by_gloo, ours) on every rank, for a dense and two sparse calls of this library.
template <typename T, typename Draw, typename Compare>
void compare_on_all_ranks(int world, std::size_t count, const Draw& draw, const Compare& compare) {
  const test::StoreDirectory directory;
  test::run_gloo_ranks(world, [&](std::unique_ptr<Transport> transport) {
    const int rank = transport->rank();
    const auto input = input_of<T>(rank, world, count, draw);
    auto by_gloo = input;
    GlooItself(directory.path(), rank, world).sum(by_gloo);
    Group group(std::move(transport));
    auto dense = input;
    allreduce(group, DenseView::of(dense));
    compare(by_gloo, dense);
    for (const char* scheme : {"balanced_parallelism", "allgather_sparse"}) {
      auto sparse = input;
      ReduceOptions options;
      options.scheme = scheme;
      sparse_allreduce_dense(group, DenseView::of(sparse), 1, options);
      compare(by_gloo, sparse);
    }
  });
}

TEST(GlooBaseline, SumsOfWholeNumbersAreThoseOfGloosOwnAllReduce) {
  for (const int world : {2, 3, 5}) {
    for (const std::size_t count : {1u, 1000u, 10007u}) {
      const auto exactly = [](const auto& a, const auto& b) { EXPECT_EQ(a, b); };
      compare_on_all_ranks<std::uint64_t>(
          world, count, [](auto& random) { return random(); }, exactly);
      compare_on_all_ranks<float>(
          world, count, [](auto& random) { return static_cast<float>(random() % 1000); }, exactly);
    }
  }
}

TEST(GlooBaseline, SumsOfFractionsDifferFromGloosOnlyByRounding) {
  constexpr int kWorld = 4;
  const auto draw = [](auto& random) { return std::normal_distribution<float>()(random); };
  compare_on_all_ranks<float>(kWorld, 50000, draw, [](const auto& a, const auto& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t at = 0; at < a.size(); ++at) {
      // Four values of a few units: each addition rounds by half a unit in the last place.
      ASSERT_NEAR(a[at], b[at], 8 * 1.2e-7f * kWorld);
    }
  });
}

}  // namespace
}  // namespace tandem::transport
