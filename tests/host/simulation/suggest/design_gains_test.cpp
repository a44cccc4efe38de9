// SPDX-License-Identifier: Apache-2.0
//
// Parts of the design, switched off in turn: against the same options by hand.
#include "simulation/suggest/design_gains.h"

#include <gmock/gmock.h>

#include "host/simulation/serving/message_of.h"

namespace tandem::simulation {
namespace {

constexpr const char* kMachine = "l40s:14+4*u55c";
constexpr const char* kLoad = "batch:48,prompt=400..1000,output=64,requests=48";

ServingOptions design_options() {
  ServingOptions options;
  options.model = planner::model_preset("llama-3-8b");
  options.precision = {1, DType::kI8};
  return options;
}

double rate_of(const ServingOptions& options) {
  return simulate_serving(parse_machine(kMachine), options, Load(parse_load(kLoad), 1))
      .tokens_per_s();
}

const DesignRow& row_of(const std::vector<DesignRow>& rows, const std::string& what) {
  for (const DesignRow& row : rows) {
    if (row.what == what) return row;
  }
  throw std::runtime_error("no row '" + what + "'");
}

TEST(DesignGains, EveryRowIsASimulationOfItsOptions) {
  const auto make_load = [] { return Load(parse_load(kLoad), 1); };
  EXPECT_LE(longest_request(make_load()), 1064);
  EXPECT_GT(longest_request(make_load()), 1000);
  const auto rows = design_gains(parse_machine(kMachine), design_options(), make_load, 1064);
  ServingOptions all = design_options();
  const double sequences = rate_of(all);
  all.placement = engine::Placement::kPages;
  EXPECT_EQ(rows.front().tokens_per_s, std::max(sequences, rate_of(all)));
  EXPECT_EQ(row_of(rows, "without pages of a sequence split over units").tokens_per_s, sequences);
  ServingOptions own = design_options();
  own.attention = AttentionPolicy::kOwn;
  EXPECT_EQ(rows.back().what, "without units");
  EXPECT_EQ(rows.back().tokens_per_s, rate_of(own));
  for (const DesignRow& row : rows) {
    EXPECT_DOUBLE_EQ(row.of_all, row.tokens_per_s / rows.front().tokens_per_s);
    EXPECT_LE(row.of_all, 1.01) << row.what;
  }
  EXPECT_LT(row_of(rows, "without any of them").of_all, 0.7);
  EXPECT_LT(row_of(rows, "without 8-bit KV").of_all, 0.95);
  EXPECT_LT(row_of(rows, "without grouped-query attention").of_all, 0.95);
}

// The GPU has 8.1 GB for weights of 8 and KV; the cards hold every request.
TEST(DesignGains, APartWithoutWhichNothingRunsSaysSoAndTheOthersFollow) {
  const auto make_load = [] {
    return Load(parse_load("batch:4,prompt=3000,output=20,requests=4"), 1);
  };
  const auto rows = design_gains(parse_machine("l40s:9+4*u55c"), design_options(), make_load, 3020);
  ASSERT_EQ(rows.size(), 10u);
  for (const DesignRow& row : rows) {
    const bool is_last = &row == &rows.back();
    EXPECT_EQ(row.impossible.empty(), !is_last) << row.what << row.impossible;
    EXPECT_EQ(row.tokens_per_s > 0, !is_last) << row.what;
  }
  EXPECT_THAT(rows.back().impossible, ::testing::HasSubstr("the KV memory of l40s holds"));
  EXPECT_EQ(rows.back().of_all, 0);
}

TEST(DesignGains, RefusesAMeasuredTable) {
  MachineSpec machine = parse_machine(kMachine);
  machine.measured.emplace();
  const auto make_load = [] { return Load(parse_load(kLoad), 1); };
  EXPECT_THAT(message_of([&] { design_gains(machine, design_options(), make_load, 1064); }),
              ::testing::HasSubstr("a measured table has one: name devices"));
}

// As long as a request at most: half as many places as its 16-token pages would give.
TEST(DesignGains, ContiguousCachesSetRoomAside) {
  ServingOptions options = design_options();
  options.attention = AttentionPolicy::kOwn;
  const auto most = [&](int reserved) {
    options.reserved_tokens = reserved;
    const ServingResult result =
        simulate_serving(parse_machine("l40s:10.5"), options,
                         Load(parse_load("batch:64,prompt=500,output=20,requests=64"), 1));
    return result.record.busiest_batch;
  };
  const ServerModel model = model_server(parse_machine("l40s:10.5"), options);
  EXPECT_EQ(most(2000), model.pages[0] * 16 / 2000);
  EXPECT_GT(most(0), most(2000));
}

// Llama-3 has four query heads per KV head.
TEST(DesignGains, RepeatedKvTakesFourTimesTheMemoryAndTheSameWeights) {
  ServingOptions options = design_options();
  const ServerModel grouped = model_server(parse_machine(kMachine), options);
  options.repeats_kv = true;
  const ServerModel repeated = model_server(parse_machine(kMachine), options);
  for (std::size_t u = 0; u < grouped.pages.size(); ++u) {
    EXPECT_NEAR(4.0 * repeated.pages[u], grouped.pages[u], 4);
  }
  EXPECT_EQ(repeated.machine.compute.dense_s(8), grouped.machine.compute.dense_s(8));
  EXPECT_EQ(repeated.machine.bytes_to_unit, 2 * grouped.machine.bytes_to_unit);
}

}  // namespace
}  // namespace tandem::simulation
