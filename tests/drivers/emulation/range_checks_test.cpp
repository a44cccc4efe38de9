// SPDX-License-Identifier: Apache-2.0
//
// What the checks of a unit say of whole ranges before a loop: in device memory and of variables.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "emulation/card/checks/run_checks.h"
#include "emulation/protocol/checks.h"

namespace tandem::emulation {
namespace {

constexpr uint64_t kCardBytes = 1 << 20;
constexpr uint64_t kBuffer = 4096;
constexpr uint64_t kBufferBytes = 10000;
constexpr uint64_t kWatched = 1000;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
bool have_shadow() { return false; }  // their maps use the same addresses
#else
bool have_shadow() {
  if (!has_local_memory()) map_local_memory();
  return true;
}
#endif

struct RangeChecks : ::testing::Test {
  using Pieces = RunChecks::Pieces;

  void SetUp() override {
    if (!have_shadow()) GTEST_SKIP() << "a sanitizer has the addresses";
    areas.device = SharedArea::create("tandem-range-checks", kCardBytes);
    areas.states = MemoryStates::create(kCardBytes);
    device = reinterpret_cast<uint64_t>(areas.device.data());
    areas.shadow = std::make_unique<DeviceShadow>(device, kCardBytes, areas.states);
    RunChecks::Unit unit;
    unit.skip_mask = &skip_mask;
    unit.report = [this](const Finding& finding) { kinds.push_back(finding.kind); };
    unit.num_units = [this] { return num_units; };
    unit.other = [](uint32_t) { return std::make_pair(std::string("other"), CodeRange()); };
    unit.most_watched = kWatched;
    checks = std::make_unique<RunChecks>(areas, std::move(unit));
    areas.states.make_buffer(kBuffer, kBufferBytes, 0, false, {});
  }
  void TearDown() override {
    if (checks == nullptr) return;
    checks->end_call(true);
    forget(device - 64, device + kCardBytes + 64);
  }
  void begin() { checks->begin_call({{"in", kBuffer}}); }
  void write(uint64_t address, uint64_t count) {
    areas.states.change(address, count, kStateWritten, kStateStale | kStateUnseen);
  }
  // `count` elements of 4 bytes, `step` apart.
  Pieces words(uint64_t address, uint64_t count, uint64_t step = 4) const {
    return {device + address, 4, step, count};
  }
  bool good_load(const Pieces& pieces, bool is_whole = true) {
    return checks->is_good_load(pieces, is_whole, nullptr);
  }
  bool good_store(const Pieces& pieces, bool is_whole) {
    return checks->is_good_store(pieces, is_whole, nullptr);
  }
  bool is_unseen(uint64_t address) const { return areas.states.any(address, 1, kStateUnseen); }

