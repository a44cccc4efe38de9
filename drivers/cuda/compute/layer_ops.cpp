// SPDX-License-Identifier: Apache-2.0
//
// CudaComputeUnit: operations on rows: tables, norms, rotation, caps, gates, copies, sampling.
#include <algorithm>
#include <cmath>

#include "activation/activation.h"
#include "common/error.h"
#include "cuda/compute/compute_unit.h"
#include "cuda/products/weight.h"
#include "cuda/queue/copy.h"
#include "embedding/embedding.h"
#include "norm/rms_norm.h"
#include "rope/angles.h"
#include "rope/rope.h"

namespace tandem::cuda {

using device::CopyOp;
using device::EmbedOp;
using device::GatedAddOp;
using device::GatherRowsOp;
using device::RmsNormOp;
using device::RopeOp;
using device::SampleOp;
using device::SoftcapOp;

namespace {

constexpr int kMostRopeHeadDim = 1024;  // that the kernels of rope/ take

}  // namespace

void CudaComputeUnit::handle(const EmbedOp& op) {
  const CudaWeight& table = cuda_weight(gpu_, op.table, 0, 0, "embed: table");
  const auto width = static_cast<std::size_t>(table.in_features());
  float* out = floats(op.out, op.ids.size() * width, "embed: out");
  for (const std::int32_t id : op.ids) {
    if (id < 0 || id >= table.out_features()) {
      throw Error("cuda", "embed: id " + std::to_string(id) + " is outside the table of " +
                              std::to_string(table.out_features()) + " rows");
    }
  }
  if (op.ids.empty()) return;
  queue_.begin(op.ids.size_bytes(), 1);
  const std::int32_t* ids = queue_.stage(op.ids);
  auto& job = queue_.add<gpu_kernels::embed_rows>("looking up embeddings");
  job.table = table.rows();
  job.type = table.stored_type();
  job.table_rows = table.out_features();
  job.width = static_cast<int>(width);
  job.rows = static_cast<std::int64_t>(op.ids.size());
  job.ids = ids;
  job.scale = op.scale;
  job.out = out;
  ops_ += 1;
  weight_bytes_ += op.ids.size() * table.row_bytes();
}

void CudaComputeUnit::handle(const RmsNormOp& op) {
  const std::size_t rows = count_of(op.rows, "rms norm: rows");
  const CudaWeight& weight = cuda_weight(gpu_, op.weight, 1, 0, "rms norm: weight");
  const auto width = static_cast<std::size_t>(weight.in_features());
  const float* x = floats(op.x, rows * width, "rms norm: x");
  float* out = floats(op.out, rows * width, "rms norm: out");
  if (rows == 0) return;
  queue_.begin(0, 0);
  auto& job = queue_.add<gpu_kernels::rms_norm>("normalising rows");
  job.rows = op.rows;
  job.width = static_cast<int>(width);
  job.x = x;
  job.weight = weight.vector();
  job.out = out;
  job.epsilon = op.epsilon;
  job.accumulate = op.accumulate;
  ops_ += 1;
}

// The place of new angles: that of what they follow, so that a step's launches repeat.
CudaComputeUnit::Angles& CudaComputeUnit::place_of_angles(const RopeOp& op) {
  const auto is_before = [&](const Angles& angles) {
    return angles.source == op.positions.data() &&
           std::ranges::equal(angles.inverse_frequencies, op.inverse_frequencies);
  };
  const auto before = std::ranges::find_if(angles_, is_before);
  return before != angles_.end() ? *before
                                 : *std::ranges::min_element(angles_, {}, &Angles::last_used);
}

const CudaComputeUnit::Angles& CudaComputeUnit::angles_of(const RopeOp& op) {
  const auto found = std::ranges::find_if(angles_, [&](const Angles& angles) {
    return angles.position > queue_.failed_position() && angles.magnitude == op.magnitude &&
           std::ranges::equal(angles.positions, op.positions) &&
           std::ranges::equal(angles.inverse_frequencies, op.inverse_frequencies);
  });
  Angles& angles = found != angles_.end() ? *found : place_of_angles(op);
  angles.last_used = ops_ + 1;
  if (found != angles_.end()) return angles;
  const std::size_t pairs = op.inverse_frequencies.size();
  angles.positions.clear();  // invalid until it is complete
  angles.magnitude = std::nanf("");
  queue_.reserve(angles.table, op.positions.size() * 2 * pairs * sizeof(float),
                 Purpose::kWorkspace);
  queue_.begin(op.positions.size_bytes() + op.inverse_frequencies.size_bytes(), 2);
  const std::int32_t* positions = queue_.stage(op.positions);
  const float* inverse_frequencies = queue_.stage(op.inverse_frequencies);
  auto& job = queue_.add<gpu_kernels::rope_angles>("computing rotation angles");
  job.rows = op.rows;
  job.pairs = static_cast<int>(pairs);
  job.positions = positions;
  job.inverse_frequencies = inverse_frequencies;
  job.magnitude = op.magnitude;
  job.cos_sin = angles.table.as<float>();
  angles.source = op.positions.data();
  angles.positions.assign(op.positions.begin(), op.positions.end());
  angles.inverse_frequencies.assign(op.inverse_frequencies.begin(), op.inverse_frequencies.end());
  angles.magnitude = op.magnitude;
  angles.position = queue_.open_position();
  return angles;
}

void CudaComputeUnit::collect_rope_targets(const RopeOp& op) {
  rope_targets_.clear();
  for (const device::RopeTarget& target : op.targets) {
    if (target.heads <= 0) throw Error("cuda", "rope: heads is not positive");
    const std::size_t width = static_cast<std::size_t>(target.heads) * op.head_dim;
    gpu_kernels::RopeTarget& to = rope_targets_.emplace_back();
    to.x = floats(target.x, op.positions.size() * width, "rope: x");
    to.heads = target.heads;
    if (target.norm != nullptr) {
      to.norm = cuda_weight(gpu_, target.norm, 1, op.head_dim, "rope: norm").vector();
    }
  }
}

void CudaComputeUnit::handle(const RopeOp& op) {
  const std::size_t rows = count_of(op.rows, "rope: rows");
  const std::size_t pairs = op.inverse_frequencies.size();
  if (op.head_dim > kMostRopeHeadDim) {
    throw Error("cuda", "rope: heads of " + std::to_string(op.head_dim) +
                            "; this unit rotates up to " + std::to_string(kMostRopeHeadDim));
  }
  if (op.head_dim <= 0 || 2 * pairs > static_cast<std::size_t>(op.head_dim)) {
    throw Error("cuda", "rope: " + std::to_string(pairs) + " frequencies for heads of " +
                            std::to_string(op.head_dim));
  }
  if (op.positions.size() != rows) throw Error("cuda", "rope: one position per row is needed");
  collect_rope_targets(op);
  if (rows == 0) return;
  const float* cos_sin = pairs > 0 ? angles_of(op).table.as<float>() : nullptr;
  const std::span<const gpu_kernels::RopeTarget> targets = rope_targets_;
  for (std::size_t first = 0; first < targets.size(); first += gpu_kernels::kMaxRopeTargets) {
    queue_.begin(0, 0);
    auto& job = queue_.add<gpu_kernels::rope>("rotating heads");
    job.rows = op.rows;
    job.head_dim = op.head_dim;
    job.pairs = static_cast<int>(pairs);
    job.interleaved = op.interleaved;
    job.norm_epsilon = op.norm_epsilon;
    job.cos_sin = cos_sin;
    for (const auto& target : targets.subspan(
             first, std::min<std::size_t>(targets.size() - first, gpu_kernels::kMaxRopeTargets))) {
      // Member by member: padding between members must stay zero in a record.
      gpu_kernels::RopeTarget& to = job.targets[job.num_targets++];
      to.x = target.x;
      to.heads = target.heads;
      to.norm = target.norm;
    }
  }
  ops_ += 1;
}

void CudaComputeUnit::handle(const SoftcapOp& op) {
  const std::size_t rows = count_of(op.rows, "softcap: rows");
  const std::size_t width = count_of(op.width, "softcap: width");
  if (!(op.cap > 0.0f) || !std::isfinite(op.cap)) {
    throw Error("cuda", "softcap: the cap must be finite and greater than 0");
  }
  float* x = floats(op.x, rows * width, "softcap: x");
  if (rows * width == 0) return;
  queue_.begin(0, 0);
  auto& job = queue_.add<gpu_kernels::softcap>("capping values");
  job.count = op.rows * op.width;
  job.x = x;
  job.cap = op.cap;
  ops_ += 1;
}

void CudaComputeUnit::handle(const GatherRowsOp& op) {
  const std::size_t width = count_of(op.width, "gather: width");
  std::int32_t last = -1;
  for (const std::int32_t row : op.rows) {
    if (row < 0) throw Error("cuda", "gather: row " + std::to_string(row) + " is negative");
    last = std::max(last, row);
  }
  const float* x = floats(op.x, (static_cast<std::size_t>(last) + 1) * width, "gather: x");
  float* out = floats(op.out, op.rows.size() * width, "gather: out");
  if (op.rows.size() * width == 0) return;
  queue_.begin(op.rows.size_bytes(), 1);
  const std::int32_t* picks = queue_.stage(op.rows);
  auto& job = queue_.add<gpu_kernels::gather_rows>("gathering rows");
  // Checked here; all the rows there are, so that a step's last row is not in the record.
  job.x_rows = static_cast<std::int64_t>((op.x.buffer->size_bytes() - op.x.offset_bytes) /
                                         (width * sizeof(float)));
  job.x = x;
  job.width = static_cast<int>(width);
  job.rows = static_cast<std::int64_t>(op.rows.size());
  job.picks = picks;
  job.out = out;
  ops_ += 1;
}

void CudaComputeUnit::handle(const GatedAddOp& op) {
  const std::size_t rows = count_of(op.rows, "gated add: rows");
  const std::size_t width = count_of(op.width, "gated add: width");
  const float* x = floats(op.x, rows * width, "gated add: x");
  const float* gate = floats(op.gate, rows, "gated add: gate");
  float* out = floats(op.out, rows * width, "gated add: out");
  if (rows * width == 0) return;
  queue_.begin(0, 0);
  auto& job = queue_.add<gpu_kernels::gated_add>("adding gated rows");
  job.rows = op.rows;
  job.width = static_cast<int>(width);
  job.x = x;
  job.gate = gate;
  job.out = out;
  ops_ += 1;
}

void CudaComputeUnit::handle(const CopyOp& op) {
  const std::byte* from = bytes_of(gpu_, op.from, op.size_bytes, "copy: from");
  std::byte* to = bytes_of(gpu_, op.to, op.size_bytes, "copy: to");
  if (op.size_bytes == 0) return;
  queue_.begin(0, 0);
  auto& job = queue_.add<copy_bytes>("copying between buffers");
  job.to = to;
  job.from = from;
  job.bytes = op.size_bytes;
  ops_ += 1;
}

void CudaComputeUnit::handle(const SampleOp& op) {
  sampling_.run(op);
  ops_ += 1;
}

}  // namespace tandem::cuda
