// SPDX-License-Identifier: Apache-2.0
//
// The product scheme x codec x count over gloo, on every world, with exact sums.
#include <gtest/gtest.h>

#include <mutex>

#include "host/collectives/scheme/product.h"
#include "host/transport/gloo_world.h"

namespace tandem::test {
namespace {

class GlooProduct : public ::testing::TestWithParam<int> {};

TEST_P(GlooProduct, SumsExactlyWithEverySchemeCodecAndCount) {
  if (!transport::gloo::available()) GTEST_SKIP() << "this build has no libgloo";
  std::mutex mutex;
  std::vector<std::string> failures;
  run_gloo_ranks(GetParam(), [&](std::unique_ptr<transport::Transport> transport) {
    const auto own = run_product(*transport);
    const std::lock_guard lock(mutex);
    failures.insert(failures.end(), own.begin(), own.end());
  });
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Worlds, GlooProduct, ::testing::Values(1, 2, 3, 4, 5, 7, 8, 16));

}  // namespace
}  // namespace tandem::test
