// SPDX-License-Identifier: Apache-2.0
//
// The op cases of operations on rows, on every device that computes: tables, norms, rotation, caps,
// gates, copies, sampling.
#include <gmock/gmock.h>

#include <cmath>

#include "common/error.h"
#include "drivers/device/compute_unit_fixture.h"
#include "support/reference/compare.h"
#include "support/reference/transformer.h"

namespace tandem::device_test {
namespace {

using reference::nmse;

class ComputeRowOps : public ComputeUnitTestBase {};

TEST_P(ComputeRowOps, LookUpRowsOfTablesOfEveryType) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0, DType::kQ4_0,
                            DType::kQ4_K, DType::kQ6_K}) {
    SCOPED_TRACE(dtype_name(dtype));
    const Matrix table = matrix(dtype, 11, 256, device::WeightRole::kTable);
    const std::int32_t ids[] = {3, 0, 10, 3};
    const Slice out = room(4 * 256, MemoryKind::kDevice);
    unit_->enqueue(device::EmbedOp{table.weight.get(), ids, out, 2.5f});
    const auto got = get(out, 4 * 256);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i],
                2.5f * table.values[static_cast<std::size_t>(ids[i / 256]) * 256 + i % 256]);
    }
  }
  const Matrix table = matrix(DType::kF32, 4, 8, device::WeightRole::kTable);
  for (const std::int32_t id : {4, -1}) {
    EXPECT_THROW(unit_->enqueue(device::EmbedOp{table.weight.get(), {&id, 1}, room(8)}), Error);
  }
}

TEST_P(ComputeRowOps, NormaliseInPlaceElsewhereAndOntoWhatIsThere) {
  for (const int width : {1, 24, 66, 520}) {
    const Matrix weight = matrix(DType::kF32, 1, width);
    const auto values = randoms(5 * static_cast<std::size_t>(width));
    const auto before = randoms(values.size());
    auto want = reference::rms_norm(values, weight.values, 1e-5);
    const Slice x = put_on_device(values), out = put_on_device(before);
    unit_->enqueue(device::RmsNormOp{5, x, out, weight.weight.get(), 1e-5f, true});
    unit_->enqueue(device::RmsNormOp{5, x, x, weight.weight.get(), 1e-5f});
    EXPECT_LT(nmse<double>(get(x, want.size()), want), 1e-12) << width;
    for (std::size_t i = 0; i < want.size(); ++i) want[i] += before[i];
    EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-12) << width;
  }
}

TEST_P(ComputeRowOps, NormaliseByVectorsOfEveryTypeThatAreNothingElse) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8_0}) {
    SCOPED_TRACE(dtype_name(dtype));
    const Matrix weight = matrix(dtype, 1, 64, device::WeightRole::kVector);
    const auto values = randoms(3 * 64);
    const Slice x = put_on_device(values), out = room(3, MemoryKind::kDevice);
    unit_->enqueue(device::RmsNormOp{3, x, x, weight.weight.get(), 1e-5f});
    EXPECT_LT(nmse<double>(get(x, 3 * 64), reference::rms_norm(values, weight.values, 1e-5)),
              1e-12);
    EXPECT_FALSE(weight.weight->borrows_source());
    const device::LinearTarget target{weight.weight.get(), nullptr, out};
    EXPECT_THROW(unit_->enqueue(device::LinearOp{3, x, {&target, 1}}), Error);
  }
  EXPECT_THROW(matrix(DType::kF32, 2, 64, device::WeightRole::kVector), Error);
}

TEST_P(ComputeRowOps, SayWhetherTheHostSeesDeviceMemory) {
  const auto buffer = unit_->allocate(64, MemoryKind::kDevice);
  EXPECT_EQ(unit_->device_memory_is_host(), !buffer->host().empty());
}

TEST_P(ComputeRowOps, RotateBothPairingsPartsOfHeadsAndNormedHeads) {
  const std::int32_t positions[] = {0, 77, 4095, 100000};
  for (const bool interleaved : {true, false}) {
    for (const std::size_t pairs : {4u, 12u, 32u}) {
      const std::size_t dim = pairs == 12 ? 40 : 2 * pairs;
      std::vector<float> frequencies(pairs);
      for (std::size_t i = 0; i < pairs; ++i) {
        frequencies[i] = std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(pairs));
      }
      const auto q = randoms(4 * 3 * dim), k = randoms(4 * dim);
      const Matrix norm = matrix(DType::kF32, 1, static_cast<std::int64_t>(dim));
      const device::RopeTarget targets[] = {{3, put_on_device(q), norm.weight.get()}, {1, put(k)}};
      // Twice: the second time the angles are cached.
      for (int turn = 0; turn < 2; ++turn) {
        const Slice at = turn == 0 ? targets[0].x : put(q);
        const device::RopeTarget both[] = {{3, at, norm.weight.get()}, targets[1]};
        unit_->enqueue(device::RopeOp{4, static_cast<int>(dim),
                                      std::span(both).first(turn == 0 ? 2 : 1), 1e-5f, positions,
                                      frequencies, 1.25f, interleaved});
        const auto normed = reference::rms_norm(q, norm.values, 1e-5);
        const std::vector<float> heads(normed.begin(), normed.end());
        EXPECT_LT(nmse<double>(get(at, q.size()), reference::rope({3, dim, 1.25, interleaved},
                                                                  heads, positions, frequencies)),
                  1e-12);
      }
      EXPECT_LT(
          nmse<double>(get(targets[1].x, k.size()),
                       reference::rope({1, dim, 1.25, interleaved}, k, positions, frequencies)),
          1e-12);
    }
  }
}

