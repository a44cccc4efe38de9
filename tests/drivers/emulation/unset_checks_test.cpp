// SPDX-License-Identifier: Apache-2.0
//
// What the checks of a unit make of values that are missing: where they count as used, and where a
// store passes them on.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "emulation/card/checks/run_checks.h"
#include "emulation/card/checks/stream_blocks.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kUnsetCardBytes = 1 << 20;
constexpr uint64_t kUnsetBuffer = 4096;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool have_unset_maps() { return false; }  // their maps use the same addresses
#else
bool have_unset_maps() {
  if (!has_local_memory()) map_local_memory();
  return true;
}
#endif

struct UnsetChecks : ::testing::Test {
  void SetUp() override {
    if (!have_unset_maps()) GTEST_SKIP() << "a sanitizer has the addresses";
    areas.device = SharedArea::create("tandem-unset-checks", kUnsetCardBytes);
    areas.states = MemoryStates::create(kUnsetCardBytes);
    device = reinterpret_cast<uint64_t>(areas.device.data());
    areas.shadow = std::make_unique<DeviceShadow>(device, kUnsetCardBytes, areas.states);
    areas.states.make_buffer(kUnsetBuffer, 4096, 0, false, {});
    RunChecks::Unit unit;
    unit.skip_mask = &skip_mask;
    unit.report = [this](const Finding& finding) { found.push_back(finding); };
    unit.num_units = [] { return size_t{1}; };
    unit.code = {reinterpret_cast<uint64_t>(code), reinterpret_cast<uint64_t>(code + 4096)};
    unit.follows_values = true;
    unit.is_on_stack = [this](uint64_t address) {
      return address - reinterpret_cast<uint64_t>(stack) < sizeof(stack);
    };
    checks = std::make_unique<RunChecks>(areas, std::move(unit));
    checks->begin_call({{"out", kUnsetBuffer}});
    // An array of 8 numbers between two guards, and a number of its own.
    array = reinterpret_cast<uint64_t>(stack) + 64;
    for (uint64_t at = 0; at < sizeof(stack); at += 8) leave_scope(array - 64 + at, 8);
    enter_scope(array, 32);
    number = array + 64;
    enter_scope(number, 4);
  }
  void TearDown() override {
    if (checks == nullptr) return;
    checks->end_call(true);
    forget(reinterpret_cast<uint64_t>(stack), reinterpret_cast<uint64_t>(stack) + sizeof(stack));
    forget(device - 64, device + kUnsetCardBytes + 64);
  }
  RunChecks::Token take(uint64_t address, int place = 0) {
    return checks->take(address, 4, code + place);
  }
  void store(uint64_t address) { checks->store(address, 4, code); }

  static inline const char code[4096] = {};
  alignas(32) char stack[256] = {};
  uint64_t heap[4] = {};
  CardAreas areas;
  uint64_t skip_mask = 0, device = 0, array = 0, number = 0;
  std::vector<Finding> found;
  std::unique_ptr<RunChecks> checks;
};

TEST_F(UnsetChecks, OnlyBytesThatNobodyWroteHaveAToken) {
  EXPECT_EQ(take(array, 7), code + 7);
  store(array);
  EXPECT_EQ(take(array), nullptr);
  EXPECT_NE(take(array + 4), nullptr);
  EXPECT_TRUE(found.empty()) << "taking a value is no use";
}

TEST_F(UnsetChecks, AStoreOfAMissingValueLeavesItMissingWithItsFirstPlace) {
  const RunChecks::Token token = take(array, 7);
  store(array + 4);
  checks->pass_on(token, array + 4, 4);
  EXPECT_EQ(take(array + 4, 9), token);
  store(array + 4);
  EXPECT_EQ(take(array + 4), nullptr);
  EXPECT_TRUE(found.empty());
}

// Its first scope left the place of a read behind.
TEST_F(UnsetChecks, ANewScopeHasPlacesOfItsOwn) {
  checks->pass_on(take(array, 7), array + 8, 4);
  leave_scope(array, 32);
  enter_scope(array, 32);
  EXPECT_EQ(take(array + 8, 9), code + 9);
}

TEST_F(UnsetChecks, AStoreToTheCardIsAUse) {
  checks->pass_on(take(array), device + kUnsetBuffer, 4);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, "uninitialised_local");
  checks->pass_on(take(array), device + kUnsetBuffer, 4);
  EXPECT_EQ(found.size(), 1u) << "once per place";
}

