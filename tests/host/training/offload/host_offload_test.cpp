// SPDX-License-Identifier: Apache-2.0
//
// The offload over ranks as threads, against one optimiser that has everything: bits, order,
// errors.
#include "training/offload/host_offload.h"

#include <gmock/gmock.h>

#include <mutex>
#include <thread>

#include "../optimizer/reference.h"
#include "host/collectives/api/groups.h"
#include "tensor/dtype.h"
#include "training/reducer/reducer.h"

namespace tandem::training::test {
namespace {

using collectives::Group;
using collectives::test::Outcome;
using collectives::test::RankResult;

// Sizes above and below the one from which parameters are divided.
struct Shape {
  std::string name;
  std::size_t count;
  std::uint32_t width;
  UpdateRule rule;
};
const std::vector<Shape> kShapes = {{"big", 50'003, 1, Adam{}},
                                    {"small", 300, 1, Adam{}},
                                    {"table", 20'000, 20, RowwiseAdagrad{.weight_decay = 0.1}},
                                    {"bias", 7, 1, Sgd{.momentum = 0.9}}};
const std::vector<std::vector<std::uint32_t>> kBuckets = {{3, 2}, {1}, {0}};

StepFactors factors_at(std::uint64_t t) { return {t, 0.01, 0.5}; }

struct Model {
  std::vector<Values> weights;
  std::vector<std::vector<std::uint16_t>> copies;

  Model() {
    for (std::size_t i = 0; i < kShapes.size(); ++i) {
      weights.push_back(random_values(kShapes[i].count, i));
      copies.emplace_back(kShapes[i].count);
    }
  }
};

Values gradient_of(std::size_t parameter, std::uint64_t step) {
  return random_values(kShapes[parameter].count, 100 * step + parameter);
}

Model expected_after(std::uint64_t steps) {
  Model model;
  ThreadPool pool(1);
  Optimizer optimizer(pool);
  for (const Shape& s : kShapes) {
    optimizer.add({.name = s.name, .count = s.count, .width = s.width, .rule = s.rule});
  }
  for (std::uint64_t t = 1; t <= steps; ++t) {
    for (std::uint32_t i = 0; i < kShapes.size(); ++i) {
      optimizer.update(factors_at(t), {.parameter = i,
                                       .weights = model.weights[i],
                                       .gradient = gradient_of(i, t),
                                       .copy = model.copies[i]});
    }
  }
  return model;
}

void add_all(HostOffload& offload, Model& model) {
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    offload.add({.name = kShapes[i].name,
                 .width = kShapes[i].width,
                 .rule = kShapes[i].rule,
                 .weights = model.weights[i],
                 .copy = model.copies[i]});
  }
}

Values bucket_gradients(const std::vector<std::uint32_t>& bucket, std::uint64_t step) {
  Values values;
  for (const std::uint32_t parameter : bucket) {
    const Values one = gradient_of(parameter, step);
    values.insert(values.end(), one.begin(), one.end());
  }
  return values;
}

void run_step(HostOffload& offload, std::uint64_t step) {
  std::vector<Values> gradients;
  for (const auto& bucket : kBuckets) gradients.push_back(bucket_gradients(bucket, step));
  offload.begin_step(factors_at(step));
  for (std::size_t i = 0; i < kBuckets.size(); ++i) {
    offload.submit({.parameters = kBuckets[i], .gradients = gradients[i], .arrived = {}});
  }
  EXPECT_TRUE(offload.finish(Deadline::never()));
}

void expect_equal(const Model& got, const Model& expected) {
  for (std::size_t i = 0; i < kShapes.size(); ++i) {
    EXPECT_EQ(bits_of(got.weights[i]), bits_of(expected.weights[i])) << kShapes[i].name;
    EXPECT_EQ(got.copies[i], expected.copies[i]) << kShapes[i].name;
  }
}

TEST(HostOffload, OneRankHasTheBitsOfTheOptimiser) {
  Model model;
  HostOffload offload(nullptr, {.threads = 1});
  add_all(offload, model);
  for (std::uint64_t t = 1; t <= 3; ++t) run_step(offload, t);
  expect_equal(model, expected_after(3));
  EXPECT_EQ(offload.statistics().steps, 3u);
  EXPECT_EQ(offload.statistics().buckets, 9u);
}

TEST(HostOffload, RanksThatShareTheUpdateHaveTheBitsOfOne) {
  const Model expected = expected_after(3);
  for (const int world : {2, 3}) {
    std::vector<std::uint64_t> state_bytes(static_cast<std::size_t>(world));
    const auto results = collectives::test::run_groups(world, [&](Group& group) {
      Model model;
      HostOffload offload(&group, {.threads = 1});
      add_all(offload, model);
      for (std::uint64_t t = 1; t <= 3; ++t) run_step(offload, t);
      expect_equal(model, expected);
      state_bytes[static_cast<std::size_t>(group.rank())] = offload.statistics().state_bytes;
    });
    for (const RankResult& result : results) EXPECT_EQ(result.outcome, Outcome::kDone);
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : state_bytes) sum += bytes;
    EXPECT_EQ(sum, 4 * (2 * 50'003 + 2 * 300 + 20'000 / 20 + 7)) << "state is held once";
    EXPECT_LT(state_bytes[0], sum * 2 / 3);
  }
}

// Gradients that the reducer is still summing when they are submitted.
TEST(HostOffload, UpdatesWaitForTheReducer) {
  constexpr int kWorld = 2;
  auto second = transport::inproc::make_world(kWorld);
  const Model expected = expected_after(2);
  const auto results = collectives::test::run_groups(kWorld, [&](Group& sums) {
    Group gathers(std::move(second[static_cast<std::size_t>(sums.rank())]));
    ReducerOptions options;
    options.sparsifier = std::string(kDense);
    Reducer reducer(sums, options);
    Model model;
    HostOffload offload(&gathers, {.threads = 1});
    add_all(offload, model);
    for (const Shape& s : kShapes) {
      reducer.add_parameter(s.name, {static_cast<std::int64_t>(s.count)});
    }
    for (std::uint64_t t = 1; t <= 2; ++t) {
      std::vector<Values> gradients;
      offload.begin_step(factors_at(t));
      for (const auto& bucket : kBuckets) gradients.push_back(bucket_gradients(bucket, t));
      for (std::size_t i = 0; i < kBuckets.size(); ++i) {
        const Ticket ticket = reducer.submit({.parameters = kBuckets[i],
                                              .values = gradients[i].data(),
                                              .last = i + 1 == kBuckets.size()});
        offload.submit({.parameters = kBuckets[i],
                        .gradients = gradients[i],
                        .arrived = [&, ticket] { reducer.wait(ticket, Deadline::never()); }});
      }
      EXPECT_TRUE(offload.finish(Deadline::never()));
    }
    expect_equal(model, expected);  // equal gradients: their mean is exact
  });
  for (const RankResult& result : results) EXPECT_EQ(result.text, "");
}

// The second bucket's gradient comes only after the first bucket's weights are everywhere.
TEST(HostOffload, ABucketIsUpdatedAndGatheredBeforeTheNextHasArrived) {
  const auto results = collectives::test::run_groups(2, [&](Group& group) {
    Model model;
    HostOffload offload(&group, {.threads = 1});
    add_all(offload, model);
    const std::vector<std::uint32_t> big = {0}, small = {1};
    const Values first = bucket_gradients(big, 1), second = bucket_gradients(small, 1);
    const Deadline patience = Deadline::after(std::chrono::seconds(60));
    offload.begin_step(factors_at(1));
    offload.submit({.parameters = big, .gradients = first, .arrived = {}});
    offload.submit({.parameters = small, .gradients = second, .arrived = [&] {
                      while (offload.statistics().gathered_bytes == 0) {
                        if (patience.expired()) throw Error("test", "nothing was gathered");
                        std::this_thread::yield();
                      }
                    }});
    EXPECT_TRUE(offload.finish(Deadline::never()));
    EXPECT_EQ(bits_of(model.weights[0]), bits_of(expected_after(1).weights[0]));
  });
  for (const RankResult& result : results) EXPECT_EQ(result.text, "");
}

TEST(HostOffload, AnErrorOfTheGradientsLeavesTheRestOfTheStepUndoneOnEveryRank) {
  const auto results = collectives::test::run_groups(2, [&](Group& group) {
    Model model;
    HostOffload offload(&group, {.threads = 1});
    add_all(offload, model);
    const Model before = model;
    const Values first = bucket_gradients({1}, 1), second = bucket_gradients({0}, 1);
    const std::vector<std::uint32_t> small = {1}, big = {0};
    offload.begin_step(factors_at(1));
    offload.submit({.parameters = small, .gradients = first, .arrived = [] {
                      throw Error("test", "no mean");
                    }});
    offload.submit({.parameters = big, .gradients = second, .arrived = {}});
    const RankResult result =
        collectives::test::outcome_of([&] { offload.finish(Deadline::never()); });
    EXPECT_THAT(result.text, testing::HasSubstr("no mean"));
    expect_equal(model, before);
    EXPECT_EQ(offload.statistics().skipped_buckets, 2u);
    run_step(offload, 1);  // it stays usable
    expect_equal(model, expected_after(1));
  });
  for (const RankResult& result : results) EXPECT_EQ(result.text, "");
}

TEST(HostOffload, ALostRankIsAnErrorOfFinish) {
  const auto results = collectives::test::run_groups(2, [&](Group& group) {
    if (group.rank() == 1) return;
    Model model;
    HostOffload offload(&group, {.threads = 1});
    add_all(offload, model);
    run_step(offload, 1);
  });
  EXPECT_EQ(results[0].outcome, Outcome::kTransportError);
  EXPECT_THAT(results[0].text, testing::HasSubstr("rank 1"));
}

TEST(HostOffload, RanksWithOtherParametersAreTold) {
  const auto results = collectives::test::run_groups(2, [&](Group& group) {
    Values weights(group.rank() == 0 ? 300 : 200, 1.0f), gradients(weights.size(), 1.0f);
    HostOffload offload(&group, {.threads = 1});
    const std::uint32_t number = offload.add({.name = "w", .weights = weights});
    offload.begin_step(factors_at(1));
    offload.submit({{&number, 1}, gradients, {}});
    offload.finish(Deadline::never());
  });
  EXPECT_EQ(results[0].outcome, Outcome::kDone);  // the other sends nothing, as it should
  EXPECT_EQ(results[1].outcome, Outcome::kError);
  EXPECT_THAT(results[1].text, testing::HasSubstr("rank 0 sent 1200 bytes of weights, not 800"));
}

TEST(HostOffload, ADeadlineThatPassesLeavesTheStepToGoOn) {
  Model model;
  HostOffload offload(nullptr, {.threads = 1});
  add_all(offload, model);
  std::mutex gate;
  gate.lock();
  const std::vector<std::uint32_t> bucket = {1};
  const Values gradients = bucket_gradients(bucket, 1);
  offload.begin_step(factors_at(1));
  offload.submit({.parameters = bucket, .gradients = gradients, .arrived = [&] {
                    const std::lock_guard open(gate);
                  }});
  EXPECT_FALSE(offload.finish(Deadline::after(std::chrono::milliseconds(1))));
  EXPECT_THAT(collectives::test::outcome_of([&] { offload.begin_step({}); }).text,
              testing::HasSubstr("not finished"));
  gate.unlock();
  EXPECT_TRUE(offload.finish(Deadline::never()));
  EXPECT_EQ(bits_of(model.weights[1]), bits_of(expected_after(1).weights[1]));
}

TEST(HostOffload, WhatDoesNotFitIsRefused) {
  using testing::HasSubstr;
  const auto text_of = [](const auto& body) { return collectives::test::outcome_of(body).text; };
  Model model;
  HostOffload offload(nullptr, {.threads = 1});
  add_all(offload, model);
  const std::vector<std::uint32_t> one = {1}, unknown = {9}, none;
  const Values gradients(300);
  EXPECT_THAT(text_of([&] { offload.submit({one, gradients, {}}); }), HasSubstr("outside a step"));
  EXPECT_THAT(text_of([&] { offload.finish(Deadline::never()); }), HasSubstr("outside a step"));
  offload.begin_step(factors_at(1));
  EXPECT_THAT(text_of([&] { offload.submit({unknown, gradients, {}}); }), HasSubstr("9"));
  EXPECT_THAT(text_of([&] { offload.submit({none, gradients, {}}); }), HasSubstr("0 parameters"));
  EXPECT_THAT(text_of([&] {
                offload.submit({one, std::span(gradients).first(299), {}});
              }),
              HasSubstr("not 299"));
  EXPECT_THAT(text_of([&] { offload.state(); }), HasSubstr("inside a step"));
  EXPECT_THAT(text_of([&] { offload.add({.name = "late", .weights = model.weights[0]}); }),
              HasSubstr("after the first step"));
  HostOffload other(nullptr, {.threads = 1});
  EXPECT_THAT(text_of([&] {
                other.add({.name = "w",
                           .weights = model.weights[0],
                           .copy = std::span(model.copies[0]).first(3)});
              }),
              HasSubstr("3 bf16 values"));
}

}  // namespace
}  // namespace tandem::training::test
