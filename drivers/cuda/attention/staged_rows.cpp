// SPDX-License-Identifier: Apache-2.0
//
// StagedRows: [q | k | v | o | lse], each at a multiple of 256 bytes, the same on both sides.
#include "cuda/attention/staged_rows.h"

#include <algorithm>
#include <cstring>

#include "cuda/queue/copy.h"

namespace tandem::cuda {
namespace {

constexpr std::size_t kStep = 64;  // floats

std::size_t round_up(std::size_t floats) { return (floats + kStep - 1) / kStep * kStep; }

void copy_floats(float* to, const float* from, std::size_t count) {
  if (count > 0) std::memcpy(to, from, count * sizeof(float));
}

}  // namespace

void StagedRows::reserve(const device::AttentionGeometry& geometry,
                         const device::AttentionBatch& batch) {
  heads_ = static_cast<std::size_t>(geometry.q_heads);
  q_row_ = heads_ * static_cast<std::size_t>(geometry.head_dim);
  k_at_ = round_up(batch.q.size());
  v_at_ = k_at_ + round_up(batch.k.size());
  o_at_ = v_at_ + round_up(batch.v.size());
  lse_at_ = o_at_ + round_up(batch.q.size());
  const std::size_t end = lse_at_ + batch.q.size() / q_row_ * heads_;
  bytes_in_ = o_at_ * sizeof(float);
  bytes_out_ = (end - o_at_) * sizeof(float);
  const std::size_t bytes = std::max<std::size_t>(end, 1) * sizeof(float);
  if (host_.size_bytes() < bytes) {
    host_.reset();
    host_ = PoolRange(gpu_.pinned_memory, bytes + bytes / 2, Purpose::kStaging);
  }
  gpu_.queue.reserve(device_, host_.size_bytes(), Purpose::kStaging);
}

AttentionRows StagedRows::begin(const device::AttentionBatch& batch) {
  is_free_ = false;
  auto* host = host_.as<float>();
  copy_floats(host, batch.q.data(), batch.q.size());
  copy_floats(host + k_at_, batch.k.data(), batch.k.size());
  copy_floats(host + v_at_, batch.v.data(), batch.v.size());
  if (bytes_in_ > 0) {
    auto& copy = gpu_.queue.add<copy_bytes>("copying rows to the device");
    copy.to = device_.data();
    copy.from = host_.data();
    copy.bytes = bytes_in_;
  }
  auto* on_device = device_.as<float>();
  return {on_device, on_device + k_at_, on_device + v_at_, on_device + o_at_, on_device + lse_at_};
}

void StagedRows::end(const device::AttentionBatch& batch, const device::AttentionPartial& out) {
  out_ = out;
  answered_.clear();
  for (const device::AttentionSequence& s : batch.sequences) {
    if (s.num_q == 0) continue;
    answered_.push_back({static_cast<std::size_t>(s.q_begin), static_cast<std::size_t>(s.num_q)});
  }
  if (answered_.empty()) bytes_out_ = 0;
  if (bytes_out_ == 0) return;
  auto& copy = gpu_.queue.add<copy_bytes>("copying results to the host");
  copy.to = host_.as<float>() + o_at_;
  copy.from = device_.as<float>() + o_at_;
  copy.bytes = bytes_out_;
}

void StagedRows::finish() {
  const auto* host = host_.as<float>();
  for (const Answered& rows : answered_) {
    copy_floats(out_.o.data() + rows.row * q_row_, host + o_at_ + rows.row * q_row_,
                rows.count * q_row_);
    copy_floats(out_.lse.data() + rows.row * heads_, host + lse_at_ + rows.row * heads_,
                rows.count * heads_);
  }
  is_free_ = true;
}

}  // namespace tandem::cuda
