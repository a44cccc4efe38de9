// SPDX-License-Identifier: Apache-2.0
//
// Experts: the order of launches, and the memory of the values between them.
#include "cuda/experts/experts.h"

#include <cstring>

#include "common/error.h"
#include "cuda/gpu/buffer.h"
#include "cuda/queue/copy.h"
#include "experts/experts.h"

namespace tandem::cuda {

using device::ExpertsOp;

namespace {

constexpr std::chrono::minutes kPatience{10};

std::size_t round_up(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

Experts::Shape Experts::check(const ExpertsOp& op) const {
  const std::size_t rows = count_of(op.rows, "experts: rows");
  if (op.experts.empty() || op.used <= 0 || static_cast<std::size_t>(op.used) > op.experts.size() ||
      op.experts.size() > gpu_kernels::kMaxExperts) {
    throw Error("cuda",
                "experts: used must be in 1..the number of experts, of which there are at "
                "most " +
                    std::to_string(gpu_kernels::kMaxExperts));
  }
  const CudaWeight& first = cuda_weight(gpu_, op.experts.front().gate, 0, 0, "experts: gate");
  const std::int64_t ffn = first.out_features(), width = first.in_features();
  for (const device::Expert& expert : op.experts) {
    for (const device::Weight* weight : {expert.gate, expert.up}) {
      if (cuda_weight(gpu_, weight, ffn, width, "experts: gate or up").matrix() == nullptr) {
        throw Error("cuda", "experts: a weight was loaded as a table or a vector");
      }
    }
    if (cuda_weight(gpu_, expert.down, width, ffn, "experts: down").matrix() == nullptr) {
      throw Error("cuda", "experts: a weight was loaded as a table or a vector");
    }
  }
  Shape shape{rows, op.experts.size(), static_cast<std::size_t>(op.used),
              static_cast<std::size_t>(width), static_cast<std::size_t>(ffn)};
  if (rows > 0) plan_groups(op, shape);
  return shape;
}

Experts::Places Experts::reserve(const Shape& shape) {
  const std::size_t sizes[] = {shape.slots() * 4,
                               (shape.experts + 1) * 4,
                               shape.slots() * 4,
                               shape.slots() * 4,
                               shape.slots() * 4,
                               shape.slots() * shape.ffn * 4,
                               shape.slots() * shape.ffn * 4,
                               shape.slots() * shape.width * 4,
                               sizeof(std::int32_t),
                               shape.most_tiles * sizeof(gpu_kernels::RowTile)};
  std::size_t total = 0;
  for (const std::size_t size : sizes) total += round_up(size);
  queue_.reserve(memory_, total, Purpose::kWorkspace);
  std::byte* at[std::size(sizes)];
  std::byte* next = memory_.data();
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    at[i] = next;
    next += round_up(sizes[i]);
  }
  const auto ints = [&](int i) { return reinterpret_cast<std::int32_t*>(at[i]); };
  const auto floats = [&](int i) { return reinterpret_cast<float*>(at[i]); };
  return {
      ints(0),   ints(1),   ints(2),   ints(3),   ints(8),
      floats(4), floats(5), floats(6), floats(7), reinterpret_cast<gpu_kernels::RowTile*>(at[9])};
}

void Experts::choose(const ExpertsOp& op, const Shape& shape, const Places& at) {
  const float* router = floats_of(gpu_, op.router, shape.rows * shape.experts, "experts: router");
  auto& choice = queue_.add<gpu_kernels::choose_experts>("choosing experts");
  choice.rows = op.rows;
  choice.experts = static_cast<int>(shape.experts);
  choice.used = op.used;
  choice.normalise = op.normalise;
  choice.router = router;
  choice.chosen = at.chosen;
  choice.shares = at.shares;
  auto& groups = queue_.add<gpu_kernels::group_experts>("grouping rows by expert");
  groups.rows = op.rows;
  groups.experts = static_cast<int>(shape.experts);
  groups.used = op.used;
  groups.chosen = at.chosen;
  groups.begins = at.begins;
  groups.slot_rows = at.slot_rows;
  groups.slots = at.slots;
}

void Experts::read_begins(const Shape& shape, const Places& at) {
  const std::size_t bytes = (shape.experts + 1) * sizeof(std::int32_t);
  if (host_begins_.size_bytes() < bytes) {
    host_begins_ = PoolRange(gpu_.pinned_memory, bytes, Purpose::kWorkspace);
  }
  auto& copy = queue_.add<copy_bytes>("reading the experts' groups");
  copy.to = host_begins_.data();
  copy.from = at.begins;
  copy.bytes = bytes;
  if (queue_.wait(queue_.open_position(), Deadline::after(kPatience)) ==
      device::WaitResult::kTimeout) {
    gpu_.health.lose("experts were not chosen within 10 minutes");
  }
  gpu_.health.require();
  begins_.resize(shape.experts + 1);
  std::memcpy(begins_.data(), host_begins_.data(), bytes);
}

std::uint64_t Experts::feed_forward(const ExpertsOp& op, const Shape& shape, const Places& at,
                                    std::size_t expert) {
  const auto begin = static_cast<std::size_t>(begins_[expert]);
  const auto end = static_cast<std::size_t>(begins_[expert + 1]);
  if (begin == end) return 0;
  const device::Expert& weights = op.experts[expert];
  const auto of = [&](const device::Weight* weight) {
    return static_cast<const CudaWeight*>(weight);
  };
  LinearInput input;
  input.rows = static_cast<std::int64_t>(end - begin);
  input.width = static_cast<std::int64_t>(shape.width);
  input.x = floats_of(gpu_, op.x, shape.rows * shape.width, "experts: x");
  input.picks = at.slot_rows + begin;
  float* gate = at.gate + begin * shape.ffn;
  float* up = at.up + begin * shape.ffn;
  const LinearOutput widened[] = {{of(weights.gate), nullptr, gate, false},
                                  {of(weights.up), nullptr, up, false}};
  std::uint64_t bytes = linear_.run(input, widened);
  LinearInput gated;
  gated.rows = input.rows;
  gated.width = static_cast<std::int64_t>(shape.ffn);
  gated.x = gate;
  gated.up = up;
  gated.function = op.activation == device::Activation::kSilu
                       ? gpu_kernels::RowFunction::kSiluUp
                       : gpu_kernels::RowFunction::kGeluTanhUp;
  const LinearOutput narrowed[] = {
      {of(weights.down), nullptr, at.results + begin * shape.width, false}};
  bytes += linear_.run(gated, narrowed);
  return bytes;
}

std::uint64_t Experts::run_by_expert(const ExpertsOp& op, const Shape& shape, const Places& at) {
  read_begins(shape, at);
  std::uint64_t bytes = 0;
  for (std::size_t expert = 0; expert < shape.experts; ++expert) {
    bytes += feed_forward(op, shape, at, expert);
  }
  queue_.begin(0, 0);
  queue_.no_graph();
  return bytes;
}

void Experts::sum(const ExpertsOp& op, const Shape& shape, const Places& at, float* out) {
  auto& sum = queue_.add<gpu_kernels::sum_experts>("adding up experts");
  sum.rows = op.rows;
  sum.width = static_cast<int>(shape.width);
  sum.used = op.used;
  sum.results = at.results;
  sum.slots = at.slots;
  sum.shares = at.shares;
  sum.out = out;
}

std::uint64_t Experts::run(const ExpertsOp& op) {
  const Shape shape = check(op);
  float* out = floats_of(gpu_, op.out, shape.rows * shape.width, "experts: out");
  if (shape.rows == 0) return 0;
  const Places at = reserve(shape);
  if (shape.tile_rows > 0) {
    begin_grouped(op, shape);
  } else {
    queue_.begin(0, 0);
  }
  choose(op, shape, at);
  const std::uint64_t bytes =
      shape.tile_rows > 0 ? run_grouped(op, shape, at) : run_by_expert(op, shape, at);
  sum(op, shape, at, out);
  return bytes;
}

}  // namespace tandem::cuda
