// SPDX-License-Identifier: Apache-2.0
//
// States go on bit by bit, and wrong ones are refused without a change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>

#include "host/training/reducer/reducers.h"

namespace tandem::training::test {
namespace {

using testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Composition = std::vector<std::vector<std::uint32_t>>;

const Shapes kStateModel = {{"a", {40, 10}}, {"b", {90}}, {"c", {17, 3}}};
const Composition kTwo = {{2, 1}, {0}};

ReducerOptions options_of(const std::string& sparsifier) {
  ReducerOptions options = plain_options(sparsifier, 0.1);
  options.algorithm.momentum = 0.9;
  return options;
}

// States of all ranks after `steps`.
std::vector<Bytes> states_after(int world, const std::string& sparsifier, int steps) {
  std::vector<Bytes> states(static_cast<std::size_t>(world));
  expect_all_done(run_groups(world, [&](Group& group) {
    RankReducer reducer(group, options_of(sparsifier), kStateModel);
    for (int step = 0; step < steps; ++step) reducer.step(kTwo);
    states[static_cast<std::size_t>(group.rank())] = reducer->state();
  }));
  return states;
}

class StateOfEverySparsifier : public testing::TestWithParam<std::string> {};

TEST_P(StateOfEverySparsifier, ResumesBitByBit) {
  const int world = 3;
  const std::vector<Bytes> saved = states_after(world, GetParam(), 3);
  const std::vector<Bytes> expected = states_after(world, GetParam(), 6);
  std::vector<std::map<std::uint32_t, Values>> straight(world);
  expect_all_done(run_groups(world, [&](Group& group) {
    RankReducer reducer(group, options_of(GetParam()), kStateModel);
    for (int step = 0; step < 5; ++step) reducer.step(kTwo);
    straight[static_cast<std::size_t>(group.rank())] = reducer.step(kTwo);
  }));
  expect_all_done(run_groups(world, [&](Group& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    RankReducer reducer(group, options_of(GetParam()), kStateModel);
    reducer->restore(saved[rank]);
    EXPECT_EQ(reducer->step(), 3u);
    EXPECT_EQ(reducer->state(), saved[rank]);
    reducer.step(kTwo);
    reducer.step(kTwo);
    EXPECT_EQ(reducer.step(kTwo), straight[rank]);
    EXPECT_EQ(reducer->state(), expected[rank]);
  }));
}

INSTANTIATE_TEST_SUITE_P(ReducerState, StateOfEverySparsifier,
                         testing::ValuesIn(collectives::sparsifier_names()));

TEST(ReducerState, RestoresIntoAnotherComposition) {
  const std::vector<Bytes> saved = states_after(2, "topk", 3);
  expect_all_done(run_groups(2, [&](Group& group) {
    const Bytes& own = saved[static_cast<std::size_t>(group.rank())];
    ReducerOptions options = options_of("topk");
    options.density = 0;  // so that residuals only grow
    // Parameters in another order, too.
    RankReducer reducer(group, options, {kStateModel[2], kStateModel[0], kStateModel[1]});
    reducer->restore(own);
    reducer.step({{0, 1, 2}});
    const ReducerState before = parse_state(own), after = parse_state(reducer->state());
    for (const std::size_t here : {0, 1, 2}) {
      const SavedParameter& old = before.parameters[(here + 2) % 3];
      ASSERT_EQ(old.name, after.parameters[here].name);
      const auto& left = old.tensors.at(kResidual);
      const Values gradient = gradient_of(here, left.size(), group.rank(), 3);
      for (std::size_t i = 0; i < left.size(); ++i) {
        ASSERT_EQ(after.parameters[here].tensors.at(kResidual)[i], left[i] + gradient[i]);
      }
    }
  }));
}

TEST(ReducerState, KeepsResidualsForAnotherSparsifierAndSeedsItsThresholds) {
  const std::vector<Bytes> saved = states_after(2, "micro", 3);
  expect_all_done(run_groups(2, [&](Group& group) {
    const Bytes& own = saved[static_cast<std::size_t>(group.rank())];
    RankReducer reducer(group, options_of("exdyna"), kStateModel);
    reducer->restore(own);
    const ReducerState state = parse_state(reducer->state());
    EXPECT_TRUE(state.parts.empty());
    EXPECT_EQ(state.parameters[0].tensors, parse_state(own).parameters[0].tensors);
    reducer.step(kTwo);
    EXPECT_EQ(parse_state(reducer->state()).parts.size(), 2u);
  }));
}

// The error of a restore by rank 0 of `world` ranks, which must change nothing.
std::string restore_error(const Bytes& bytes, int world, const Shapes& model) {
  std::string text;
  expect_all_done(run_groups(world, [&](Group& group) {
    RankReducer reducer(group, options_of("micro"), model);
    reducer.step({{0}});
    if (group.rank() != 0) return;
    const Bytes before = reducer->state();
    text = text_of([&] { reducer->restore(bytes); });
    EXPECT_EQ(reducer->state(), before);
  }));
  return text;
}

TEST(ReducerState, OfAnotherWorldRankOrModelIsRefusedByName) {
  const Bytes saved = states_after(2, "micro", 2)[0];
  const Bytes other = states_after(2, "micro", 2)[1];
  EXPECT_THAT(restore_error(saved, 3, kStateModel),
              HasSubstr("of a world of 2 ranks, this one has 3"));
  EXPECT_THAT(restore_error(other, 2, kStateModel), HasSubstr("of rank 1, this is rank 0"));
  Shapes model = kStateModel;
  model[1].first = "z";
  EXPECT_THAT(restore_error(saved, 2, model), HasSubstr("it has b, which was not added here"));
  model = kStateModel;
  model[1].second = {45, 2};
  EXPECT_THAT(restore_error(saved, 2, model),
              HasSubstr("b has the shape [90] there and [45, 2] here"));
  model = kStateModel;
  model.push_back({"z", {2}});
  EXPECT_THAT(restore_error(saved, 2, model), HasSubstr("it has no z"));
}

TEST(ReducerState, ThatIsTruncatedOrDamagedIsRefused) {
  Bytes saved = states_after(2, "micro", 2)[0];
  for (std::size_t size = 0; size < saved.size(); size += 1 + size / 16) {
    const Bytes part(saved.begin(), saved.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(text_of([&] { parse_state(part); }), HasSubstr("truncated")) << size;
  }
  EXPECT_THAT(restore_error({saved.begin(), saved.end() - 1}, 2, kStateModel),
              HasSubstr("truncated"));
  saved[saved.size() / 2] ^= std::byte{1};
  EXPECT_THAT(text_of([&] { parse_state(saved); }), HasSubstr("truncated or damaged"));
  saved[0] ^= std::byte{1};
  EXPECT_THAT(text_of([&] { parse_state(saved); }), HasSubstr("does not begin as one"));
}

void seal(Bytes& bytes) {
  const std::uint64_t hash = XXH3_64bits(bytes.data(), bytes.size() - sizeof(hash));
  std::memcpy(bytes.data() + bytes.size() - sizeof(hash), &hash, sizeof(hash));
}

TEST(ReducerState, OfAnotherVersionIsRefused) {
  Bytes saved = states_after(1, "micro", 1)[0];
  saved[8] = std::byte{1};
  seal(saved);
  EXPECT_THAT(text_of([&] { parse_state(saved); }),
              HasSubstr("has version 1; this program reads version 2"));
}

TEST(ReducerState, WithAnOutcomeOfTheTrialThatDoesNotExistIsRefused) {
  Bytes saved = states_after(1, "micro", 1)[0];
  saved[28] = std::byte{3};
  seal(saved);
  EXPECT_THAT(text_of([&] { parse_state(saved); }), HasSubstr("has the outcome 3 of a trial"));
}

ReducerState small_state() {
  ReducerState state;
  state.parameters = {{"a", {2}, {{kResidual, {1, 2}}}}, {"b", {1}, {}}};
  state.parts = {{"micro", 0.1, {0, 1}, 4, {{"threshold", {0.5, 0}}}}};
  return state;
}

TEST(ReducerState, GoesToBytesAndBack) {
  const ReducerState state = small_state();
  const Bytes bytes = state_bytes(state);
  const ReducerState back = parse_state(bytes);
  EXPECT_EQ(state_bytes(back), bytes);
  EXPECT_EQ(back.parameters[0].tensors, state.parameters[0].tensors);
  EXPECT_EQ(back.parts[0].numbers, state.parts[0].numbers);
  EXPECT_EQ(back.parts[0].density, 0.1);
}

TEST(ReducerState, WithPlacesSizesOrBytesThatCannotBeIsRefused) {
  ReducerState state = small_state();
  state.parts[0].parameters = {2};
  EXPECT_THAT(text_of([&] { parse_state(state_bytes(state)); }),
              HasSubstr("names parameter 2 of 2"));
  state = small_state();
  state.parameters[0].shape = {3};
  EXPECT_THAT(text_of([&] { parse_state(state_bytes(state)); }),
              HasSubstr("has 2 values of 'residual' for a, which has 3"));
  state.parameters[0].shape = {0};
  EXPECT_THAT(text_of([&] { parse_state(state_bytes(state)); }), HasSubstr("has the shape [0]"));
  Bytes longer = state_bytes(small_state());
  longer.insert(longer.end() - 8, std::byte{0});
  seal(longer);
  EXPECT_THAT(text_of([&] { parse_state(longer); }), HasSubstr("after its end"));
}

TEST(ReducerState, WithAPartTwiceOrNumbersThatASparsifierRefusesChangesNothing) {
  ReducerState state = parse_state(states_after(2, "micro", 2)[0]);
  const auto parts = state.parts;
  state.parts.push_back(parts[0]);
  EXPECT_THAT(restore_error(state_bytes(state), 2, kStateModel),
              HasSubstr("is in two of its parts"));
  state.parts = parts;
  state.parts[0].numbers["threshold"] = {1};
  EXPECT_THAT(restore_error(state_bytes(state), 2, kStateModel), HasSubstr("must have 3 numbers"));
  state.parts[0].parameters.clear();
  EXPECT_THAT(restore_error(state_bytes(state), 2, kStateModel),
              HasSubstr("a part without parameters"));
}

TEST(ReducerState, ThatIsRandomlyChangedIsParsedOrRefused) {
  const Bytes saved = state_bytes(small_state());
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 20'000; ++round) {
    Bytes bytes = saved;
    for (std::uint64_t change = 0; change <= random() % 4; ++change) {
      const std::size_t place = 12 + random() % (bytes.size() - 20);
      switch (random() % 3) {
        case 0:
          bytes[place] = static_cast<std::byte>(random());
          break;
        case 1:
          bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(place));
          break;
        default:
          bytes[place] = std::byte{0xff};
      }
      if (bytes.size() < 40) break;
    }
    seal(bytes);
    try {
      const ReducerState state = parse_state(bytes);
      ASSERT_EQ(state_bytes(state).size() <= bytes.size(), true);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace tandem::training::test
