// SPDX-License-Identifier: Apache-2.0
//
// How the plugin follows values that are missing where they only choose, or decide nothing because
// of a condition behind them.
#include "missing.h"
#include "missing_more.h"

#include "missing_card.h"

namespace {

using namespace tandem::loop_checks_test;
using testing::ElementsAre;
using testing::IsEmpty;
using Store = ToldStore;

struct MissingChoices : MissingCard {};

TEST_F(MissingChoices, AChoiceMayHoldOthers) { expect_only_stored(middle); }
TEST_F(MissingChoices, ConditionsMayShareAWay) { expect_only_stored(is_peak); }
TEST_F(MissingChoices, ASwitchMayOnlyChoose) { expect_only_stored(by_switch); }
TEST_F(MissingChoices, AFunctionOfItsArgumentsComputes) { expect_only_stored(by_call); }
TEST_F(MissingChoices, ABranchMayCallAFunction) { expect_only_stored(choose_by_call); }
TEST_F(MissingChoices, TemporariesMayBeMadeInABranch) { expect_only_stored(choose_least); }
TEST_F(MissingChoices, AFunctionOfMathematicsComputes) { expect_only_stored(root); }
TEST_F(MissingChoices, AnAddressMayBeChosenTwice) { expect_only_stored(greatest_of_three); }
TEST_F(MissingChoices, AnElementOfATableIsMissingIfItsIndexIs) { expect_only_stored(look_up); }

// Where the missing condition is not looked at, nothing depends on it.
TEST_F(MissingChoices, AConditionThatIsNotReachedDecidesNothing) {
  more[0] = 100;
  more[2] = 1;
  told.missing = in;
  is_peak(in, more, out);
  EXPECT_EQ(out[0], 2);
  EXPECT_THAT(told.stored, IsEmpty());
}

TEST_F(MissingChoices, AMissingIndexIsInsideOfItsArray) {
  in[0] = 100;
  told.missing = in;
  look_up(in, more, out);
  EXPECT_EQ(told.out_of_bounds, 0);
  told = {};
  in[0] = 7;
  more[2] = 1;
  look_up(in, more, out);
  EXPECT_EQ(out[0], 128);
}

TEST_F(MissingChoices, ChecksMayStandWhereABranchChooses) {
  told.missing = in;
  order(in, more, out);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 4);
  EXPECT_THAT(told.used, IsEmpty());
  EXPECT_THAT(told.stored,
              ElementsAre(Store{&token_of_missing, out, 4}, Store{&token_of_missing, out + 1, 4}));
}

TEST_F(MissingChoices, WhatABranchMayStoreIsMissingWhicheverWayItTakes) {
  int pair[2] = {};
  const Store first{&token_of_missing, pair, 4}, second{&token_of_missing, pair + 1, 4};
  told.missing = in;
  exchange_if(in, pair);
  EXPECT_EQ(pair[0], 0);
  EXPECT_THAT(told.chosen, ElementsAre(first, second));
  in[0] = 6;
  exchange_if(in, pair);
  EXPECT_EQ(pair[1], 12);
  EXPECT_THAT(told.chosen, ElementsAre(first, second, first, second, first, second));
  EXPECT_THAT(told.used, IsEmpty());
  told = {};
  exchange_if(in, pair);
  EXPECT_THAT(told.chosen, IsEmpty());
}

TEST_F(MissingChoices, AStructureThatWasReadIsCheckedWhereItIsWritten) {
  Record from = {{1}}, to = {}, none = {};
  copy_and_clear(&from, &to, &none);
  EXPECT_EQ(from.words[0], 0);
  EXPECT_EQ(told.stores, 2);
}

TEST_F(MissingChoices, AnArgumentOfAFunctionThatStoresIsUsed) {
  told.missing = in;
  call_that_stores(in, out);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(told.loads, 1);
}

TEST_F(MissingChoices, ABitThatIsThereIsNotMissingBesideOthers) {
  EXPECT_EQ(length_of(1, false), 9);
  EXPECT_EQ(length_of(1, true), 109);
  EXPECT_THAT(told.used, IsEmpty());
}

// Whether a missing value decided anything: to go on in another way, or what is stored.
bool has_decided() { return !told.used.empty() || !told.chosen.empty() || told.loads != 0; }

// `in[0]` is missing and decides nothing unless `more[0]` is positive.
void expect_nothing_if_invalid(void (*function)(const int*, const int*, int*)) {
  int more[4] = {0, 3}, out[2] = {};
  for (const int value : {4, 5}) {
    const int in[1] = {value};
    for (const int valid : {0, 1}) {
      told = {};
      more[0] = valid;
      function(in, more, out);
      EXPECT_FALSE(has_decided());
      told.missing = in;
      function(in, more, out);
      EXPECT_EQ(has_decided(), valid != 0) << value << ' ' << valid;
    }
  }
}

TEST_F(MissingChoices, AConditionBehindMayMakeBothWaysTheSame) {
  expect_nothing_if_invalid(if_valid);
  expect_nothing_if_invalid(unless_invalid);
  expect_nothing_if_invalid(if_all);
  expect_nothing_if_invalid(found_and_valid);
}

