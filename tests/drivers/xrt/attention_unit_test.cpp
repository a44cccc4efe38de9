// SPDX-License-Identifier: Apache-2.0
//
// What only cards have: their loss, slices over compute units, their counters. The contract itself
// is tested by tests/drivers/device/attention_unit_test.cpp (xrt_contract_test).
#include <gtest/gtest.h>

#include <thread>

#include "common/error.h"
#include "drivers/device/attention_scenario.h"
#include "drivers/xrt/emulated_environment.h"
#include "support/card_processes.h"
#include "xrt/backend.h"

namespace tandem::device_test {
namespace {

using test::card_processes;
using test::stop;

using device::AttentionUnit;
using device::Ticket;
using device::WaitResult;
using std::chrono::milliseconds;

const AttentionGeometry kGeometry = {
    .num_layers = 2, .q_heads = 6, .kv_heads = 2, .head_dim = 40, .page_tokens = 16};

class XrtAttentionUnitTest : public ::testing::Test {
 protected:
  std::unique_ptr<AttentionUnit> make_unit(int card, const AttentionGeometry& geometry,
                                           std::uint32_t max_pages = 64) {
    auto device = device::xrt_backend().open(card, {.values = {{"xclbin", kernel_image()}}});
    auto unit = device->make_attention_unit(
        {.geometry = geometry, .max_pages = max_pages, .max_batch_rows = 64});
    devices_.push_back(std::move(device));
    return unit;
  }

  // Once a hung command has ended, the card's next unit gives its buffers back, and a later one
  // works.
  std::unique_ptr<AttentionUnit> make_unit_once_free(int card) {
    for (const auto until = Deadline::after(kPatience); !until.expired();) {
      try {
        return make_unit(card, kGeometry);
      } catch (const Error&) {
        devices_.clear();
        std::this_thread::sleep_for(milliseconds(10));
      }
    }
    return nullptr;
  }

  std::vector<std::unique_ptr<device::Device>> devices_;
  std::mt19937_64 random_{11};
};

TEST_F(XrtAttentionUnitTest, TwoCardsHoldHalvesOfASequence) {
  const auto one = make_unit(0, kGeometry), two = make_unit(1, kGeometry);
  SequenceModel a(kGeometry, {5, 0, 63}), b(kGeometry, {1, 2});
  fill(*one, a, 40, 7, random_);
  fill(*two, b, 30, 9, random_);
  ScenarioBatch first(kGeometry, 1, random_), second(kGeometry, 1, random_);
  first.add(a, {.num_q = 2, .num_new = 1});
  second.add(b, {.num_q = 1, .num_new = 1});
  const Ticket on_one = first.submit(*one), on_two = second.submit(*two);  // at the same time
  ASSERT_EQ(one->wait(on_one, Deadline::after(kPatience)), WaitResult::kDone);
  ASSERT_EQ(two->wait(on_two, Deadline::after(kPatience)), WaitResult::kDone);
  first.expect_reference(1e-6);
  second.expect_reference(1e-6);
}

TEST_F(XrtAttentionUnitTest, TwoModelsShareACard) {
  AttentionGeometry other = kGeometry;
  other.head_dim = 128;
  other.kv_dtype = DType::kI8;
  const auto one = make_unit(0, kGeometry), two = make_unit(0, other);
  SequenceModel a(kGeometry, {0, 1, 2}), b(other, {0, 1, 2});
  fill(*one, a, 40, 40, random_);
  fill(*two, b, 40, 40, random_);
  ScenarioBatch first(kGeometry, 0, random_), second(other, 0, random_);
  first.add(a, {.num_q = 1});
  second.add(b, {.num_q = 1});
  ASSERT_EQ(one->wait(first.submit(*one), Deadline::after(kPatience)), WaitResult::kDone);
  ASSERT_EQ(two->wait(second.submit(*two), Deadline::after(kPatience)), WaitResult::kDone);
  first.expect_reference(1e-6);
  second.expect_reference(1e-6);
}

TEST_F(XrtAttentionUnitTest, AnyNumberOfHeadsUsesTheComputeUnits) {
  for (const int kv_heads : {1, 3, 4, 5, 9}) {
    SCOPED_TRACE(kv_heads);
    AttentionGeometry geometry = kGeometry;
    geometry.kv_heads = kv_heads;
    geometry.q_heads = 2 * kv_heads;
    const auto unit = make_unit(0, geometry, 13);  // pages divide unevenly over slices
    PageDeck deck(13, random_);
    SequenceModel a(geometry, deck.take(7)), b(geometry, deck.take(6));
    fill(*unit, a, 100, 33, random_);
    ScenarioBatch batch(geometry, 0, random_);
    batch.add(a, {.num_q = 3, .num_new = 1});
    batch.add(b, {.num_q = 1, .num_new = 90});
    ASSERT_EQ(unit->wait(batch.submit(*unit), Deadline::after(kPatience)), WaitResult::kDone);
    batch.expect_reference(1e-6);
  }
}

TEST_F(XrtAttentionUnitTest, MoreBatchesThanBuffersAreAllAnswered) {
  const auto unit = make_unit(0, kGeometry);
  SequenceModel sequence(kGeometry, {3, 9, 4});
  std::vector<std::unique_ptr<ScenarioBatch>> batches;
  Ticket last = 0;
  for (int i = 0; i < 12; ++i) {
    batches.push_back(std::make_unique<ScenarioBatch>(kGeometry, 0, random_));
    batches.back()->add(sequence, {.num_new = 3});
    last = batches.back()->submit(*unit);
  }
  ASSERT_EQ(unit->wait(last, Deadline::after(kPatience)), WaitResult::kDone);
  for (const auto& batch : batches) batch->expect_reference(1e-6);
}

TEST_F(XrtAttentionUnitTest, CountsOnlyWhatTheCallerAsked) {
  const auto unit = make_unit(0, kGeometry);
  EXPECT_EQ(unit->stats().launches, 0u);  // the launches of the measurement are not counted
  EXPECT_GT(unit->capacity().read_bandwidth_bytes_per_s, 0.0);
  EXPECT_GT(unit->capacity().link_latency_us, 0.0);
  SequenceModel sequence(kGeometry, {0, 1});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_q = 1, .num_new = 20});
  ASSERT_EQ(unit->wait(batch.submit(*unit), Deadline::after(kPatience)), WaitResult::kDone);
  const auto stats = unit->stats();
  EXPECT_EQ(stats.launches, 1u);
  EXPECT_EQ(stats.kv_bytes_read, 20u * 2 * 2 * 64 * 2);  // tokens, k and v, heads, padded dim, f16
  EXPECT_GT(stats.bytes_to_unit, 20u * 2 * 2 * 40 * 4);
  EXPECT_GT(stats.bytes_from_unit, 6u * 40 * 4);
  EXPECT_GT(stats.busy_seconds, 0.0);
}

