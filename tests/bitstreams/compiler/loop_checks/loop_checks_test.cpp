// SPDX-License-Identifier: Apache-2.0
//
// What loops that the plugin has changed ask before they run, and which checks they make for each
// answer. This file stands in for the card.
#include <gmock/gmock.h>

#include <cstdint>
#include <vector>

#include "emulation/card/checks/local_memory.h"
#include "loops.h"

namespace {

struct Look {
  uint64_t low = 0, piece = 0, step = 0, count = 0, flags = 0;
  bool operator==(const Look&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Look& look) {
  return out << "low +" << look.low << " piece " << look.piece << " step " << look.step << " count "
             << look.count << " flags " << look.flags;
}

constexpr uint64_t kLoad = 0, kStore = 1, kSurely = 2, kHasFailed = 4;

// What the functions below are called for. Addresses count from `base`.
struct Calls {
  bool answer = true;
  uint64_t refused = ~uint64_t{0};  // looks with these flags
  uint64_t base = 0;
  std::vector<Look> looks, stored;
  int loads = 0, stores = 0, indices = 0, alignments = 0;
  int loads8 = 0, stores8 = 0, loads_of_any = 0;
} calls;

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void start(const void* base, bool answer) {
  if (!tandem::emulation::has_local_memory()) tandem::emulation::map_local_memory();
  calls = {};
  calls.base = number(base);
  calls.answer = answer;
}

}  // namespace

extern "C" {
int tandem_range_ok(uint64_t low, uint64_t piece, uint64_t step, uint64_t count, uint64_t flags) {
  calls.looks.push_back({low - calls.base, piece, step, count, flags});
  return calls.answer && flags != calls.refused;
}
void tandem_range_stored(uint64_t low, uint64_t piece, uint64_t step, uint64_t count) {
  calls.stored.push_back({low - calls.base, piece, step, count, 0});
}
void tandem_stored(const volatile void*, unsigned long) { ++calls.stores; }
void __asan_load4_noabort(const void*) { ++calls.loads; }
void __asan_store4_noabort(const void*) { ++calls.stores; }
const void* tandem_take4(const void*) {
  ++calls.loads;
  return nullptr;
}
const void* tandem_take8(const void*) {
  ++calls.loads8;
  return nullptr;
}
void tandem_used(const void*) {}
void tandem_unset_store(const void*, const void*, uint64_t) {}
void tandem_unset_copy(const void*, const void*, uint64_t) {}
void __asan_load8_noabort(const void*) { ++calls.loads8; }
void __asan_store8_noabort(const void*) { ++calls.stores8; }
void __asan_loadN_noabort(const void*, uint64_t) { ++calls.loads_of_any; }
void __asan_storeN_noabort(const void*, uint64_t) {}
void __asan_poison_stack_memory(const void*, uint64_t) {}
void __asan_unpoison_stack_memory(const void*, uint64_t) {}
void __asan_register_globals(const void*, uint64_t) {}
void __asan_unregister_globals(const void*, uint64_t) {}
void __asan_handle_no_return() {}
void __ubsan_handle_out_of_bounds(const void*, uint64_t) { ++calls.indices; }
void __ubsan_handle_type_mismatch_v1(const void*, uint64_t) { ++calls.alignments; }
}

int other_call(int value) { return value + 1; }

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct LoopChecks : ::testing::Test {
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer has the addresses of the maps";
#endif
    for (int at = 0; at < 4096; ++at) in[at] = at % 7 + 1;
  }
  alignas(64) int in[4096] = {}, out[4096] = {};
};

TEST_F(LoopChecks, AGoodLoopLooksOnceAndChecksNothing) {
  start(in, true);
  EXPECT_EQ(sum(in, 700), 2800);
  EXPECT_THAT(calls.looks, ElementsAre(Look{0, 2800, 4, 1, kLoad | kSurely}));
  EXPECT_EQ(calls.loads, 0);
}

TEST_F(LoopChecks, AnotherLoopChecksEachAccess) {
  start(in, false);
  scale(in, out, 100);
  EXPECT_EQ(calls.looks.size(), 2u);
  EXPECT_THAT(calls.stored, IsEmpty());
  EXPECT_EQ(calls.loads, 100);
  EXPECT_EQ(calls.stores, 100);
  EXPECT_EQ(out[99], 3 * in[99]);
}