  CardAreas areas;
  uint64_t skip_mask = 0;
  uint64_t device = 0;
  size_t num_units = 1;
  std::vector<std::string> kinds;
  std::unique_ptr<RunChecks> checks;
};

TEST_F(RangeChecks, LoadsAreGoodIfAllBytesWereWritten) {
  write(kBuffer, 8000);
  begin();
  EXPECT_TRUE(good_load(words(kBuffer, 2000)));
  EXPECT_TRUE(good_load(words(kBuffer + 4, 1999)));
  EXPECT_FALSE(good_load(words(kBuffer, 2001))) << "its end was not written";
  EXPECT_FALSE(good_load(words(kBuffer - 4, 10))) << "before the buffer";
  EXPECT_FALSE(good_load(words(kBuffer, 0)));
  EXPECT_FALSE(good_load({device + kBuffer, 4, 4, ~uint64_t{0}})) << "absurd counts";
  EXPECT_FALSE(good_load({device + kBuffer, ~uint64_t{0} - 4, 4, 1}));
  areas.states.change(kBuffer + 401, 1, kStateStale, 0);
  begin();
  EXPECT_FALSE(good_load(words(kBuffer, 2000)));
  EXPECT_TRUE(good_load(words(kBuffer, 100)));
  EXPECT_TRUE(good_load(words(kBuffer + 404, 100)));
}

TEST_F(RangeChecks, ABufferThatIsGoodAsAWholeIsKnownUntilAProgramChangesIt) {
  write(kBuffer, kBufferBytes);
  begin();
  EXPECT_TRUE(good_load(words(kBuffer, 100)));
  EXPECT_TRUE(good_load(words(kBuffer + kBufferBytes - 4, 1)));
  EXPECT_FALSE(good_load(words(kBuffer + kBufferBytes - 4, 2)));
  begin();
  EXPECT_TRUE(good_load(words(kBuffer, kBufferBytes / 4)));
  areas.states.free_buffer(kBuffer, kBufferBytes);
  begin();
  EXPECT_FALSE(good_load(words(kBuffer, 100)));
}

TEST_F(RangeChecks, ABufferThatIsFreedDuringTheCallIsNotGoodAnyMore) {
  write(kBuffer, kBufferBytes);
  begin();
  EXPECT_TRUE(good_load(words(kBuffer, 100)));
  areas.states.make_buffer(kBuffer + 16384, 100, 0, true, {});
  EXPECT_TRUE(good_load(words(kBuffer, 100))) << "another one has changed";
  areas.states.free_buffer(kBuffer, kBufferBytes);
  EXPECT_FALSE(good_load(words(kBuffer, 100)));
  EXPECT_FALSE(good_load(words(kBuffer + 8000, 100))) << "also where nothing was accessed";
}

TEST_F(RangeChecks, ScatteredElementsCountWithoutWhatIsBetween) {
  for (uint64_t index = 0; index < 20; ++index) write(kBuffer + 400 * index, 4);
  begin();
  EXPECT_TRUE(good_load(words(kBuffer, 20, 400)));
  EXPECT_FALSE(good_load(words(kBuffer, 21, 400)));
  EXPECT_FALSE(good_load(words(kBuffer, 20, 404)));
  EXPECT_FALSE(good_load(words(kBuffer, 3, 8))) << "close ones";
}

TEST_F(RangeChecks, StoresOfAllBytesNeedABufferAndAreNotedForIt) {
  begin();
  const Pieces all = words(kBuffer, 2501);
  EXPECT_FALSE(good_store(all, true)) << "behind the end";
  const Pieces most = words(kBuffer + 4, 2400);
  EXPECT_FALSE(good_store(most, false)) << "some may stay unwritten";
  ASSERT_TRUE(good_store(most, true));
  EXPECT_FALSE(is_unseen(kBuffer + 4)) << "asking is no store";
  checks->stored_pieces(most);
  EXPECT_FALSE(is_unseen(kBuffer + 3));
  EXPECT_TRUE(is_unseen(kBuffer + 4));
  EXPECT_TRUE(is_unseen(kBuffer + 9603));
  EXPECT_FALSE(is_unseen(kBuffer + 9604));
  EXPECT_TRUE(good_store(most, false)) << "nothing is left to note";
  EXPECT_TRUE(good_load(most));
}

TEST_F(RangeChecks, StoresAfterASyncAreNotedAgain) {
  begin();
  checks->stored_pieces(words(kBuffer, 2500));
  ASSERT_TRUE(good_store(words(kBuffer, 2500), false));
  areas.states.change(kBuffer + 6000, 4, 0, kStateUnseen);  // in its second block
  begin();
  EXPECT_FALSE(good_store(words(kBuffer, 2500), false));
  EXPECT_TRUE(good_store(words(kBuffer, 1000), false));
}

TEST_F(RangeChecks, ScatteredStoresLeaveWhatIsBetween) {
  begin();
  const Pieces scattered = words(kBuffer, 50, 12);
  ASSERT_TRUE(good_store(scattered, true));
  checks->stored_pieces(scattered);
  EXPECT_TRUE(is_unseen(kBuffer + 12));
  EXPECT_FALSE(is_unseen(kBuffer + 16));
  EXPECT_TRUE(good_load(scattered));
  EXPECT_FALSE(good_load(words(kBuffer, 50)));
}

TEST_F(RangeChecks, WithAnotherUnitAccessesAreRecordedIfTheLoopSurelyMakesThem) {
  write(kBuffer, kBufferBytes);
  areas.races = std::make_unique<RaceMap>(kCardBytes);
  num_units = 2;
  begin();
  areas.races->begin_run(1);
  EXPECT_FALSE(good_load(words(kBuffer, 10), false));
  EXPECT_FALSE(areas.races->touch(1, kBuffer, 4, true, 0)) << "it may not have been read";
  EXPECT_TRUE(good_load(words(kBuffer + 400, 10, 8)));
  EXPECT_FALSE(areas.races->touch(1, kBuffer + 404, 4, true, 0)) << "between two elements";
  EXPECT_TRUE(areas.races->touch(1, kBuffer + 408, 4, true, 0));
  EXPECT_FALSE(good_load(words(kBuffer + 400, 10)));
  EXPECT_FALSE(good_store(words(kBuffer, 1), true)) << "the other unit wrote it";
  areas.races->end_run(1);
  EXPECT_TRUE(good_store(words(kBuffer, 1000), true));
}

// Its checks look at the map of races more than once.
TEST_F(RangeChecks, AStoreToWhatAnotherUnitStoredIsARace) {
  areas.races = std::make_unique<RaceMap>(kCardBytes);
  num_units = 2;
  begin();
  areas.races->begin_run(1);
  for (const uint64_t at : {0, 20, 40}) areas.races->touch(1, kBuffer + at, 4, true, 0);
  checks->store(device + kBuffer + 24, 4, &kinds);
  EXPECT_TRUE(kinds.empty());
  checks->store(device + kBuffer + 20, 4, &device);
  EXPECT_EQ(kinds, std::vector<std::string>{"race"}) << "behind a gap";
}

TEST_F(RangeChecks, ALoopOverAWholeBlockLeavesItsRaceToItsChecks) {
  areas.races = std::make_unique<RaceMap>(kCardBytes);
  num_units = 2;
  begin();
  areas.races->begin_run(1);
  areas.races->touch(1, kBuffer, 4096, true, 0);
  EXPECT_FALSE(good_store(words(kBuffer, 1024), true));
  checks->store(device + kBuffer, 4, &kinds);
  EXPECT_EQ(kinds, std::vector<std::string>{"race"});
}

// The loop with the checks begins too late to meet it.
TEST_F(RangeChecks, ARaceWithARunThatEndsMeanwhileIsToldOnce) {
  areas.races = std::make_unique<RaceMap>(kCardBytes);
  num_units = 2;
  begin();
  areas.races->begin_run(1);
  areas.races->touch(1, kBuffer, 4096, true, 0);
  for (int turn = 0; turn < 3; ++turn) EXPECT_FALSE(good_store(words(kBuffer, 1024), true));
  areas.races->end_run(1);
  checks->store(device + kBuffer, 4, &kinds);
  EXPECT_TRUE(kinds.empty());
  checks->end_call(true);
  EXPECT_EQ(kinds, std::vector<std::string>{"race"});
  begin();
  EXPECT_TRUE(good_store(words(kBuffer, 1024), true));
  checks->end_call(true);
  EXPECT_EQ(kinds.size(), 1u);
}

TEST_F(RangeChecks, ARaceThatTheLoopMeetsIsNotToldAgainAtItsEnd) {
  areas.races = std::make_unique<RaceMap>(kCardBytes);
  num_units = 2;
  begin();
  areas.races->begin_run(1);
  areas.races->touch(1, kBuffer, 4096, true, 0);
  EXPECT_FALSE(good_store(words(kBuffer, 1024), true));
  checks->store(device + kBuffer, 4, &kinds);
  checks->end_call(true);
  EXPECT_EQ(kinds, std::vector<std::string>{"race"});
}

// A program may free a buffer and make the next one at its address.
TEST_F(RangeChecks, ABufferThatIsMadeAnewIsAnotherOne) {
  for (size_t made = 1; made <= 3; ++made) {
    begin();
    for (int times = 0; times < 2; ++times) {
      checks->store(device + kBuffer + kBufferBytes, 4, nullptr);
    }
    EXPECT_EQ(kinds.size(), made);
    areas.states.free_buffer(kBuffer, kBufferBytes);
    areas.states.make_buffer(kBuffer, kBufferBytes, 0, false, {});
  }
}

// One access of many words, as of a wide number.
TEST_F(RangeChecks, EachWordOfAWideAccessIsLookedAt) {
  write(kBuffer, kBufferBytes);
  begin();
  areas.shadow->look_at_block(kBuffer + 8192);
  checks->load(device + kBuffer + kBufferBytes - 32, 32, nullptr);
  EXPECT_TRUE(kinds.empty());
  checks->load(device + kBuffer + kBufferBytes - 24, 32, nullptr);
  EXPECT_EQ(kinds, std::vector<std::string>{"out_of_bounds"});
  checks->store(device + kBuffer + kBufferBytes - 24, 32, &kinds);
  EXPECT_EQ(kinds.size(), 2u);
  EXPECT_FALSE(is_unseen(kBuffer + kBufferBytes - 24));
  checks->store(device + kBuffer + kBufferBytes - 32, 32, nullptr);
  EXPECT_TRUE(is_unseen(kBuffer + kBufferBytes - 1)) << "it was read only before";
}

TEST_F(RangeChecks, AWideStoreToAVariableWritesAllItsWords) {
  alignas(64) char variable[64] = {};
  const auto at = reinterpret_cast<uint64_t>(variable);
  begin();
  enter_scope(at, 64);
  checks->store(at, 32, nullptr);
  EXPECT_FALSE(is_blank(at + 24, 8));
  EXPECT_TRUE(is_blank(at + 32, 8));
  checks->store(at, 64, nullptr);
  EXPECT_FALSE(is_blank(at + 32, 8));
  EXPECT_FALSE(is_blank(at + 56, 8));
  leave_scope(at, 64);
  EXPECT_EQ(shadow_of(at), kOutOfScope);
  EXPECT_EQ(shadow_of(at + 56), kOutOfScope);
  checks->load(at, 64, nullptr);
  EXPECT_EQ(kinds, std::vector<std::string>{"local_out_of_bounds"});
  forget(at, at + 64);
}

// Kernels skip accesses to variables by themselves; each access to device memory is recorded.
TEST_F(RangeChecks, BesideOtherUnitsSingleAccessesAreRecorded) {
  areas.races = std::make_unique<RaceMap>(kCardBytes);
  write(kBuffer, 8000);
  areas.shadow->look_at_block(kBuffer);
  num_units = 2;
  begin();
  EXPECT_EQ(skip_mask, ~uint64_t{0});
  EXPECT_FALSE(areas.shadow->is_known(kBuffer)) << "the kernel would skip accesses";
  areas.races->begin_run(1);
  checks->load(device + kBuffer, 4, nullptr);
  checks->store(device + kBuffer + 8, 4, nullptr);
  checks->announce_store(device + kBuffer + 16, 4, nullptr);
  EXPECT_EQ(skip_mask, ~uint64_t{0}) << "the load will be right, so the store is done";
  EXPECT_TRUE(is_unseen(kBuffer + 16));
  EXPECT_FALSE(areas.races->touch(1, kBuffer, 8, false, 0));
  EXPECT_TRUE(areas.races->touch(1, kBuffer, 4, true, 0));
  EXPECT_TRUE(areas.races->touch(1, kBuffer + 8, 4, false, 0));
  EXPECT_TRUE(areas.races->touch(1, kBuffer + 16, 4, false, 0));
  areas.races->end_run(1);
}

// The card looks at blocks of different kinds; it knows some of them already.
TEST_F(RangeChecks, KnownAndUnknownBlocksOfABufferAreLookedAt) {
  for (const uint64_t bad : {0, 4095, 4096, 8100}) {
    for (const bool is_known : {false, true}) {
      write(kBuffer, kBufferBytes);
      begin();
      EXPECT_TRUE(good_load(words(kBuffer, kBufferBytes / 4)));
      if (is_known) areas.shadow->look_at_block(kBuffer + 4096);
      areas.states.change(kBuffer + bad, 1, kStateStale, 0);
      begin();
      if (is_known) areas.shadow->look_at_block(kBuffer + 4096);
      EXPECT_FALSE(good_load(words(kBuffer, kBufferBytes / 4))) << bad;
    }
  }
}

// A value that a loop reads in the iteration after its write, behind many other accesses.
TEST_F(RangeChecks, LoopsWithAPragmaAreWatchedForManyAccessesAndWithStrictChecksForAll) {
  write(kBuffer, kBufferBytes);
  int line = 0;
  for (const bool strict : {true, false}) {
    areas.settings.checks = strict ? static_cast<uint32_t>(kCheckStrict) : 0;
    for (const uint64_t others : {kWatched - 2, kWatched}) {
      begin();
      const char frame = 0;
      const auto loop = reinterpret_cast<uint64_t>(&frame);
      ++line;  // of another pragma
      checks->begin_loop(loop);
      checks->next_turn(loop);
      checks->claim(loop, {"sums", "loop.cpp", line, kRaw, 0}, device + kBuffer, 4096);
      checks->store(device + kBuffer, 4, nullptr);
      for (uint64_t other = 0; other < others; ++other)
        checks->load(device + kBuffer + 64, 4, nullptr);
      checks->next_turn(loop);
      checks->load(device + kBuffer, 4, nullptr);
      checks->end_loop(loop);
      checks->end_call(true);
      const bool is_found = strict || others < kWatched;
      EXPECT_EQ(kinds, std::vector<std::string>(is_found ? 1 : 0, "dependence_violated"))
          << strict << " " << others;
      kinds.clear();
    }
  }
  begin();
}

TEST_F(RangeChecks, InLoopsWithAPragmaEveryAccessIsLookedAt) {
  write(kBuffer, kBufferBytes);
  begin();
  checks->begin_loop(1);
  EXPECT_FALSE(good_load(words(kBuffer, 10)));
  checks->end_loop(1);
  EXPECT_TRUE(good_load(words(kBuffer, 10)));
}

TEST_F(RangeChecks, VariablesAreGoodOnceTheyWereWritten) {
  begin();
  alignas(8) char variable[64] = {};
  const auto address = reinterpret_cast<uint64_t>(variable);
  enter_scope(address, 44);
  const Pieces all{address, 4, 4, 11};
  EXPECT_FALSE(good_load(all));
  EXPECT_FALSE(good_store(all, false));
  EXPECT_FALSE(good_store({address, 4, 4, 12}, true)) << "behind its end";
  ASSERT_TRUE(good_store(all, true));
  const Pieces inner{address + 4, 4, 4, 9};
  checks->stored_pieces(inner);
  EXPECT_TRUE(good_load(inner));
  EXPECT_TRUE(good_store(inner, false));
  EXPECT_FALSE(good_load(all));
  EXPECT_TRUE(is_blank(address, 4));
  EXPECT_TRUE(is_blank(address + 40, 4));
  checks->stored_pieces(all);
  EXPECT_TRUE(good_load(all));
  EXPECT_FALSE(good_load({address, 4, 4, 12}));
  leave_scope(address, 44);
  EXPECT_FALSE(good_load(inner));
  EXPECT_FALSE(good_store(inner, true));
  forget(address, address + 64);
}

}  // namespace
}  // namespace tandem::emulation