TEST_P(ComputeRowOps, RotateByPositionsAndFrequenciesInTurns) {
  const std::vector<float> kinds[] = {{1.0f, 0.5f}, {0.3f, 0.1f}, {0.7f, 0.2f}};
  const auto values = randoms(4);
  for (int turn = 0; turn < 12; ++turn) {
    const std::int32_t position = turn / 2 % 3;
    const auto& frequencies = kinds[turn * 7 % 3];
    const Slice x = put(values);
    const device::RopeTarget target{1, x};
    unit_->enqueue(device::RopeOp{1, 4, {&target, 1}, 1e-5f, {&position, 1}, frequencies});
    const auto want = reference::rope({1, 4}, values, {&position, 1}, frequencies);
    EXPECT_LT(nmse<double>(get(x, 4), want), 1e-12) << turn;
  }
}

TEST_P(ComputeRowOps, CapGateGatherAndCopy) {
  auto values = randoms(3 * 77, 40.0f);
  values[0] = -5000.0f;
  const Slice x = put_on_device(values);
  unit_->enqueue(device::SoftcapOp{3, 77, x, 30.0f});
  std::vector<double> want;
  for (const float value : values) want.push_back(30.0 * std::tanh(value / 30.0));
  EXPECT_LT(nmse<double>(get(x, values.size()), want), 1e-12);
  EXPECT_THROW(unit_->enqueue(device::SoftcapOp{3, 77, x, 0.0f}), Error);

  const auto gate = randoms(3), before = randoms(values.size());
  const Slice out = put_on_device(before);
  unit_->enqueue(device::GatedAddOp{3, 77, put(values), put(gate), out});
  for (std::size_t i = 0; i < want.size(); ++i) {
    want[i] = before[i] + values[i] / (1.0 + std::exp(-double{gate[i / 77]}));
  }
  EXPECT_LT(nmse<double>(get(out, want.size()), want), 1e-12);

  const std::int32_t rows[] = {2, 0, 0};
  const Slice picked = room(3 * 77, MemoryKind::kDevice);
  unit_->enqueue(device::GatherRowsOp{rows, 77, put(values), picked});
  const auto got = get({picked.buffer, 77 * sizeof(float)}, 2 * 77);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], values[i % 77]);
  EXPECT_THROW(unit_->enqueue(device::CopyOp{4 * 3 * 77 + 4, picked, picked}), Error);
}

TEST_P(ComputeRowOps, ChooseTokensWhereTheUnitSays) {
  if (!device::supports<device::SampleOp>(*unit_)) GTEST_SKIP() << "it samples on the host";
  const std::size_t vocab = 300;
  auto logits = randoms(4 * vocab);
  logits[0 * vocab + 17] = logits[0 * vocab + 200] = 50.0f;  // of equal ones the lowest
  logits[1 * vocab + 299] = 50.0f;
  // Two tokens with nearly all of the probability: the draw takes them in the order of ids.
  logits[2 * vocab + 5] = logits[2 * vocab + 8] = 60.0f;
  logits[3 * vocab + 5] = logits[3 * vocab + 8] = 60.0f;
  const device::SampleRow rows[] = {{}, {}, {1.0f, 0, 1.0f, 0.4f}, {1.0f, 2, 0.99f, 0.6f}};
  const Slice tokens = room(4);
  unit_->enqueue(
      device::SampleOp{rows, static_cast<std::int64_t>(vocab), put_on_device(logits), tokens});
  ASSERT_EQ(unit_->wait(unit_->record(), Deadline::never()), device::WaitResult::kDone);
  std::int32_t got[4];
  std::memcpy(got, tokens.buffer->host().data(), sizeof(got));
  EXPECT_THAT(got, testing::ElementsAre(17, 299, 5, 8));
}

TEST_P(ComputeRowOps, TicketsThatWereNeverGivenAreErrors) {
  EXPECT_THROW(unit_->wait(0, Deadline::never()), Error);
  EXPECT_THROW(unit_->wait(1u << 30, Deadline::never()), Error);
  const device::Ticket first = unit_->record();
  EXPECT_EQ(unit_->wait(first, Deadline::never()), device::WaitResult::kDone);
  EXPECT_EQ(unit_->wait(unit_->record(), Deadline::never()), device::WaitResult::kDone);
  EXPECT_EQ(unit_->wait(first, Deadline::after({})), device::WaitResult::kDone);
}

INSTANTIATE_TEST_SUITE_P(Devices, ComputeRowOps, ::testing::ValuesIn(device_ids()),
                         [](const auto& info) { return case_name(info.param); });

}  // namespace
}  // namespace tandem::device_test
