// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's own part: every width of the kernels, a queue that stalls or fails, a full ring, and
// discovery. The contract itself is tested in tests/drivers/device.
#include "opencl/attention_unit.h"

#include <gtest/gtest.h>

#include "common/error.h"
#include "drivers/device/attention_scenario.h"
#include "opencl/backend.h"

namespace tandem::opencl {
namespace {

using device::AttentionGeometry;
using device::Ticket;
using device::WaitResult;
using device_test::kPatience;
using device_test::PageDeck;
using device_test::ScenarioBatch;
using device_test::SequenceModel;

const AttentionGeometry kGeometry = {
    .num_layers = 1, .q_heads = 8, .kv_heads = 2, .head_dim = 40, .page_tokens = 16};

class OpenClAttentionUnitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto devices = usable_devices();
    if (devices.empty()) GTEST_SKIP() << "no OpenCL CPU or GPU device here";
    session_ = open_session(devices.front());
  }

  std::unique_ptr<OpenClAttentionUnit> make_unit(const AttentionGeometry& geometry,
                                                 const KernelShape& shape) {
    device::AttentionUnitOptions options{
        .geometry = geometry, .kv_bytes = 32u << 20, .max_pages = 256};
    return std::make_unique<OpenClAttentionUnit>(session_, options, shape, MeasuredSpeed{});
  }
  std::unique_ptr<OpenClAttentionUnit> make_unit() {
    return make_unit(kGeometry, kernel_shape_for(session_.device));
  }

  // Holds the unit's queue until the event is set.
  cl::UserEvent stall_queue() {
    cl::UserEvent gate(session_.context);
    const std::vector<cl::Event> wait = {gate};
    session_.queue.enqueueBarrierWithWaitList(&wait);
    return gate;
  }

  Session session_;
  std::mt19937_64 random_{5};
};

TEST_F(OpenClAttentionUnitTest, EveryWidthOfTheKernelsGivesTheSameAnswers) {
  const KernelShape one_item = {1, 1, 8}, narrow = {1, 4, 8}, gpu = {64, 1, 16}, mixed = {8, 2, 40};
  const std::pair<DType, KernelShape> builds[] = {{DType::kF16, one_item}, {DType::kF16, narrow},
                                                  {DType::kF16, gpu},      {DType::kF16, mixed},
                                                  {DType::kI8, gpu},       {DType::kI8, narrow}};
  for (const auto& [dtype, shape] : builds) {
    SCOPED_TRACE(std::to_string(shape.local_size) + " x " + std::to_string(shape.vector_width));
    AttentionGeometry geometry = kGeometry;
    geometry.kv_dtype = dtype;
    const auto unit = make_unit(geometry, shape);
    PageDeck deck(unit->capacity().num_pages, random_);
    SequenceModel a(geometry, deck.take_for(geometry, 1500)), b(geometry, deck.take(2));
    device_test::fill(*unit, a, 1400, 500, random_);
    ScenarioBatch batch(geometry, 0, random_);
    batch.add(a, {.num_q = 1, .num_new = 1});
    batch.add(b, {.num_q = 5, .num_new = 19});
    ASSERT_EQ(unit->wait(batch.submit(*unit), Deadline::after(kPatience)), WaitResult::kDone);
    batch.expect_reference(1e-6);
  }
}

TEST_F(OpenClAttentionUnitTest, AStalledDeviceTimesOutAndThenFinishes) {
  const auto unit = make_unit();
  cl::UserEvent gate = stall_queue();
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kGeometry, deck.take(2));
  ScenarioBatch first(kGeometry, 0, random_), second(kGeometry, 0, random_);
  first.add(sequence, {.num_new = 3});
  const Ticket one = first.submit(*unit);
  second.add(sequence, {.num_new = 3});
  const Ticket two = second.submit(*unit);  // returns although the device stands still
  EXPECT_EQ(unit->wait(one, Deadline::after(std::chrono::milliseconds(5))), WaitResult::kTimeout);
  EXPECT_EQ(unit->wait(two, Deadline::after({})), WaitResult::kTimeout);
  std::vector<std::byte> image(device::page_image_bytes(kGeometry));
  EXPECT_EQ(unit->export_page(0, image, Deadline::after({})), WaitResult::kTimeout);
  gate.setStatus(CL_COMPLETE);
  EXPECT_EQ(unit->wait(two, Deadline::after(kPatience)), WaitResult::kDone);
  first.expect_reference(1e-6);
  second.expect_reference(1e-6);
}

TEST_F(OpenClAttentionUnitTest, AFailedCommandIsSeenByItsEvent) {
  cl::UserEvent event(session_.context);
  EXPECT_EQ(wait_for_event(event, Deadline::after({})), WaitResult::kTimeout);
  event.setStatus(-1);
  EXPECT_EQ(wait_for_event(event, Deadline::after(kPatience)), WaitResult::kLost);
}

