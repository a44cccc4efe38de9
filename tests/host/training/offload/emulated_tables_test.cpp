// SPDX-License-Identifier: Apache-2.0
//
// Tables on emulated cards, through the real runtime: the bits of the host, a card that is killed
// or hangs in mid-run, and one that is too small.
#include <gmock/gmock.h>

#include "common/error.h"
#include "drivers/xrt/emulated_environment.h"
#include "support/card_processes.h"
#include "tables.h"
#include "xrt/backend.h"

namespace tandem::training::test {
namespace {

using tandem::test::card_processes;
using tandem::test::stop;

class EmulatedTables : public ::testing::Test {
 protected:
  std::vector<std::unique_ptr<device::TableUnit>> make_cards(int count) {
    std::vector<std::unique_ptr<device::TableUnit>> cards;
    for (int card = 0; card < count; ++card) {
      devices_.push_back(device::xrt_backend().open(card, {}));
      cards.push_back(devices_.back()->make_table_unit());
    }
    return cards;
  }

  // Calls `meanwhile` before step 3 of 5.
  CardTablesStatistics run(int cards, const CardTablesOptions& options,
                           const std::function<void()>& meanwhile) {
    ThreadPool pool(2);
    std::vector<Values> weights = first_weights();
    CardTables tables(make_cards(cards), pool, options);
    add_tables(tables, weights);
    tables.load();
    for (std::uint64_t step = 1; step <= 5; ++step) {
      if (step == 3 && meanwhile) meanwhile();
      update_all(tables, step);
    }
    EXPECT_EQ(all_bits(weights, tables.state()), expected_tables(5));
    return tables.statistics();
  }

  std::vector<std::unique_ptr<device::Device>> devices_;  // units must not outlive them
};

TEST_F(EmulatedTables, OneAndTwoCardsGiveTheBitsOfTheHost) {
  for (const int cards : {1, 2}) {
    const CardTablesStatistics statistics = run(cards, {}, {});
    EXPECT_EQ(statistics.host_gradients, 0u);
    for (const CardStatistics& card : statistics.cards) {
      EXPECT_EQ(card.lost, "");
      EXPECT_GT(card.updated_rows, 0u);
      EXPECT_GT(card.modelled_seconds, 0);
    }
  }
}

// More words than the kernel's FIFOs hold, for every unit.
TEST_F(EmulatedTables, LongUpdatesHaveTheBitsOfTheHost) {
  constexpr std::uint32_t kRows = 20'000, kWidth = 40;
  std::mt19937 random(4);
  std::vector<std::uint32_t> rows(12'000);
  for (std::uint32_t& row : rows) row = random() % kRows;
  const Values gradient = random_values(rows.size() * kWidth, 1);
  for (const UpdateRule& rule : {UpdateRule(RowwiseAdagrad{.weight_decay = 0.1}),
                                 UpdateRule(RowAdam{}), UpdateRule(Sgd{})}) {
    ThreadPool pool(2);
    std::vector<Values> weights(2, random_values(std::size_t{kRows} * kWidth, 2));
    CardTables on_card(make_cards(1), pool, {}), on_host({}, pool, {});
    for (CardTables* tables : {&on_card, &on_host}) {
      tables->add({"t", kWidth, rule, weights[tables == &on_card ? 0 : 1]});
      tables->load();
      tables->update_rows(table_step(1), {0, rows, gradient});
    }
    EXPECT_EQ(on_card.statistics().cards[0].lost, "");
    EXPECT_EQ(on_card.statistics().host_gradients, 0u);
    EXPECT_EQ(bits_of(weights[0]), bits_of(weights[1])) << rule_name(rule);
    const auto card_state = on_card.state(), host_state = on_host.state();
    for (std::size_t i = 0; i < card_state.size(); ++i) {
      EXPECT_EQ(bits_of(card_state[i].values), bits_of(host_state[i].values)) << rule_name(rule);
    }
  }
}

TEST_F(EmulatedTables, ACardKilledInMidRunChangesNoBit) {
  const CardTablesStatistics statistics = run(2, {}, [] {
    const auto processes = card_processes();
    ASSERT_EQ(processes.size(), 2u);
    ASSERT_EQ(kill(processes[1], SIGKILL), 0);
  });
  EXPECT_GT(statistics.host_gradients, 0u);
  const bool first_lost = !statistics.cards[0].lost.empty();
  const bool second_lost = !statistics.cards[1].lost.empty();
  EXPECT_NE(first_lost, second_lost);
}

TEST_F(EmulatedTables, ACardThatHangsIsLeftAtTheDeadline) {
  CardTablesOptions options;
  options.update_timeout = std::chrono::milliseconds(200);
  pid_t stopped = 0;
  const CardTablesStatistics statistics = run(1, options, [&] {
    const auto processes = card_processes();
    ASSERT_EQ(processes.size(), 1u);
    stopped = processes[0];
    stop(stopped);
  });
  EXPECT_THAT(statistics.cards[0].lost, testing::HasSubstr("deadline"));
  ASSERT_GT(stopped, 0) << "0 would be this program, and all that started with it";
  ASSERT_EQ(kill(stopped, SIGKILL), 0);
}

// Shapes of some GB, whose arrays nobody touches.
TEST_F(EmulatedTables, ACardThatIsTooSmallNamesTheBytes) {
  const auto cards = make_cards(1);
  const device::TableShape shape = {device::TableRule::kRowAdam, 64, std::uint64_t{6} << 20};
  const std::vector<float> nothing(1);
  const std::uint64_t values = shape.num_rows * shape.width;
  const device::TableArrays arrays = {{const_cast<float*>(nothing.data()), values},
                                      {const_cast<float*>(nothing.data()), values},
                                      {const_cast<float*>(nothing.data()), values}};
  try {
    cards[0]->load({&shape, 1}, {&arrays, 1}, Deadline::never());
    FAIL() << "the tables were taken";
  } catch (const DeviceError& error) {
    FAIL() << error.what();
  } catch (const Error& error) {
    // 8 units: 768 Ki rows of 12 words each.
    EXPECT_THAT(error.what(), testing::HasSubstr(std::to_string((768ull << 10) * 12 * 64)));
    EXPECT_THAT(error.what(), testing::HasSubstr("use more cards"));
  }
}

}  // namespace
}  // namespace tandem::training::test
