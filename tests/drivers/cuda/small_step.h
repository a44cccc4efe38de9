// SPDX-License-Identifier: Apache-2.0
//
// SmallStep: a GPU, its units, and one step of one layer on them, for tests of faults and graphs.
//
// Everything that the step needs is made by the constructor; run() does the step for two sequences
// in the compute unit's queue, attention included, and returns the tokens that it chose.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <vector>

#include "common/error.h"
#include "cuda/backend.h"
#include "cuda/compute/compute_unit.h"
#include "device/device.h"
#include "tensor/quantize.h"

namespace tandem::cuda_test {

using device::LinearTarget;
using device::MemoryKind;
using device::Slice;
using device::WaitResult;

class SmallStep {
 public:
  static constexpr int kQHeads = 4, kKvHeads = 2, kDim = 64, kWidth = 64, kVocab = 96;
  static constexpr std::size_t kRows = 2, kQRow = kQHeads * kDim, kKvRow = kKvHeads * kDim;

  SmallStep() : device_(device::cuda_backend().open(0, {})) {
    compute_ = device_->make_compute_unit();
    device::AttentionUnitOptions options;
    options.geometry = {.num_layers = 1,
                        .q_heads = kQHeads,
                        .kv_heads = kKvHeads,
                        .head_dim = kDim,
                        .page_tokens = 16,
                        .kv_dtype = DType::kF16};
    options.max_pages = 8;
    attention_ = device_->make_attention_unit(options);
    table_ = load(DType::kF16, kVocab, kWidth, device::WeightRole::kBoth);
    norm_ = load(DType::kF32, 1, kWidth);
    wq_ = load(DType::kQ8_0, kQRow, kWidth);
    wk_ = load(DType::kF16, kKvRow, kWidth);
    wv_ = load(DType::kF16, kKvRow, kWidth);
    wo_ = load(DType::kF16, kWidth, kQRow);
    x_ = rows(kWidth);
    q_ = rows(kQRow);
    k_ = rows(kKvRow);
    v_ = rows(kKvRow);
    o_ = rows(kQRow);
    lse_ = rows(kQHeads);
    logits_ = rows(kVocab);
    tokens_ = compute_->allocate(kRows * sizeof(std::int32_t), MemoryKind::kHost);
  }

  // The step at `position` of both sequences.
  std::vector<std::int32_t> run(std::int32_t position) {
    enqueue(position);
    const device::Ticket ticket = compute_->record();
    EXPECT_EQ(compute_->wait(ticket, Deadline::after(std::chrono::seconds(60))), WaitResult::kDone);
    std::vector<std::int32_t> tokens(kRows);
    std::memcpy(tokens.data(), tokens_->host().data(), kRows * sizeof(std::int32_t));
    return tokens;
  }
  void enqueue(std::int32_t position) {
    const std::array<std::int32_t, kRows> ids = {position % kVocab, (position + 7) % kVocab};
    const std::array<std::int32_t, kRows> positions = {position, position};
    const std::array<float, 4> frequencies = {1.0f, 0.5f, 0.1f, 0.01f};
    compute_->enqueue(device::EmbedOp{table_.get(), ids, at(x_)});
    const LinearTarget projections[] = {
        {wq_.get(), nullptr, at(q_)}, {wk_.get(), nullptr, at(k_)}, {wv_.get(), nullptr, at(v_)}};
    compute_->enqueue(device::LinearOp{kRows, at(x_), projections, norm_.get()});
    const device::RopeTarget heads[] = {{kQHeads, at(q_)}, {kKvHeads, at(k_)}};
    compute_->enqueue(device::RopeOp{kRows, kDim, heads, 1e-5f, positions, frequencies});
    attend(position);
    const LinearTarget out[] = {{wo_.get(), nullptr, at(x_), true}};
    compute_->enqueue(device::LinearOp{kRows, at(o_), out});
    const LinearTarget logits[] = {{table_.get(), nullptr, at(logits_)}};
    compute_->enqueue(device::LinearOp{kRows, at(x_), logits, norm_.get()});
    const device::SampleRow samples[kRows] = {};
    compute_->enqueue(device::SampleOp{samples, kVocab, at(logits_), at(tokens_)});
  }

  device::ComputeUnit& compute() { return *compute_; }
  device::AttentionUnit& attention() { return *attention_; }
  cuda::Gpu& gpu() { return static_cast<cuda::CudaComputeUnit&>(*compute_).gpu(); }
  device::Ticket last_attention() const { return last_attention_; }

 private:
  using Buffer = std::unique_ptr<device::Buffer>;
  using Weight = std::unique_ptr<device::Weight>;

  Buffer rows(std::size_t width) {
    return compute_->allocate(kRows * width * sizeof(float), MemoryKind::kDevice);
  }
  static Slice at(const Buffer& buffer) { return {buffer.get(), 0}; }

  Weight load(DType dtype, std::int64_t out, std::int64_t in,
              device::WeightRole role = device::WeightRole::kProduct) {
    std::normal_distribution<float> normal(0.0f, 0.3f);
    std::vector<float> values(static_cast<std::size_t>(out * in));
    for (float& value : values) value = normal(random_);
    std::vector<std::byte> bytes(dtype_row_bytes(dtype, values.size()));
    quantize_row(dtype, values.data(), bytes.data(), values.size());
    return compute_->load({.dtype = dtype,
                           .out_features = out,
                           .in_features = in,
                           .data = bytes.data(),
                           .role = role,
                           .transient = true});
  }

  void attend(std::int32_t position) {
    const device::PageId pages[] = {0, 1, 2, 3};
    device::AttentionSequence sequences[kRows];
    for (std::int32_t i = 0; i < 2; ++i) {
      sequences[i] = {.q_begin = i,
                      .num_q = 1,
                      .new_begin = i,
                      .num_new = 1,
                      .append_at = position,
                      .num_attend = position + 1,
                      .page_begin = 2 * i,
                      .num_pages = 2};
    }
    device::AttentionBatch batch;
    batch.scale = 0.125f;
    batch.q = device::device_floats(at(q_), kRows * kQRow);
    batch.k = device::device_floats(at(k_), kRows * kKvRow);
    batch.v = device::device_floats(at(v_), kRows * kKvRow);
    batch.sequences = sequences;
    batch.pages = pages;
    last_attention_ = attention_->submit(batch, {device::device_floats(at(o_), kRows * kQRow),
                                                 device::device_floats(at(lse_), kRows * kQHeads)});
  }

  std::mt19937 random_{5};
  std::unique_ptr<device::Device> device_;
  std::unique_ptr<device::ComputeUnit> compute_;
  std::unique_ptr<device::AttentionUnit> attention_;
  Weight table_, norm_, wq_, wk_, wv_, wo_;
  Buffer x_, q_, k_, v_, o_, lse_, logits_, tokens_;
  device::Ticket last_attention_ = 0;
};

}  // namespace tandem::cuda_test