TEST_F(LoopChecks, StoresAreNotedAsAWhole) {
  start(out, true);
  scale(in, out, 100);
  EXPECT_THAT(calls.stored, ElementsAre(Look{0, 400, 4, 1, 0}));
  EXPECT_EQ(calls.loads + calls.stores, 0);
  EXPECT_EQ(out[99], 3 * in[99]);
}

TEST_F(LoopChecks, LoopsThatDoNotRunLookAtNothing) {
  start(out, true);
  scale(in, out, 0);
  backwards(out, 0);
  EXPECT_THAT(calls.looks, IsEmpty());
}

TEST_F(LoopChecks, ALoopBackwardsBeginsAtItsEnd) {
  start(out, true);
  backwards(out, 50);
  EXPECT_THAT(calls.stored, ElementsAre(Look{0, 200, 4, 1, 0}));
  EXPECT_EQ(out[49], 49);
}

TEST_F(LoopChecks, ElementsThatLieApartAreCounted) {
  start(out, true);
  every_third(out, 20);
  EXPECT_THAT(calls.stored, ElementsAre(Look{0, 4, 12, 20, 0}));
}

TEST_F(LoopChecks, StoresUnderAConditionAreNotSure) {
  start(out, true);
  positive_only(in, out, 100);
  EXPECT_THAT(calls.looks, testing::Contains(Look{0, 400, 4, 1, kStore}));
  EXPECT_THAT(calls.stored, IsEmpty());
}

// The array has no values yet, so that look fails; the next ones need not look. The other version
// makes the checks of these stores only.
TEST_F(LoopChecks, StoresUnderAConditionToALocalArrayKeepTheirChecks) {
  in[3] = in[5] = -1;
  start(in, true);
  calls.refused = kStore;
  EXPECT_EQ(last_positive(in, 40), in[39]);
  std::vector<uint64_t> flags;
  for (const Look& look : calls.looks) flags.push_back(look.flags);
  EXPECT_THAT(flags, ElementsAre(kStore, kLoad | kSurely | kHasFailed, kLoad | kSurely));
  EXPECT_EQ(calls.stores, 38);
  EXPECT_EQ(calls.loads, 1) << "behind the loop";
}

TEST_F(LoopChecks, LoadsOfALoopThatMayEndEarlyAreNotSure) {
  start(in, true);
  EXPECT_EQ(until_zero(in, 7), 28);
  EXPECT_THAT(calls.looks, ElementsAre(Look{0, 28, 4, 1, kLoad}));
}

TEST_F(LoopChecks, NeighboursAreOneRange) {
  start(in, true);
  neighbours(in, out, 100);
  EXPECT_THAT(calls.looks, testing::Contains(Look{0, 12, 4, 98, kLoad | kSurely}));
  EXPECT_EQ(calls.looks.size(), 2u);
}

TEST_F(LoopChecks, ANestLooksOnceBeforeItsOutermostLoop) {
  start(in, true);
  matrix(in, out, 10);
  EXPECT_EQ(calls.looks.size(), 2u);
  EXPECT_THAT(calls.looks, testing::Contains(Look{0, 1280, 4, 1, kLoad | kSurely}));
  EXPECT_EQ(out[319], in[319] + 1);
}

TEST_F(LoopChecks, IfTheNestIsNotGoodItsInnerLoopsLookToo) {
  start(in, false);
  matrix(in, out, 10);
  EXPECT_EQ(calls.looks.size(), 2u + 2 * 10);
  EXPECT_EQ(calls.loads, 320);
}

TEST_F(LoopChecks, LoopsWhoseLengthChangesLookEachTime) {
  start(out, true);
  triangle(out, 11);
  EXPECT_THAT(calls.stored, ElementsAre(Look{8 * 256, 32, 4, 1, 0}, Look{9 * 256, 36, 4, 1, 0},
                                        Look{10 * 256, 40, 4, 1, 0}));
  EXPECT_EQ(calls.stores, 0);
}

TEST_F(LoopChecks, OfAnUnknownElementTheWholeArrayIsLookedAt) {
  start(in, true);
  look_up(in, 100);
  EXPECT_EQ(calls.looks.size(), 2u);
  EXPECT_THAT(calls.looks, testing::Contains(testing::Field(&Look::piece, 256u)));
  EXPECT_EQ(calls.loads, 0);
}

