// SPDX-License-Identifier: Apache-2.0
//
// The full product over ranks that are threads.
#include "host/collectives/scheme/product.h"

#include <gtest/gtest.h>

#include <mutex>

#include "support/ranks.h"

namespace tandem::test {
namespace {

class Product : public ::testing::TestWithParam<int> {};

TEST_P(Product, SumsExactlyWithEverySchemeCodecAndCount) {
  std::mutex mutex;
  std::vector<std::string> failures;
  run_ranks(GetParam(), [&](std::unique_ptr<transport::Transport> transport) {
    const auto own = run_product(*transport);
    const std::lock_guard lock(mutex);
    failures.insert(failures.end(), own.begin(), own.end());
  });
  for (const std::string& failure : failures) ADD_FAILURE() << failure;
}

INSTANTIATE_TEST_SUITE_P(Worlds, Product, ::testing::Values(1, 2, 3, 4, 5, 7, 8, 16));

}  // namespace
}  // namespace tandem::test