TEST_F(MissingChoices, AllConditionsBehindAreLookedAt) {
  told.missing = in;
  more[1] = 9;
  if_all(in, more, out);
  EXPECT_FALSE(has_decided());
  more[1] = 8;
  if_all(in, more, out);
  EXPECT_TRUE(has_decided());
}

// Also where it is not reached.
TEST_F(MissingChoices, AConditionBehindThatIsMissingTooHidesNothing) {
  more[0] = 0;
  for (const int value : {4, 5}) {
    in[0] = value;
    for (const auto function : {if_valid, if_known_valid}) {
      told = {};
      told.missing = in;
      function(in, more, out);
      EXPECT_FALSE(has_decided());
      told.also_missing = more;
      function(in, more, out);
      EXPECT_TRUE(has_decided()) << value;
    }
  }
}

TEST_F(MissingChoices, WhatIsDoneBeforeTheConditionBehindIsAUse) {
  more[0] = 0;
  told.missing = in;
  store_between(in, more, out);
  EXPECT_TRUE(has_decided());
}

TEST_F(MissingChoices, WaysThatDoDifferentThingsAreAUse) {
  more[0] = 0;
  in[0] = 5;
  told.missing = in;
  other_store_behind(in, more, out);
  EXPECT_EQ(out[1], 1);
  EXPECT_TRUE(has_decided());
}

// Which would end the kernel.
TEST_F(MissingChoices, AQuotientBehindIsNotComputedBefore) {
  more[0] = 0;
  in[0] = 5;
  told.missing = in;
  quotient_behind(in, more, out);
  EXPECT_EQ(out[0], 0);
  EXPECT_TRUE(has_decided());
}

TEST_F(MissingChoices, NothingIsReadBeforeIfNothingIsMissing) {
  if_valid(in, more, out);
  EXPECT_EQ(told.probes, 0);
  told.missing = in;
  if_valid(in, more, out);
  EXPECT_EQ(told.probes, 1);
}

TEST_F(MissingChoices, AnElementBehindIsReadWhereItsIndexIs) {
  more[1] = 2;
  more[2] = 1;
  in[0] = 5;
  told.missing = in;
  EXPECT_EQ(element_behind(in, more), 0);
  EXPECT_THAT(told.used, IsEmpty());
}

TEST_F(MissingChoices, ACoefficientThatIsZeroHidesAValue) {
  told.missing = in;
  weight(in, out, 1);
  EXPECT_EQ(out[0], 0);
  EXPECT_THAT(told.stored, IsEmpty());
  weight(in, out, 2);
  EXPECT_EQ(told.stored.size(), 1u);
}

TEST_F(MissingChoices, AFactorThatIsZeroByChanceHidesNothing) {
  told.missing = in;
  more[0] = 0;
  scale(in, more, out);
  EXPECT_EQ(told.stored.size(), 1u);
}

TEST_F(MissingChoices, BitsThatAreShiftedInFromTheLeftReplaceOthers) {
  EXPECT_EQ(shift_right_in(in, 4), 0x07060504u);
  EXPECT_THAT(told.used, IsEmpty());
  unsigned word = 0;
  told.missing = &word;
  shift_right_into(in, &word);
  EXPECT_THAT(told.stored, IsEmpty());
  told.missing = out;  // its sign stays
  shift_signed_into(in, out);
  EXPECT_EQ(told.stored.size(), 1u);
}

TEST_F(MissingChoices, AFunctionThatComputesMayCallOthersAndItself) {
  expect_only_stored(by_call_in_call);
  expect_only_stored(by_recursion);
}

TEST_F(MissingChoices, AFunctionWithAssemblyMayDoAnything) {
  told.missing = in;
  call_with_asm(in, more, out);
  EXPECT_TRUE(has_decided());
}

TEST_F(MissingChoices, ABranchThatSetsBitsOfAVariableDecides) {
  told.missing = in;
  set_bits_if(in, more, out);
  EXPECT_EQ(out[0], 10);
  EXPECT_TRUE(has_decided() || !told.stored.empty());
}

TEST_F(MissingChoices, ABranchThatStoresAtAPlaceOfItsOwnIsAUse) {
  more[1] = 2;
  told.missing = in;
  store_at_index(in, more, out);
  EXPECT_EQ(out[2], 7);
  EXPECT_THAT(told.chosen, IsEmpty());
  EXPECT_TRUE(has_decided());
}

TEST_F(MissingChoices, ABuiltinFunctionMayStandWhereABranchChooses) {
  expect_only_stored(leading_zeros);
}

TEST_F(MissingChoices, AScopeMayEndWhereABranchChooses) {
  expect_only_stored(scope_ends_in_branch);
}

// What stands behind a call of the card is in a block of its own then.
TEST_F(MissingChoices, AMissingValueMayBeStoredInTheBranchThatItDecides) {
  in[0] = 6;
  store_in_own_branch(in, out, 1);
  EXPECT_EQ(out[0], 11);
  EXPECT_EQ(out[1], 11);
  EXPECT_THAT(told.chosen, IsEmpty());
  EXPECT_THAT(told.used, IsEmpty());
  store_in_own_branch(in, out, 2);
  EXPECT_FALSE(told.chosen.empty());
}

}  // namespace
