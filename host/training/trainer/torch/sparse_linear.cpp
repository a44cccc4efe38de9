// SPDX-License-Identifier: Apache-2.0
//
// Tokens are packed in chunks of 64, [chunks][columns][64], so that a weight meets 64 neighbours in
// vector registers. A product reads only the rows of the chunk that its non-zeros name.
#include "training/trainer/torch/sparse_linear.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/raw_vector.h"
#include "training/trainer/torch/late_weights.h"

namespace tandem::training::torch_passes {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr std::int64_t kLanes = 64;

// Rows of non-zeros, in the order of their columns.
struct SparseRows {
  std::vector<std::int32_t> begin;  // [rows + 1]
  RawVector<std::int32_t> columns;
  RawVector<float> values;
};

// One pass writes every value, and only a non-zero one is not overwritten by the next.
SparseRows sparse_rows(const Tensor& w) {
  const std::int64_t rows = w.size(0), columns = w.size(1);
  const auto* from = w.data_ptr<float>();
  SparseRows sparse;
  const auto zeros = static_cast<std::size_t>(std::count(from, from + w.numel(), 0.0f));
  const std::size_t most = static_cast<std::size_t>(w.numel()) - zeros + 1;
  sparse.columns.resize(most);
  sparse.values.resize(most);
  sparse.begin.push_back(0);
  std::size_t count = 0;
  for (std::int64_t row = 0; row < rows; ++row, from += columns) {
    for (std::int64_t column = 0; column < columns; ++column) {
      sparse.columns[count] = static_cast<std::int32_t>(column);
      sparse.values[count] = from[column];
      count += from[column] == 0 ? 0 : 1;
    }
    sparse.begin.push_back(static_cast<std::int32_t>(count));
  }
  sparse.columns.resize(count);
  sparse.values.resize(count);
  return sparse;
}

SparseRows transposed(const SparseRows& sparse, std::int64_t columns) {
  SparseRows result;
  result.begin.assign(static_cast<std::size_t>(columns) + 1, 0);
  for (const std::int32_t column : sparse.columns)
    ++result.begin[static_cast<std::size_t>(column) + 1];
  for (std::size_t at = 1; at < result.begin.size(); ++at) result.begin[at] += result.begin[at - 1];
  std::vector<std::int32_t> next(result.begin.begin(), result.begin.end() - 1);
  result.columns.resize(sparse.columns.size());
  result.values.resize(sparse.values.size());
  for (std::size_t row = 0; row + 1 < sparse.begin.size(); ++row) {
    for (auto at = static_cast<std::size_t>(sparse.begin[row]);
         at < static_cast<std::size_t>(sparse.begin[row + 1]); ++at) {
      const auto place =
          static_cast<std::size_t>(next[static_cast<std::size_t>(sparse.columns[at])]++);
      result.columns[place] = static_cast<std::int32_t>(row);
      result.values[place] = sparse.values[at];
    }
  }
  return result;
}

std::int64_t chunks_of(std::int64_t tokens) { return (tokens + kLanes - 1) / kLanes; }

// [tokens, columns] to [chunks, columns, 64], padded by zeros.
Tensor packed(const Tensor& x) {
  const std::int64_t tokens = x.size(0), columns = x.size(1), chunks = chunks_of(tokens);
  Tensor padded = x;
  if (tokens != chunks * kLanes) {
    padded = torch::zeros({chunks * kLanes, columns});
    padded.narrow(0, 0, tokens).copy_(x);
  }
  return padded.view({chunks, kLanes, columns}).transpose(1, 2).contiguous();
}

Tensor unpacked(const Tensor& packed_y, std::int64_t tokens) {
  const std::int64_t rows = packed_y.size(0) * kLanes, columns = packed_y.size(1);
  return packed_y.transpose(1, 2).reshape({rows, columns}).narrow(0, 0, tokens).contiguous();
}

// y[row][64] = sum of value * x[column][64]
[[gnu::always_inline]] inline void add_rows(const SparseRows& w, const float* x, float* y) {
  for (std::size_t row = 0; row + 1 < w.begin.size(); ++row) {
    float sums[kLanes] = {};
    for (std::int32_t at = w.begin[row]; at < w.begin[row + 1]; ++at) {
      const float value = w.values[static_cast<std::size_t>(at)];
      const float* from = x + w.columns[static_cast<std::size_t>(at)] * kLanes;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += value * from[lane];
    }
    std::copy_n(sums, kLanes, y + static_cast<std::int64_t>(row) * kLanes);
  }
}

// A row's gradients at its non-zeros: dot products over all tokens.
[[gnu::always_inline]] inline void dot_rows(const SparseRows& w, std::size_t row, const Tensor& dy,
                                            const Tensor& x, float* dw) {
  const std::int64_t chunks = x.size(0), in = x.size(1), out = dy.size(1);
  const auto *xs = x.data_ptr<float>(),
             *dys = dy.data_ptr<float>() + static_cast<std::int64_t>(row) * kLanes;
  for (std::int32_t at = w.begin[row]; at < w.begin[row + 1]; ++at) {
    const std::int64_t column = w.columns[static_cast<std::size_t>(at)];
    float sums[kLanes] = {};
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const float *a = dys + chunk * out * kLanes, *b = xs + (chunk * in + column) * kLanes;
      for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[lane] * b[lane];
    }
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    dw[column] = sums[0];
  }
}