TEST_F(UnsetChecks, AWholeVariableIsUsedWhereItLeavesLocalMemory) {
  const auto stream = reinterpret_cast<uint64_t>(heap);
  checks->pass_on(take(array), stream, 4);
  EXPECT_TRUE(found.empty()) << "an element of an array may be passed over";
  checks->pass_on(take(number, 3), stream, 4);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(take(stream), nullptr) << "what others use again has no marks";
}

TEST_F(UnsetChecks, ATextTellsVariableAndPlace) {
  checks->used("/kernels/sums.cpp:12:9:total");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].file, "/kernels/sums.cpp");
  EXPECT_EQ(found[0].line, 12);
  EXPECT_NE(found[0].message.find("'total'"), std::string::npos);
  checks->used("/kernels/sums.cpp:14:9:total");
  EXPECT_EQ(found.size(), 1u) << "the same variable";
  checks->used(":0:9:total");
  EXPECT_EQ(found.size(), 1u) << "a copy of it";
  checks->used("/kernels/sums.cpp:14:10:total");
  EXPECT_EQ(found.size(), 2u);
  checks->used("/kernels/sums.h:12:9:total");
  EXPECT_EQ(found.size(), 3u) << "that of another file";
  for (const char* place : {":0:20:first", "/kernels/sums.cpp:21:20:first"}) checks->used(place);
  EXPECT_EQ(found.size(), 4u) << "its copy was told before";
}