TEST_F(OpenClAttentionUnitTest, AFailureBeforeTheLastCommandIsSeen) {
  std::vector<cl::UserEvent> gates;
  for (int i = 0; i < 3; ++i) gates.emplace_back(session_.context);
  const std::vector<cl::Event> events = {gates[0], gates[1], cl::Event(), gates[2]};
  gates[2].setStatus(CL_COMPLETE);
  gates[0].setStatus(-1);
  EXPECT_EQ(wait_for_events(events, Deadline::after({})), WaitResult::kTimeout);
  gates[1].setStatus(CL_COMPLETE);
  EXPECT_EQ(wait_for_events(events, Deadline::after({})), WaitResult::kLost);
  EXPECT_EQ(wait_for_events(std::span(events).subspan(1), Deadline::after({})), WaitResult::kDone);
}

TEST_F(OpenClAttentionUnitTest, AHungDeviceDoesNotBlockItsUnitsDestruction) {
  auto unit = make_unit();
  cl::UserEvent gate = stall_queue();
  SequenceModel sequence(kGeometry, {0, 1});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_new = 3});
  batch.submit(*unit);
  std::vector<std::byte> image(device::page_image_bytes(kGeometry));
  EXPECT_EQ(unit->export_page(0, image, Deadline::after({})), WaitResult::kTimeout);
  unit.reset();
  gate.setStatus(CL_COMPLETE);  // the commands run in memory that was kept
  session_.queue.finish();
}

TEST_F(OpenClAttentionUnitTest, ARefusedCommandLosesTheUnitForGood) {
  const auto limit = session_.device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>();
  const auto unit = make_unit(kGeometry, {static_cast<int>(2 * limit), 1, 8});
  SequenceModel sequence(kGeometry, {0, 1});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_new = 3});
  const Ticket ticket = batch.submit(*unit);
  EXPECT_EQ(unit->wait(ticket, Deadline::after(kPatience)), WaitResult::kLost);
  const Ticket later = batch.submit(*unit);
  EXPECT_GT(later, ticket);
  EXPECT_EQ(unit->wait(later, Deadline::after(kPatience)), WaitResult::kLost);
  std::vector<std::byte> image(device::page_image_bytes(kGeometry));
  EXPECT_EQ(unit->import_page(0, image, Deadline::after(kPatience)), WaitResult::kLost);
}

TEST_F(OpenClAttentionUnitTest, ManyUnwaitedBatchesAreAllAnswered) {
  const auto unit = make_unit();
  PageDeck deck(unit->capacity().num_pages, random_);
  SequenceModel sequence(kGeometry, deck.take(4));
  std::vector<std::unique_ptr<ScenarioBatch>> batches;
  Ticket last = 0;
  for (std::size_t i = 0; i < 3 * OpenClAttentionUnit::kMaxInFlight; ++i) {
    batches.push_back(std::make_unique<ScenarioBatch>(kGeometry, 0, random_));
    batches.back()->add(sequence, {.num_new = 1});
    last = batches.back()->submit(*unit);
  }
  ASSERT_EQ(unit->wait(last, Deadline::after(kPatience)), WaitResult::kDone);
  for (const auto& batch : batches) batch->expect_reference(1e-6);
}

TEST_F(OpenClAttentionUnitTest, ABatchOverItsLimitOfRowsThrows) {
  device::AttentionUnitOptions options{
      .geometry = kGeometry, .kv_bytes = 1u << 20, .max_batch_rows = 4};
  OpenClAttentionUnit unit(session_, options, kernel_shape_for(session_.device), MeasuredSpeed{});
  SequenceModel sequence(kGeometry, {0});
  ScenarioBatch batch(kGeometry, 0, random_);
  batch.add(sequence, {.num_new = 5});
  EXPECT_THROW(batch.submit(unit), Error);
}

TEST_F(OpenClAttentionUnitTest, ATicketNeverGivenThrows) {
  const auto unit = make_unit();
  EXPECT_THROW(unit->wait(0, Deadline::after({})), Error);
  EXPECT_THROW(unit->wait(1, Deadline::after({})), Error);
}

TEST(OpenClBackend, NamesItsDevicesByIndexAndRefusesOthers) {
  const device::Backend& backend = device::opencl_backend();
  const auto infos = backend.enumerate({});
  for (std::size_t i = 0; i < infos.size(); ++i) {
    EXPECT_EQ(infos[i].id, "opencl:" + std::to_string(i));
    EXPECT_TRUE(infos[i].makes_attention);
    EXPECT_GT(infos[i].memory_bytes, 0u);
  }
  EXPECT_THROW(backend.open(static_cast<int>(infos.size()), {}), Error);
  EXPECT_THROW(backend.open(-1, {}), Error);
}

TEST(OpenClBackend, OpeningADeviceMeasuresItsMemory) {
  const device::Backend& backend = device::opencl_backend();
  if (backend.enumerate({}).empty()) GTEST_SKIP() << "no OpenCL CPU or GPU device here";
  const auto device = backend.open(0, {});
  EXPECT_GT(device->info().memory_bandwidth_bytes_per_s, 1e8);
  EXPECT_THROW(device->make_compute_unit(), Error);
}

}  // namespace
}  // namespace tandem::opencl
