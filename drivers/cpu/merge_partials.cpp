// SPDX-License-Identifier: Apache-2.0
//
// MergeOp on the CPU: for each row its partials, for each head their weights exp(L_i - L).
//
// Cost: one read of every listed (O, LSE) row. Numerics: NaN in a partial affects only its row and
// head. Partials with LSE -inf have weight 0; a head with no other partials becomes 0.
#include <algorithm>
#include <cmath>
#include <limits>

#include "common/error.h"
#include "cpu/compute_unit.h"
#include "cpu/kernels/rows/rows.h"
#include "cpu/slices.h"

namespace tandem::device::cpu {
namespace {

struct Partial {
  const float* o;
  const float* lse;
};

// The partials of every row; row r has order[begin[r] .. begin[r + 1]).
struct Coverage {
  std::vector<std::size_t> begin, order;
};

Coverage cover(const MergeOp& op) {
  Coverage c;
  c.begin.assign(op.rows + 1, 0);
  for (const MergePartial& partial : op.partials) {
    for (const std::int32_t row : partial.rows) {
      if (row < 0 || row >= op.rows) {
        throw Error("cpu", "merge: row " + std::to_string(row) + " is outside the " +
                               std::to_string(op.rows) + " rows of the result");
      }
      ++c.begin[row + 1];
    }
  }
  for (std::int64_t row = 0; row < op.rows; ++row) c.begin[row + 1] += c.begin[row];
  c.order.resize(c.begin.back());
  std::vector<std::size_t> next(c.begin.begin(), c.begin.end() - 1);
  for (std::size_t i = 0; i < op.partials.size(); ++i) {
    for (const std::int32_t row : op.partials[i].rows) c.order[next[row]++] = i;
  }
  return c;
}

void merge_head(std::span<const Partial> partials, std::span<const std::size_t> held,
                std::size_t at, std::size_t dim, float* out) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  float peak = kNothing;
  for (const std::size_t i : held) peak = std::fmax(peak, partials[i].lse[at]);
  const float shift = peak == kNothing ? 0.0f : peak;
  float sum = 0.0f;
  for (const std::size_t i : held) sum += std::exp(partials[i].lse[at] - shift);
  std::fill_n(out, dim, 0.0f);
  if (sum == 0.0f) return;
  for (const std::size_t i : held) {
    const float weight = std::exp(partials[i].lse[at] - shift) / sum;
    if (weight != 0.0f) add_scaled(partials[i].o + at * dim, weight, dim, out);
  }
}

}  // namespace

void CpuComputeUnit::handle(const MergeOp& op) {
  const Timed timed(*this);
  if (op.rows < 0 || op.heads <= 0 || op.head_dim <= 0) {
    throw Error("cpu", "merge: rows, heads or head_dim is not positive");
  }
  const auto rows = static_cast<std::size_t>(op.rows);
  const auto heads = static_cast<std::size_t>(op.heads);
  const auto dim = static_cast<std::size_t>(op.head_dim);
  const Coverage coverage = cover(op);
  std::vector<Partial> partials;
  for (const MergePartial& partial : op.partials) {
    partials.push_back({floats(partial.o, rows * heads * dim, "merge: o"),
                        floats(partial.lse, rows * heads, "merge: lse")});
  }
  float* out = floats(op.out, rows * heads * dim, "merge: out");
  for_rows(rows, heads * dim * 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::span held(coverage.order.data() + coverage.begin[row],
                           coverage.begin[row + 1] - coverage.begin[row]);
      for (std::size_t head = 0; head < heads; ++head) {
        const std::size_t at = row * heads + head;
        merge_head(partials, held, at, dim, out + at * dim);
      }
    }
  });
}

}  // namespace tandem::device::cpu
