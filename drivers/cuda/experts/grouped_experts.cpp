// SPDX-License-Identifier: Apache-2.0
//
// Experts without a wait: the device makes tiles of rows, and each tile's products choose their
// weights.
//
// The experts' addresses are staged at the same places from step to step, so that launch records
// repeat. Each row is prepared once, however many experts read it.
#include <algorithm>
#include <array>
#include <utility>

#include "cuda/experts/experts.h"
#include "cuda/gpu/buffer.h"
#include "experts/experts.h"
#include "gemm/narrow_product.h"
#include "gemm/packed_weight.h"

namespace tandem::cuda {

using device::Expert;
using device::ExpertsOp;
using gpu_kernels::GroupedProduct;
using gpu_kernels::StoredType;

namespace {

// Decode steps are always grouped. A step with more rows is grouped only if an expert has on
// average at most kMostTilesPerExpert tiles.
constexpr std::size_t kMostDecodeRows = 64;
constexpr std::size_t kMostTilesPerExpert = 2;

const Matrix& matrix_of(const device::Weight* weight) {
  return *static_cast<const CudaWeight*>(weight)->matrix();
}

bool are_alike(const Matrix& a, const Matrix& b) {
  return a.type == b.type && (a.scales == nullptr) == (b.scales == nullptr) &&
         a.scale_outputs == b.scale_outputs && a.scale_inputs == b.scale_inputs;
}

constexpr const device::Weight* Expert::*kMembers[] = {&Expert::gate, &Expert::up, &Expert::down};

// Rows for weights of some types, in scratch.
struct Forms {
  float* f32 = nullptr;
  gpu_kernels::BF16* bf16 = nullptr;
  gpu_kernels::F16* f16 = nullptr;
  std::int8_t* q8 = nullptr;
  gpu_kernels::Q8Note* notes = nullptr;
  std::size_t bytes = 0;

  Forms(std::byte* scratch, std::size_t values, std::initializer_list<StoredType> types) {
    // Addresses do not show it: without scratch the first of them is null.
    bool has_f32 = false, has_bf16 = false, has_f16 = false, has_q8 = false;
    const auto take = [&]<typename T>(T*& place, std::size_t count) {
      place = reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(scratch) + bytes);
      bytes += (count * sizeof(T) + 255) / 256 * 256;
    };
    for (const StoredType type : types) {
      if (gpu_kernels::is_packable(type)) {
        if (std::exchange(has_q8, true)) continue;
        take(q8, values);
        take(notes, values / 32);
      } else if (type == StoredType::kF32) {
        if (!std::exchange(has_f32, true)) take(f32, values);
      } else if (type == StoredType::kF16) {
        if (!std::exchange(has_f16, true)) take(f16, values);
      } else {
        if (!std::exchange(has_bf16, true)) take(bf16, values);
      }
    }
  }
  const void* of(StoredType type) const {
    if (gpu_kernels::is_packable(type)) return q8;
    if (type == StoredType::kF32) return f32;
    return type == StoredType::kF16 ? static_cast<const void*>(f16) : bf16;
  }
};

}  // namespace

void Experts::plan_groups(const ExpertsOp& op, Shape& shape) const {
  int tile_rows = 0;
  for (const auto member : kMembers) {
    const Matrix& first = matrix_of(op.experts.front().*member);
    if (!gpu_kernels::takes_grouped(first.type, first.in_features) ||
        first.scale_inputs % gpu_kernels::kNarrowScaleStep != 0) {
      return;
    }
    for (const Expert& expert : op.experts) {
      if (!are_alike(first, matrix_of(expert.*member))) return;
    }
    const int rows = gpu_kernels::grouped_tile_rows(first.type, static_cast<int>(shape.rows));
    tile_rows = tile_rows == 0 ? rows : std::min(tile_rows, rows);
  }
  const auto full = static_cast<std::size_t>(tile_rows) * shape.experts;
  if (shape.rows > kMostDecodeRows && shape.slots() > kMostTilesPerExpert * full) return;
  shape.tile_rows = tile_rows;
  shape.most_tiles = static_cast<std::size_t>(gpu_kernels::most_expert_tiles(
      static_cast<std::int64_t>(shape.slots()), static_cast<int>(shape.experts), tile_rows));
}

// The launches of one call.
struct Experts::GroupedRun {
  Queue& queue;
  const ExpertsOp& op;
  const Shape& shape;
  const Places& at;

  void cut_tiles() {
    auto& tiles = queue.add<gpu_kernels::cut_expert_tiles>("cutting experts into tiles");
    tiles.experts = static_cast<int>(shape.experts);
    tiles.tile_rows = shape.tile_rows;
    tiles.begins = at.begins;
    tiles.tiles = at.tiles;
    tiles.num_tiles = at.num_tiles;
  }

