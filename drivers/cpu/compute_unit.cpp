// SPDX-License-Identifier: Apache-2.0
//
// CpuComputeUnit: operand checks and the loops over rows.
#include "cpu/compute_unit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/error.h"
#include "cpu/host_memory.h"
#include "cpu/kernels/rows/rows.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {
namespace {

constexpr std::size_t kSmallOp = std::size_t{1} << 15;  // values; about as long as waking the team

std::size_t checked_count(std::int64_t count, const char* what) {
  if (count < 0) throw Error("cpu", std::string(what) + " is negative");
  return static_cast<std::size_t>(count);
}

}  // namespace

CpuComputeUnit::CpuComputeUnit(Team& team, SparseMode sparse,
                               std::function<void(const std::string&)> note)
    : team_(team),
      sparse_(sparse,
              [&team, note](DType dtype, double zeros) {
                const SparseSpeed speed = measure_sparse_speed(team, dtype, zeros);
                if (note) note(sparse_note(speed));
                return speed;
              }),
      linear_(team),
      experts_(team, linear_.products()),
      causal_(team) {}

std::unique_ptr<Buffer> CpuComputeUnit::allocate(std::size_t size_bytes, MemoryKind) {
  return std::make_unique<HostBuffer>(size_bytes);
}

std::unique_ptr<Weight> CpuComputeUnit::load(const WeightSource& source) {
  return std::make_unique<CpuWeight>(source, team_, &sparse_);
}

void CpuComputeUnit::for_rows(std::size_t rows, std::size_t width, RowsBody body) {
  if (rows * width <= kSmallOp || rows < 2) return body(0, rows);
  const std::size_t parts = std::min(rows, std::size_t{4} * team_.size());
  team_.run(parts, [&](std::size_t part, std::size_t) {
    body(rows * part / parts, rows * (part + 1) / parts);
  });
}

void CpuComputeUnit::handle(const EmbedOp& op) {
  const Timed timed(*this);
  const CpuWeight& table = cpu_weight(op.table, 0, 0, "embed: table");
  if (!table.has_rows()) throw Error("cpu", "embed: the table was loaded for products");
  const auto width = static_cast<std::size_t>(table.in_features());
  float* out = floats(op.out, op.ids.size() * width, "embed: out");
  for (const std::int32_t id : op.ids) {
    if (id < 0 || id >= table.out_features()) {
      throw Error("cpu", "embed: id " + std::to_string(id) + " is outside the table of " +
                             std::to_string(table.out_features()) + " rows");
    }
  }
  for_rows(op.ids.size(), width, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      float* to = out + row * width;
      dequantize_row(table.dtype(), table.row(op.ids[row]), to, width);
      for (std::size_t i = 0; op.scale != 1.0f && i < width; ++i) to[i] *= op.scale;
    }
  });
  weight_bytes_ += op.ids.size() * table.row_bytes();
}

void CpuComputeUnit::handle(const RmsNormOp& op) {
  const Timed timed(*this);
  const auto rows = checked_count(op.rows, "rms norm: rows");
  const CpuWeight& weight = cpu_weight(op.weight, 1, 0, "rms norm: weight");
  const auto width = static_cast<std::size_t>(weight.in_features());
  const float* x = floats(op.x, rows * width, "rms norm: x");
  float* out = floats(op.out, rows * width, "rms norm: out");
  const float* factors = weight.vector().data();
  for_rows(rows, width, [&](std::size_t begin, std::size_t end) {
    std::vector<float> normed(op.accumulate ? width : 0);
    for (std::size_t row = begin; row < end; ++row) {
      float* to = op.accumulate ? normed.data() : out + row * width;
      rms_norm_row(x + row * width, factors, op.epsilon, width, to);
      if (op.accumulate) add_scaled(to, 1.0f, width, out + row * width);
    }
  });
}

void CpuComputeUnit::handle(const LinearOp& op) {
  const Timed timed(*this);
  weight_bytes_ += linear_.run(op);
}

void CpuComputeUnit::update_rope_table(const RopeOp& op) {
  const auto is_of = [&](const RopeTable& table) {
    return table.magnitude == op.magnitude && std::ranges::equal(table.positions, op.positions) &&
           std::ranges::equal(table.inverse_frequencies, op.inverse_frequencies);
  };
  if (is_of(rope_[0])) return;
  std::swap(rope_[0], rope_[1]);
  if (is_of(rope_[0])) return;
  RopeTable& table = rope_[0];
  table.magnitude =
      std::numeric_limits<float>::quiet_NaN();  // matches no operation until it is complete
  table.positions.assign(op.positions.begin(), op.positions.end());
  table.inverse_frequencies.assign(op.inverse_frequencies.begin(), op.inverse_frequencies.end());
  const std::size_t pairs = op.inverse_frequencies.size();
  table.cos_sin.resize(op.positions.size() * 2 * pairs);
  for_rows(op.positions.size(), 16 * pairs, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      float* cosine = table.cos_sin.data() + row * 2 * pairs;
      for (std::size_t i = 0; i < pairs; ++i) {
        const double angle =
            static_cast<double>(op.positions[row]) * static_cast<double>(op.inverse_frequencies[i]);
        cosine[i] = static_cast<float>(std::cos(angle) * op.magnitude);
        cosine[pairs + i] = static_cast<float>(std::sin(angle) * op.magnitude);
      }
    }
  });
  table.magnitude = op.magnitude;
}

