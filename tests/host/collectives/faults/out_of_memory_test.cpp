// SPDX-License-Identifier: Apache-2.0
//
// Memory that ends in the middle of a call: std::bad_alloc on that rank, the reason on the others.
//
// The program's operator new fails for one thread from its first large request on, until the test
// says otherwise: what unwinds and aborts has no memory either.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "host/collectives/api/groups.h"
#include "transport/simulated/simulated.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define TANDEM_TEST_HAS_OWN_NEW 0
#else
#define TANDEM_TEST_HAS_OWN_NEW 1
#endif

namespace {

constexpr std::size_t kLargeBytes = 1 << 20;
thread_local bool g_armed = false;
thread_local bool g_exhausted = false;

}  // namespace

#if TANDEM_TEST_HAS_OWN_NEW
void* operator new(std::size_t size) {
  if (g_armed && size >= kLargeBytes) g_exhausted = true;
  if (g_exhausted) throw std::bad_alloc();
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
// Not inlined: the compiler would take free() for the wrong partner of a new expression.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace tandem::collectives::test {
namespace {

constexpr int kPoor = 0;
constexpr int kRich = 1;

// Rank kRich has many entries, which rank kPoor has no memory to receive.
void reduce_beyond_memory(Group& group) {
  std::vector<std::uint32_t> indices;
  std::vector<float> values;
  for (std::uint32_t unit = 0; group.rank() == kRich && unit < 500'000; ++unit) {
    indices.push_back(unit);
    values.push_back(1);
  }
  ReduceOptions options;
  options.scheme = "parameter_server";
  options.codec = "coo32";
  g_armed = group.rank() == kPoor;
  RankResult result;
  try {
    sparse_allreduce(group, SparseView::of(indices, values, 600'000), options);
  } catch (const std::bad_alloc&) {
    result.outcome = Outcome::kOther;
  } catch (const TransportError&) {
    result.outcome = Outcome::kTransportError;
  }
  g_armed = g_exhausted = false;
  EXPECT_EQ(result.outcome, group.rank() == kPoor ? Outcome::kOther : Outcome::kTransportError);
  EXPECT_TRUE(group.broken());
  const RankResult later = outcome_of([&] { barrier(group); });
  EXPECT_EQ(later.outcome, Outcome::kTransportError);
  EXPECT_NE(later.text.find("shrink()"), std::string::npos) << later.text;
}

TEST(OutOfMemory, BreaksTheGroupAndNotTheProcess) {
  if (!TANDEM_TEST_HAS_OWN_NEW) GTEST_SKIP() << "sanitizers have an operator new of their own";
  expect_all_done(run_groups(2, reduce_beyond_memory));
}

TEST(OutOfMemory, BreaksASimulatedGroupLikewise) {
  if (!TANDEM_TEST_HAS_OWN_NEW) GTEST_SKIP() << "sanitizers have an operator new of their own";
  transport::simulated::NetworkOptions options;
  options.world = 2;
  expect_all_done(run_on(transport::simulated::make_world(options), reduce_beyond_memory));
}

}  // namespace
}  // namespace tandem::collectives::test