  gpu_kernels::RowPreparation& prepare(const Forms& to, std::size_t rows, std::size_t width) {
    auto& job = queue.add<gpu_kernels::prepare_rows>("preparing rows of experts");
    job.rows = static_cast<std::int64_t>(rows);
    job.width = static_cast<int>(width);
    job.to.f32 = to.f32;
    job.to.bf16 = to.bf16;
    job.to.f16 = to.f16;
    job.to.q8 = to.q8;
    job.to.q8_notes = to.notes;
    return job;
  }

  // The member of every expert.
  gpu_kernels::GroupedTarget target(Member member, float* out) {
    const Matrix& first = matrix_of(op.experts.front().*member);
    gpu_kernels::GroupedTarget target;
    target.out_features = first.out_features;
    target.out = out;
    target.scale_outputs = first.scale_outputs;
    target.scale_inputs = first.scale_inputs;
    const auto stage = [&]<typename T>(T Matrix::*pointer) {
      const Queue::StagedRoom room = queue.stage_room(shape.experts * sizeof(T));
      auto* to = reinterpret_cast<T*>(room.host);
      for (const Expert& expert : op.experts) *to++ = matrix_of(expert.*member).*pointer;
      return room.device;
    };
    target.weights = reinterpret_cast<const void* const*>(stage(&Matrix::data));
    if (first.scales != nullptr) {
      target.scales = reinterpret_cast<const float* const*>(stage(&Matrix::scales));
    }
    return target;
  }

  void multiply(const Forms& x, std::size_t width, const std::int32_t* picks, StoredType type,
                std::span<const gpu_kernels::GroupedTarget> targets) {
    auto& job = queue.add<gpu_kernels::grouped_product>("multiplying experts' weights");
    job.type = type;
    job.rows = static_cast<int>(shape.rows);
    job.in_features = static_cast<std::int64_t>(width);
    job.x = x.of(type);
    job.notes = x.notes;
    job.picks = picks;
    job.most_tiles = static_cast<int>(shape.most_tiles);
    job.tiles = at.tiles;
    job.num_tiles = at.num_tiles;
    for (const auto& target : targets) job.targets[job.num_targets++] = target;
  }
};

void Experts::begin_grouped(const ExpertsOp& op, const Shape& shape) {
  const Expert& first = op.experts.front();
  const Forms rows(nullptr, shape.rows * shape.width,
                   {matrix_of(first.gate).type, matrix_of(first.up).type});
  const Forms activated(nullptr, shape.slots() * shape.ffn, {matrix_of(first.down).type});
  constexpr std::size_t kArrays = 2 * std::size(kMembers);
  queue_.begin(kArrays * shape.experts * sizeof(void*), kArrays,
               std::max(rows.bytes, activated.bytes));
}

std::uint64_t Experts::run_grouped(const ExpertsOp& op, const Shape& shape, const Places& at) {
  const float* x = floats_of(gpu_, op.x, shape.rows * shape.width, "experts: x");
  const Expert& first = op.experts.front();
  const StoredType gate = matrix_of(first.gate).type, up = matrix_of(first.up).type,
                   down = matrix_of(first.down).type;
  const std::size_t values = shape.rows * shape.width, gated = shape.slots() * shape.ffn;
  GroupedRun run{queue_, op, shape, at};
  run.cut_tiles();
  const Forms rows(queue_.scratch(), values, {gate, up});
  run.prepare(rows, shape.rows, shape.width).x = x;
  const std::array widened = {run.target(&Expert::gate, at.gate), run.target(&Expert::up, at.up)};
  const std::span both(widened);
  if (gate == up) {
    run.multiply(rows, shape.width, at.slot_rows, gate, both);
  } else {
    run.multiply(rows, shape.width, at.slot_rows, gate, both.first(1));
    run.multiply(rows, shape.width, at.slot_rows, up, both.last(1));
  }
  const Forms activated(queue_.scratch(), gated, {down});
  auto& gates = run.prepare(activated, shape.slots(), shape.ffn);
  gates.x = at.gate;
  gates.up = at.up;
  gates.function = op.activation == device::Activation::kSilu
                       ? gpu_kernels::RowFunction::kSiluUp
                       : gpu_kernels::RowFunction::kGeluTanhUp;
  const std::array narrowed = {run.target(&Expert::down, at.results)};
  run.multiply(activated, shape.ffn, nullptr, down, narrowed);
  const std::uint64_t bytes =
      first.gate->size_bytes() + first.up->size_bytes() + first.down->size_bytes();
  return bytes * std::min(shape.experts, shape.slots());
}

}  // namespace tandem::cuda