void CpuComputeUnit::handle(const RopeOp& op) {
  const Timed timed(*this);
  const auto rows = checked_count(op.rows, "rope: rows");
  const std::size_t pairs = op.inverse_frequencies.size();
  if (op.head_dim <= 0 || 2 * pairs > static_cast<std::size_t>(op.head_dim)) {
    throw Error("cpu", "rope: " + std::to_string(pairs) +
                           " frequencies are too many for heads of " + std::to_string(op.head_dim));
  }
  if (op.positions.size() != rows) throw Error("cpu", "rope: one position per row is needed");
  update_rope_table(op);
  for (const RopeTarget& target : op.targets) rotate(op, target);
}

void CpuComputeUnit::rotate(const RopeOp& op, const RopeTarget& target) {
  if (target.heads <= 0) throw Error("cpu", "rope: heads is not positive");
  const std::size_t rows = op.positions.size(), pairs = op.inverse_frequencies.size();
  const RopeRow shape{static_cast<std::size_t>(target.heads), static_cast<std::size_t>(op.head_dim),
                      pairs, op.interleaved};
  const std::size_t width = shape.heads * shape.head_dim;
  float* x = floats(target.x, rows * width, "rope: x");
  const float* norm = nullptr;
  if (target.norm != nullptr) {
    norm = cpu_weight(target.norm, 1, op.head_dim, "rope: norm").vector().data();
  }
  for_rows(rows, width, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      float* heads = x + row * width;
      for (std::size_t head = 0; norm != nullptr && head < shape.heads; ++head) {
        float* at = heads + head * shape.head_dim;
        rms_norm_row(at, norm, op.norm_epsilon, shape.head_dim, at);
      }
      rope_row(shape, rope_[0].cos_sin.data() + row * 2 * pairs, heads);
    }
  });
}

void CpuComputeUnit::handle(const SoftcapOp& op) {
  const Timed timed(*this);
  const auto rows = checked_count(op.rows, "softcap: rows");
  const auto width = checked_count(op.width, "softcap: width");
  if (!(op.cap > 0.0f) || !std::isfinite(op.cap)) {
    throw Error("cpu", "softcap: the cap must be finite and greater than 0");
  }
  float* x = floats(op.x, rows * width, "softcap: x");
  for_rows(rows, width, [&](std::size_t begin, std::size_t end) {
    softcap(op.cap, (end - begin) * width, x + begin * width);
  });
}

void CpuComputeUnit::handle(const CausalAttentionOp& op) {
  const Timed timed(*this);
  causal_.run(op);
}

void CpuComputeUnit::handle(const GatherRowsOp& op) {
  const Timed timed(*this);
  const auto width = checked_count(op.width, "gather: width");
  std::int32_t last = -1;
  for (const std::int32_t row : op.rows) {
    if (row < 0) throw Error("cpu", "gather: row " + std::to_string(row) + " is negative");
    last = std::max(last, row);
  }
  const float* x = floats(op.x, (static_cast<std::size_t>(last) + 1) * width, "gather: x");
  float* out = floats(op.out, op.rows.size() * width, "gather: out");
  for_rows(op.rows.size(), width, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      std::memcpy(out + i * width, x + op.rows[i] * width, width * sizeof(float));
    }
  });
}

void CpuComputeUnit::handle(const ExpertsOp& op) {
  const Timed timed(*this);
  weight_bytes_ += experts_.run(op);
}

void CpuComputeUnit::handle(const GatedAddOp& op) {
  const Timed timed(*this);
  const auto rows = checked_count(op.rows, "gated add: rows");
  const auto width = checked_count(op.width, "gated add: width");
  const float* x = floats(op.x, rows * width, "gated add: x");
  const float* gate = floats(op.gate, rows, "gated add: gate");
  float* out = floats(op.out, rows * width, "gated add: out");
  for_rows(rows, width, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      add_scaled(x + row * width, 1.0f / (1.0f + std::exp(-gate[row])), width, out + row * width);
    }
  });
}

void CpuComputeUnit::handle(const CopyOp& op) {
  const Timed timed(*this);
  const auto bytes = [&](const Slice& slice, const char* what) {
    if (!slice || slice.offset_bytes > slice.buffer->size_bytes() ||
        op.size_bytes > slice.buffer->size_bytes() - slice.offset_bytes) {
      throw Error("cpu", std::string("copy: ") + what + " is outside its buffer");
    }
    return slice.buffer->host().data() + slice.offset_bytes;
  };
  std::byte* to = bytes(op.to, "to");
  std::memcpy(to, bytes(op.from, "from"), op.size_bytes);
}

WaitResult CpuComputeUnit::wait(Ticket ticket, Deadline) {
  if (ticket == 0 || ticket > last_ticket_) {
    throw Error("cpu", "ticket " + std::to_string(ticket) + " is unknown: no call has returned it");
  }
  return WaitResult::kDone;
}

ComputeStats CpuComputeUnit::stats() const {
  return {ops_, weight_bytes_, static_cast<double>(busy_ns_) * 1e-9};
}

}  // namespace tandem::device::cpu
