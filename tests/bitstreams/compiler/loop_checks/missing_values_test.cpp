// SPDX-License-Identifier: Apache-2.0
//
// How the plugin follows values that are missing: what it tells the card, and that it tells nothing
// where such a value is not used.
#include "missing.h"

#include "missing_card.h"

namespace {

using namespace tandem::loop_checks_test;
using testing::ElementsAre;
using testing::IsEmpty;
using Store = ToldStore;

struct MissingValues : MissingCard {};

TEST_F(MissingValues, AComputedValueIsMissingWhereItIsStored) {
  told.missing = in;
  add_one(in, out);
  EXPECT_EQ(out[0], 5);
  EXPECT_THAT(told.stored, ElementsAre(Store{&token_of_missing, out, 4}));
  EXPECT_THAT(told.used, IsEmpty());
}

TEST_F(MissingValues, AValueThatIsThereIsToldToNobody) {
  add_one(in, out);
  EXPECT_EQ(told.takes, 1);
  EXPECT_EQ(told.stores, 1);
  EXPECT_THAT(told.stored, IsEmpty());
}

TEST_F(MissingValues, OfAChoiceOnlyTheChosenValueMatters) {
  told.missing = in;
  chosen(in, out, false);
  EXPECT_EQ(out[0], 7);
  EXPECT_THAT(told.stored, IsEmpty());
  chosen(in, out, true);
  EXPECT_EQ(told.stored.size(), 1u);
}

TEST_F(MissingValues, AConditionUsesAValueOnlyIfItIsReached) {
  told.missing = in;
  EXPECT_EQ(used_later(in, false), 0);
  EXPECT_THAT(told.used, IsEmpty());
  EXPECT_EQ(told.loads, 0);
  EXPECT_EQ(used_later(in, true), 1);
  EXPECT_EQ(told.used.size() + static_cast<size_t>(told.loads), 1u);
}

TEST_F(MissingValues, AReadThatIsUsedAtOnceKeepsItsCheck) {
  used_at_once(in, out);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(told.loads, 1);
  EXPECT_EQ(told.takes, 0);
}

TEST_F(MissingValues, ASumOfALoopIsMissingIfOneOfItsPartsIs) {
  add_all(in, out, 8);
  EXPECT_THAT(told.stored, IsEmpty());
  told.missing = in + 2;
  add_all(in, out, 8);
  EXPECT_THAT(told.stored, ElementsAre(Store{&token_of_missing, out, 4}));
}

TEST_F(MissingValues, EitherPartOfAProductMakesItMissing) {
  for (const int* missing : {in, more}) {
    told = {};
    told.missing = missing;
    add_two(in, more, out);
    EXPECT_THAT(told.stored, ElementsAre(Store{&token_of_missing, out, 4}));
  }
}

TEST_F(MissingValues, AMaskHidesAValue) {
  const auto stores_with = [&](int value, auto function) {
    told = {};
    told.missing = in;
    more[0] = value;
    function(in, more, out);
    return told.stored.size();
  };
  EXPECT_EQ(stores_with(1, mask), 1u);
  EXPECT_EQ(stores_with(0, mask), 0u);
  EXPECT_EQ(stores_with(1, add_if), 1u);
  EXPECT_EQ(stores_with(0, add_if), 0u);
  EXPECT_EQ(stores_with(1, either), 0u);
  EXPECT_EQ(stores_with(0, either), 1u);
}

TEST_F(MissingValues, AMaskWithoutAValueHidesNothing) {
  in[0] = 0;
  told.missing = in;
  mask(in, in, out);
  add_two(in, in, out);
  EXPECT_EQ(told.stored.size(), 2u);
}

TEST_F(MissingValues, ABranchThatOnlyChoosesPassesTheValueOn) {
  told.missing = in;
  choose_by_branch(in, more, out);
  EXPECT_EQ(out[0], 0);
  EXPECT_THAT(told.used, IsEmpty());
  EXPECT_THAT(told.stored, ElementsAre(Store{&token_of_missing, out, 4}));
  told.missing = more + 1;  // chosen
  choose_by_branch(in, more, out);
  EXPECT_EQ(told.stored.size(), 2u);
  in[0] = 3;
  choose_by_branch(in, more, out);
  EXPECT_EQ(told.stored.size(), 2u);
}

// Which takes and gives references.
TEST_F(MissingValues, TheGreatestValueIsMissingIfOneOfThemIs) {
  greatest(in, 8, out);
  EXPECT_EQ(out[0], 11);
  EXPECT_THAT(told.stored, IsEmpty());
  for (const int* missing : {in, in + 5, in + 7}) {
    told = {};
    told.missing = missing;
    greatest(in, 8, out);
    EXPECT_THAT(told.used, IsEmpty());
    EXPECT_FALSE(told.stored.empty());
  }
}

TEST_F(MissingValues, TheGreatestValueThatNobodyTakesIsNoUse) {
  told.missing = in;
  keep_greatest(in, more, out);
  EXPECT_EQ(out[0], 0);
  EXPECT_THAT(told.used, IsEmpty());
  EXPECT_THAT(told.stored, IsEmpty());
  more[1] = 1;
  keep_greatest(in, more, out);
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(told.stored.size(), 1u);
}

TEST_F(MissingValues, BitsThatAreShiftedInReplaceThoseThatAreMissing) {
  EXPECT_EQ(shift_in(in, 4), 0x04050607u);
  EXPECT_THAT(told.used, IsEmpty());
  told.missing = out;
  shift_into(in, out);
  EXPECT_THAT(told.stored, IsEmpty());
  told.missing = in;
  shift_and_join(in, more, out);
  EXPECT_EQ(told.stored.size(), 1u);
}

TEST_F(MissingValues, AVariableWithoutAValueIsToldWithItsFirstComputation) {
  set_in_one_case(out, 1);
  EXPECT_EQ(out[0], 5);
  EXPECT_THAT(told.stored, IsEmpty());
  set_in_one_case(out, 2);
  ASSERT_EQ(told.stored.size(), 1u);
  EXPECT_EQ(text_of(told.stored[0].token), "missing.cpp:38:35:value");
  EXPECT_EQ(told.stored[0].at, out);
}

TEST_F(MissingValues, AFirstTurnThatDoesNotLookIsNoUse) {
  EXPECT_EQ(least(in, 8), 4);
  EXPECT_EQ(least(in, 0), 0);
  EXPECT_THAT(told.used, IsEmpty());
  EXPECT_THAT(told.stored, IsEmpty());
}

TEST_F(MissingValues, ABoundWithoutAValueIsUsed) {
  unset_bound(in, false);
  EXPECT_THAT(told.used, IsEmpty());
  unset_bound(in, true);
  ASSERT_FALSE(told.used.empty());
  EXPECT_EQ(text_of(told.used[0]), "missing.cpp:55:53:bound");
}

TEST_F(MissingValues, ACopyOfAStructureTellsBothPlaces) {
  Record from = {{1, 2, 3}}, to = {};
  copy_record(&from, &to);
  EXPECT_EQ(to.words[2], 3);
  EXPECT_THAT(told.copied, ElementsAre(Store{&from, &to, sizeof(Record)}));
}

TEST_F(MissingValues, AReadAndAStoreOfTheSameElementAreBothChecked) {
  read_and_store(in);
  EXPECT_EQ(in[0], 5);
  EXPECT_EQ(told.loads + told.takes, 1);
  EXPECT_EQ(told.stores, 1);
}

TEST_F(MissingValues, AStoreInABranchBehindTheReadIsCheckedToo) {
  EXPECT_EQ(exchange(in, 3), 4);
  EXPECT_EQ(in[0], 3);
  EXPECT_EQ(told.stores, 1);
  told = {};
  EXPECT_EQ(exchange(in, -1), 3);
  EXPECT_EQ(told.stores, 2);
}

TEST_F(MissingValues, AStoreBehindAnAnnouncedOneIsCheckedToo) {
  int lines[2][8] = {{1, 2, 3}, {4, 5, 6}};
  move_up(lines, 1, 9, out);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(lines[0][1], 5);
  EXPECT_EQ(lines[1][1], 9);
  EXPECT_EQ(told.announced, &lines[0][1]);
  EXPECT_EQ(told.stores, 3);
}

// The library has no checks.
TEST_F(MissingValues, AResultThatTheLibraryStoresIsCheckedAsAStore) {
  EXPECT_EQ(mantissa(12, out), 0.75f);
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(told.stores, 1);
}

TEST_F(MissingValues, ACheckWhoseLoadIsGoneIsNotThatOfTheNextVariable) {
  told.unset_bytes = sizeof(Turn);
  add_turns(in, out);
  EXPECT_EQ(out[0], 43);
  EXPECT_NE(told.missing, nullptr);
  EXPECT_THAT(told.stored, IsEmpty());
}

}  // namespace