TEST_F(XrtAttentionUnitTest, TicketsNeverGivenThrow) {
  const auto unit = make_unit(0, kGeometry);
  EXPECT_THROW(unit->wait(0, Deadline::after({})), Error);
  EXPECT_THROW(unit->wait(unit->submit({}, {}) + 1, Deadline::after({})), Error);
}

TEST_F(XrtAttentionUnitTest, AKilledCardIsLostForEverAndNothingHangs) {
  auto unit = make_unit(0, kGeometry);
  SequenceModel sequence(kGeometry, {0, 1, 2, 3});
  fill(*unit, sequence, 40, 40, random_);
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_q = 1});
  stop(cards[0]);
  const Ticket ticket = batch.submit(*unit);
  EXPECT_EQ(unit->wait(ticket, Deadline::after(milliseconds(20))), WaitResult::kTimeout);
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  EXPECT_EQ(unit->wait(ticket, Deadline::after(kPatience)), WaitResult::kLost);
  const Ticket later = batch.submit(*unit);
  EXPECT_GT(later, ticket);
  EXPECT_EQ(unit->wait(later, Deadline::after(kPatience)), WaitResult::kLost);
  std::vector<std::byte> image(device::page_image_bytes(kGeometry));
  EXPECT_EQ(unit->export_page(0, image, Deadline::after(kPatience)), WaitResult::kLost);
  EXPECT_EQ(unit->import_page(0, image, Deadline::after(kPatience)), WaitResult::kLost);
  unit.reset();
}

TEST_F(XrtAttentionUnitTest, AStoppedCardTimesOutAndThenAnswers) {
  const auto unit = make_unit(0, kGeometry);
  SequenceModel sequence(kGeometry, {0, 1});
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  stop(cards[0]);
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_q = 1, .num_new = 7});
  const Ticket ticket = batch.submit(*unit);
  EXPECT_EQ(unit->wait(ticket, Deadline::after(milliseconds(5))), WaitResult::kTimeout);
  std::vector<std::byte> image(device::page_image_bytes(kGeometry));
  EXPECT_EQ(unit->export_page(0, image, Deadline::after(milliseconds(5))), WaitResult::kTimeout);
  ASSERT_EQ(kill(cards[0], SIGCONT), 0);
  EXPECT_EQ(unit->export_page(0, image, Deadline::after(kPatience)), WaitResult::kDone);
  EXPECT_EQ(unit->wait(ticket, Deadline::after(kPatience)), WaitResult::kDone);
  batch.expect_reference(1e-6);
}