TEST_F(UnsetChecks, ACopyCopiesWhatIsMissing) {
  store(array);
  checks->store(array + 16, 12, code);
  checks->copy_unset(array, array + 16, 12, code);
  EXPECT_EQ(take(array + 16), nullptr);
  EXPECT_NE(take(array + 20), nullptr);
  EXPECT_TRUE(found.empty());
  checks->copy_unset(array, device + kUnsetBuffer, 12, code);
  EXPECT_TRUE(found.empty()) << "a part of it has a value";
  checks->copy_unset(array + 4, device + kUnsetBuffer, 8, code);
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(UnsetChecks, ACopyOfValuesThatAreThereHasThem) {
  checks->store(array, 12, code);
  checks->copy_unset(array, array + 16, 12, code);  // its store has no check of its own
  for (uint64_t at = 16; at < 28; at += 4) EXPECT_EQ(take(array + at), nullptr) << at;
  EXPECT_NE(take(array + 28), nullptr);
}

TEST_F(UnsetChecks, ALoadThatPassesMissingValuesOnAgainAndAgainFollowsItsFirstElementOnly) {
  const auto tokens = [this](uint64_t address, int place, int turns) {
    int count = 0;
    for (int turn = 0; turn < turns; ++turn) count += take(address, place) != nullptr ? 1 : 0;
    return count;
  };
  EXPECT_EQ(tokens(array + 8, 0, 100), 100);
  EXPECT_EQ(tokens(array + 12, 0, 100), 28) << "128 in all";
  EXPECT_EQ(tokens(array + 8, 0, 20'000), 20'000) << "a small variable";
  EXPECT_EQ(tokens(array + 16, 0, 1), 0);
  EXPECT_NE(take(array + 20, 1), nullptr) << "another place of the code";

  const uint64_t wide = reinterpret_cast<uint64_t>(stack) + 144;
  enter_scope(wide, 96);
  EXPECT_EQ(tokens(wide, 2, 20'000), 1024);
  for (uint64_t at = 0; at < 96; at += 4) {
    EXPECT_EQ(take(wide + at, 3), nullptr) << "it counts as written, " << at;
  }
  EXPECT_NE(take(number, 3), nullptr) << "another variable does not";
}

TEST_F(UnsetChecks, AnAnnouncedStoreOfAMissingSumLeavesItMissing) {
  checks->announce_store(array, 4, code);
  const RunChecks::Token token = take(array, 5);
  ASSERT_NE(token, nullptr);
  EXPECT_NE(skip_mask, 0u) << "no store is expected any more";
  checks->pass_on(token, array, 4);
  EXPECT_EQ(take(array, 9), token);
}

struct UnsetInStreams : UnsetChecks {
  void SetUp() override {
    UnsetChecks::SetUp();
    if (!IsSkipped()) add_stream_block(stream, sizeof(heap));
  }
  void TearDown() override {
    drop_stream_block(stream);
    UnsetChecks::TearDown();
  }
  const uint64_t stream = reinterpret_cast<uint64_t>(heap);
};

TEST_F(UnsetInStreams, AnElementIsStillMissingForTheReader) {
  const RunChecks::Token token = take(array, 7);
  checks->pass_on(token, stream + 8, 4);
  EXPECT_EQ(take(stream + 8, 9), token);
  EXPECT_EQ(take(stream + 12), nullptr);
  store(stream + 8);
  EXPECT_EQ(take(stream + 8), nullptr) << "the next value";
  EXPECT_TRUE(found.empty());
}

TEST_F(UnsetInStreams, AWholeVariableIsUsedWhereItIsWritten) {
  checks->pass_on(take(number), stream, 4);
  EXPECT_EQ(found.size(), 1u);
  EXPECT_EQ(take(stream), nullptr);
}

TEST_F(UnsetInStreams, WhetherAnythingIsWrittenIsAUse) {
  checks->choose(take(array), stream, 4);
  EXPECT_EQ(found.size(), 1u);
}

TEST_F(UnsetInStreams, ACopyOfAStructureKeepsWhatIsMissing) {
  store(array);
  checks->copy_unset(array, stream, 16, code);
  checks->copy_unset(stream, array + 16, 16, code);
  EXPECT_EQ(take(array + 16), nullptr);
  EXPECT_NE(take(array + 20), nullptr);
  EXPECT_TRUE(found.empty());
}

TEST_F(UnsetInStreams, MemoryThatIsFreedHasNoMarks) {
  checks->pass_on(take(array), stream + 8, 4);
  drop_stream_block(stream);
  EXPECT_EQ(take(stream + 8), nullptr);
  checks->pass_on(take(array), stream + 8, 4);
  EXPECT_EQ(take(stream + 8), nullptr) << "it is no stream any more";
  drop_stream_block(stream);
}

TEST_F(UnsetInStreams, NothingIsMarkedBeyondItsEnd) {
  checks->pass_on(take(array), stream + sizeof(heap), 4);
  checks->mark_passed(take(array), stream + sizeof(heap) - 4, 8);
  EXPECT_EQ(take(stream + sizeof(heap) - 4), nullptr);
}

TEST_F(UnsetChecks, OnlyWhatIsSetMayBeReadEarly) {
  EXPECT_FALSE(checks->is_set(array, 4));
  store(array);
  EXPECT_TRUE(checks->is_set(array, 4));
  EXPECT_FALSE(checks->is_set(array, 8)) << "a part of it is missing";
  EXPECT_FALSE(checks->is_set(array + 64 - 4, 4)) << "behind the variable";
  EXPECT_FALSE(checks->is_set(device + kUnsetBuffer, 4));
  areas.states.change(kUnsetBuffer, 4, kStateWritten, 0);
  EXPECT_TRUE(checks->is_set(device + kUnsetBuffer, 4));
  EXPECT_FALSE(checks->is_set(reinterpret_cast<uint64_t>(heap), 4)) << "it may be anything";
}

TEST_F(UnsetChecks, WhatALibraryMayHaveWrittenHasAValue) {
  checks->written(array + 4, 4);
  EXPECT_NE(take(array), nullptr);
  EXPECT_EQ(take(array + 4), nullptr);
  EXPECT_NE(take(array + 8), nullptr);
  checks->written(array + 16, 0);
  EXPECT_NE(take(array + 12), nullptr);
  for (uint64_t at = 16; at < 32; at += 4) EXPECT_EQ(take(array + at), nullptr) << at;
  EXPECT_NE(take(number), nullptr) << "another variable";
  checks->written(device + kUnsetBuffer, 4);
  EXPECT_FALSE(checks->is_set(device + kUnsetBuffer, 4));
}

TEST_F(UnsetChecks, PagesOfTheMapsAreMadeWithoutAChange) {
  store(array);
  touch_maps(array, array + 32);
  EXPECT_EQ(take(array), nullptr);
  EXPECT_NE(take(array + 4), nullptr);
}

}  // namespace
}  // namespace tandem::emulation