TEST_F(LoopChecks, AnIndexOutsideIsStillFound) {
  start(in, true);
  int table[80] = {};
  in[5] = 70;
  pick(reinterpret_cast<const int(&)[64]>(table), in, 10);
  EXPECT_EQ(calls.indices, 1);
}

// Where a reference is made, the compiler lets the element behind the last one pass.
TEST_F(LoopChecks, TheElementBehindTheLastIsFoundToo) {
  start(in, true);
  in[5] = 64;  // a gap follows the variable
  count_in(in, 10);
  EXPECT_EQ(calls.indices, 1);
}

TEST_F(LoopChecks, AMisalignedPointerChecksEachAccess) {
  start(in, true);
  sum(reinterpret_cast<const int*>(reinterpret_cast<const char*>(in) + 1), 10);
  EXPECT_EQ(calls.alignments, 10);
  EXPECT_EQ(calls.loads, 10);
}

TEST_F(LoopChecks, AnnouncedStoresAreStores) {
  start(out, true);
  read_and_write(out, 30);
  EXPECT_THAT(calls.stored, ElementsAre(Look{0, 120, 4, 1, 0}));
  EXPECT_EQ(calls.stores + calls.loads, 0);
  EXPECT_EQ(out[29], 29);
}

TEST_F(LoopChecks, LoopsWithCallsKeepTheirChecks) {
  start(in, true);
  with_call(in, out, 10);
  EXPECT_THAT(calls.looks, IsEmpty());
  EXPECT_EQ(calls.loads, 10);
  EXPECT_EQ(calls.stores, 10);
}

TEST_F(LoopChecks, AccessesAtAnyPlaceKeepTheirChecks) {
  start(in, true);
  EXPECT_GT(gather(in, in, 10), 0);
  EXPECT_EQ(calls.looks.size(), 1u);
  EXPECT_EQ(calls.loads, 10);
}

TEST_F(LoopChecks, AFewIterationsAreNotWorthALook) {
  start(out, true);
  few(out);
  EXPECT_THAT(calls.looks, IsEmpty());
}

// Before the loop around its scope, nothing is known of a variable.
TEST_F(LoopChecks, AVariableIsLookedAtInsideItsScope) {
  start(in, true);
  scoped(in, 48);
  size_t variables = 0;
  for (const Look& look : calls.looks) variables += look.piece == 64 && look.low >= sizeof(in);
  EXPECT_EQ(variables, 2u * 3);
}

// A loop that tests its condition at the end runs once, whatever the condition says.
TEST_F(LoopChecks, ALoopThatTestsAtItsEndReachesItsFirstElement) {
  for (const long columns : {-3L, 0L, 1L}) {
    start(out, true);
    until_column(out, 4, columns);
    EXPECT_THAT(calls.looks, ElementsAre(Look{0, 3 * 2048 + 4, 8, 1, kStore})) << columns;
  }
}

// A check that stays must not see stores before the loop makes them.
TEST_F(LoopChecks, BesideChecksThatStayNoStoreIsNotedBeforeTheLoop) {
  start(out, true);
  store_and_gather(out, in, 20);
  EXPECT_EQ(calls.loads, 20);
  EXPECT_THAT(calls.stored, IsEmpty());
  EXPECT_THAT(calls.looks, testing::Contains(Look{0, 80, 4, 1, kStore}));
}

// Another unit may write the bytes between them.
TEST_F(LoopChecks, LoadsWithBytesBetweenThemAreNotSure) {
  start(in, true);
  two_of_four(in, 20);
  EXPECT_THAT(calls.looks, ElementsAre(Look{0, 12, 16, 20, kLoad}));
}

// v++ makes checks of numbers inline.
TEST_F(LoopChecks, AlignedAtomicAccessesAreCheckedAsNumbers) {
  const std::atomic<long> from{4};
  std::atomic<long> to{0};
  start(in, true);
  publish(from, to);
  EXPECT_EQ(to.load(), 4);
  EXPECT_EQ(calls.loads8, 1);
  EXPECT_EQ(calls.stores8, 1);
  EXPECT_EQ(calls.loads_of_any, 0);
}

TEST_F(LoopChecks, CopiesThatMayCrossAWordAreNot) {
  const Pair pairs[3] = {{1, 2}, {3, 4}, {5, 6}};
  start(pairs, true);
  EXPECT_EQ(copied(pairs, 1).second, 4);
  EXPECT_EQ(calls.loads8, 0);
  EXPECT_EQ(calls.loads_of_any, 1);
}

}  // namespace