TEST_F(XrtAttentionUnitTest, TellsWhetherAnIdleCardIsAlive) {
  const auto unit = make_unit(0, kGeometry);
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  EXPECT_TRUE(unit->is_alive());
  stop(cards[0]);
  EXPECT_TRUE(unit->is_alive()) << "it gives no answer, which is no loss";
  EXPECT_TRUE(unit->is_alive());
  ASSERT_EQ(kill(cards[0], SIGCONT), 0);
  SequenceModel sequence(kGeometry, {0, 1});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_q = 1, .num_new = 7});
  EXPECT_EQ(unit->wait(batch.submit(*unit), Deadline::after(kPatience)), WaitResult::kDone);
  batch.expect_reference(1e-6);
  EXPECT_TRUE(unit->is_alive());
  EXPECT_EQ(unit->stats().launches, 1u) << "questions are no launches";
  ASSERT_EQ(kill(cards[0], SIGKILL), 0);
  const auto until = Deadline::after(kPatience);
  while (unit->is_alive() && !until.expired()) {
  }
  EXPECT_FALSE(unit->is_alive());
  EXPECT_EQ(unit->wait(batch.submit(*unit), Deadline::after(kPatience)), WaitResult::kLost);
}

TEST_F(XrtAttentionUnitTest, ADeadCardDoesNotBlockItsDestruction) {
  auto unit = make_unit(0, kGeometry);
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  SequenceModel sequence(kGeometry, {0});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_q = 1, .num_new = 1});
  stop(cards[0]);
  batch.submit(*unit);
  kill(cards[0], SIGKILL);
  unit.reset();
  devices_.clear();
}

TEST_F(XrtAttentionUnitTest, AHungCardDoesNotBlockItsDestruction) {
  auto unit = make_unit(0, kGeometry);
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  SequenceModel sequence(kGeometry, {0});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_q = 1, .num_new = 1});
  stop(cards[0]);
  const Ticket ticket = batch.submit(*unit);
  EXPECT_EQ(unit->wait(ticket, Deadline::after(milliseconds(1))), WaitResult::kTimeout);
  unit.reset();  // the hung command may still write to the card's buffers, which stay
  devices_.clear();
  kill(cards[0], SIGKILL);
  ASSERT_NE(make_unit_once_free(0), nullptr);
}

TEST_F(XrtAttentionUnitTest, ACardThatHangsWhileAUnitIsMadeKeepsItsBuffers) {
  auto unit = make_unit(0, kGeometry);  // the kernel image is on the card now
  const auto cards = card_processes();
  ASSERT_EQ(cards.size(), 1u);
  stop(cards[0]);
  EXPECT_THROW(make_unit(0, kGeometry), DeviceError);  // its first command has not started yet
  unit.reset();
  devices_.clear();
  EXPECT_EQ(card_processes(), cards);  // the card is open as long as that command may write
  kill(cards[0], SIGKILL);
  ASSERT_NE(make_unit_once_free(0), nullptr);
}

TEST_F(XrtAttentionUnitTest, TheOtherCardGoesOn) {
  const auto one = make_unit(0, kGeometry);
  const auto first_card = card_processes();
  const auto two = make_unit(1, kGeometry);
  ASSERT_EQ(first_card.size(), 1u);
  kill(first_card[0], SIGKILL);
  SequenceModel sequence(kGeometry, {0, 1});
  ScenarioBatch lost(kGeometry, 0, random_), kept(kGeometry, 0, random_);
  lost.add(sequence, {.num_q = 1, .num_new = 20});
  SequenceModel other(kGeometry, {0, 1});
  kept.add(other, {.num_q = 1, .num_new = 20});
  EXPECT_EQ(one->wait(lost.submit(*one), Deadline::after(kPatience)), WaitResult::kLost);
  EXPECT_EQ(two->wait(kept.submit(*two), Deadline::after(kPatience)), WaitResult::kDone);
  kept.expect_reference(1e-6);
}

TEST(XrtBackend, ListsCardsAndRefusesOthers) {
  const device::Backend& backend = device::xrt_backend();
  const auto infos = backend.enumerate({});
  ASSERT_GE(infos.size(), 2u);
  for (std::size_t i = 0; i < infos.size(); ++i) {
    EXPECT_EQ(infos[i].id, "xrt:" + std::to_string(i));
    EXPECT_TRUE(infos[i].makes_attention);
    EXPECT_FALSE(infos[i].makes_compute);
    EXPECT_GT(infos[i].memory_bytes, 0u);
    EXPECT_GT(infos[i].memory_bandwidth_bytes_per_s, 0.0);
  }
  EXPECT_THROW(backend.open(static_cast<int>(infos.size()), {}), Error);
  EXPECT_THROW(backend.open(-1, {}), Error);
  EXPECT_THROW(backend.open(0, {})->make_compute_unit(), Error);
}

}  // namespace
}  // namespace tandem::device_test