#if defined(__x86_64__)
#define TANDEM_WIDE [[gnu::target("avx512f"), gnu::optimize("O3")]]
#define TANDEM_MIDDLE [[gnu::target("avx2,fma"), gnu::optimize("O3")]]
TANDEM_WIDE void add_wide(const SparseRows& w, const float* x, float* y) { add_rows(w, x, y); }
TANDEM_MIDDLE void add_middle(const SparseRows& w, const float* x, float* y) { add_rows(w, x, y); }
TANDEM_WIDE void dot_wide(const SparseRows& w, std::size_t row, const Tensor& dy, const Tensor& x,
                          float* dw) {
  dot_rows(w, row, dy, x, dw);
}
TANDEM_MIDDLE void dot_middle(const SparseRows& w, std::size_t row, const Tensor& dy,
                              const Tensor& x, float* dw) {
  dot_rows(w, row, dy, x, dw);
}
#endif
[[gnu::optimize("O3")]] void add_plain(const SparseRows& w, const float* x, float* y) {
  add_rows(w, x, y);
}
[[gnu::optimize("O3")]] void dot_plain(const SparseRows& w, std::size_t row, const Tensor& dy,
                                       const Tensor& x, float* dw) {
  dot_rows(w, row, dy, x, dw);
}

struct SparseKernels {
  decltype(&add_plain) add = add_plain;
  decltype(&dot_plain) dot = dot_plain;
};

SparseKernels sparse_kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {add_wide, dot_wide};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {add_middle, dot_middle};
#endif
  return {};
}

// packed_x: [chunks, w's columns, 64]; result [chunks, w's rows, 64]
Tensor product(const SparseRows& w, const Tensor& packed_x) {
  const std::int64_t chunks = packed_x.size(0), in = packed_x.size(1);
  const auto out = static_cast<std::int64_t>(w.begin.size()) - 1;
  Tensor y = torch::empty({chunks, out, kLanes});
  const auto* xs = packed_x.data_ptr<float>();
  auto* ys = y.data_ptr<float>();
  at::parallel_for(0, chunks, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t chunk = first; chunk < last; ++chunk) {
      sparse_kernels().add(w, xs + chunk * in * kLanes, ys + chunk * out * kLanes);
    }
  });
  return y;
}

Tensor weight_product(const Tensor& w, const SparseRows& sparse, const Tensor& packed_dy,
                      const Tensor& packed_x) {
  Tensor dw = torch::zeros_like(w);
  auto* values = dw.data_ptr<float>();
  at::parallel_for(0, w.size(0), 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t row = first; row < last; ++row) {
      sparse_kernels().dot(sparse, static_cast<std::size_t>(row), packed_dy, packed_x,
                           values + row * w.size(1));
    }
  });
  return dw;
}

// The rows of a forward pass, for its backward pass: the weights change after both.
struct KeptRows : torch::CustomClassHolder {
  explicit KeptRows(SparseRows of) : rows(std::move(of)) {}
  const SparseRows rows;
};

struct SparseLinear : torch::autograd::Function<SparseLinear> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& w) {
    const Tensor rows = x.reshape({-1, x.size(-1)}).contiguous();
    const Tensor packed_x = packed(rows);
    context->save_for_backward({packed_x, w});
    context->saved_data["sizes"] = x.sizes().vec();
    std::vector<std::int64_t> sizes = x.sizes().vec();
    sizes.back() = w.size(0);
    const auto kept = c10::make_intrusive<KeptRows>(sparse_rows(w));
    context->saved_data["rows"] = c10::IValue::make_capsule(kept);
    return unpacked(product(kept->rows, packed_x), rows.size(0)).view(sizes);
  }
  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const Tensor packed_x = saved[0], w = saved[1];
    const Tensor dy = gradients[0].reshape({-1, w.size(0)}).contiguous();
    const Tensor packed_dy = packed(dy);
    const auto kept =
        c10::static_intrusive_pointer_cast<KeptRows>(context->saved_data["rows"].toCapsule());
    const SparseRows columns = transposed(kept->rows, w.size(1));
    const Tensor dx = unpacked(product(columns, packed_dy), dy.size(0));
    const auto of_weight = [w, kept, packed_dy, packed_x] {
      return weight_product(w, kept->rows, packed_dy, packed_x);
    };
    Tensor dw;
    if (LateWeights* late = LateWeights::current(); late != nullptr) {
      late->add(w, of_weight);
    } else {
      dw = of_weight();
    }
    return {dx.view(context->saved_data["sizes"].toIntVector()), dw};
  }
};

}  // namespace

double share_of_zeros(const Tensor& w) {
  const auto* values = w.data_ptr<float>();
  const std::int64_t zeros = std::count(values, values + w.numel(), 0.0f);
  return static_cast<double>(zeros) / static_cast<double>(w.numel());
}

Tensor sparse_linear(const Tensor& x, const Tensor& w) { return SparseLinear::apply(x, w); }

}  // namespace tandem::training::torch_passes
