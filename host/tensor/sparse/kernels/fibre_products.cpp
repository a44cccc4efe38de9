// SPDX-License-Identifier: Apache-2.0
//
// Runs of fibres for the threads, cut where a class ends.
#include "tensor/sparse/kernels/fibre_products.h"

#include <algorithm>
#include <string>

#include "common/error.h"
#include "tensor/sparse/kernels/fibre_kernels.h"
#include "tensor/sparse/kernels/row_runs.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kFibreRunsPerThread = 8;

void check_extent(std::uint64_t given, std::uint64_t needed, const char* what) {
  if (given == needed) return;
  throw Error("tensor", std::string("the ") + what + " has " + std::to_string(given) +
                            " entries, and the product needs " + std::to_string(needed));
}

// Calls body(class, first fibre, last fibre) for runs of about equal fibres and entries.
template <typename Value, typename Stored, typename Body>
void for_fibre_runs(const FibreTensor<Value, Stored>& tensor, ThreadPool& pool, const Body& body) {
  const RowMatrix<Value, Stored>& rows = tensor.rows;
  const auto runs = static_cast<std::size_t>(pool.num_threads()) * kFibreRunsPerThread;
  const RunsOfRows bounds{rows.begins.data(), rows.rows, rows.values.size(), runs};
  pool.run(runs, [&](std::size_t run) {
    const std::uint64_t first = bounds.row_at(run), last = bounds.row_at(run + 1);
    for (std::size_t c = 0; c < kFibreClasses; ++c) {
      const std::uint64_t from = std::max(first, tensor.bounds[c]);
      const std::uint64_t to = std::min(last, tensor.bounds[c + 1]);
      if (from < to) body(c, from, to);
    }
  });
}

template <typename Value, typename Stored>
RowsCall fibres_call(const FibreTensor<Value, Stored>& tensor, const Value* right, Value* out) {
  RowsCall call;
  call.begins = tensor.rows.begins.data();
  call.indices = tensor.rows.indices.data();
  call.values = tensor.rows.values.data();
  call.right = right;
  call.out = out;
  return call;
}

template <typename Value, typename Stored>
FibreRun<Stored> run_of(const FibreTensor<Value, Stored>& tensor, std::size_t c,
                        std::uint64_t first, std::uint64_t last) {
  return {tensor.rows.begins.data(),
          tensor.rows.indices.data(),
          tensor.rows.values.data(),
          first,
          last,
          fibre_length(c)};
}

// The coordinates of `copies` entries for each fibre; those of `mode` are the copy's number.
template <typename Value, typename Stored>
CooTensor spread_places(const FibreTensor<Value, Stored>& tensor, std::vector<std::uint64_t> sizes,
                        std::size_t copies, bool has_mode) {
  CooTensor result(std::move(sizes));
  const std::size_t fibres = tensor.num_fibres();
  result.resize(fibres * copies);
  std::size_t place = 0;
  for (std::size_t m = 0; m < result.order(); ++m) {
    const bool is_mode = has_mode ? m == tensor.mode : tensor.places.empty();
    for (std::size_t f = 0; f < fibres; ++f) {
      for (std::size_t copy = 0; copy < copies; ++copy) {
        result.indices[m].set(f * copies + copy, is_mode ? copy : tensor.places[place][f]);
      }
    }
    place += is_mode ? 0 : 1;
  }
  return result;
}

}  // namespace

template <typename Value, typename Stored>
void ttv(const FibreTensor<Value, Stored>& tensor, std::span<const Value> vector,
         std::span<Value> out, ThreadPool& pool, const FibreKernels& kernels) {
  check_extent(vector.size(), tensor.rows.columns, "vector");
  check_extent(out.size(), tensor.num_fibres(), "result");
  RowsCall call = fibres_call(tensor, vector.data(), out.data());
  for_fibre_runs(tensor, pool, [&](std::size_t c, std::uint64_t first, std::uint64_t last) {
    if (kernels[c] == nullptr) {
      return fibre_dots(run_of(tensor, c, first, last), vector.data(), out.data());
    }
    RowsCall part = call;
    part.first = first;
    part.last = last;
    kernels[c](&part);
  });
}

template <typename Value, typename Stored>
void ttm(const FibreTensor<Value, Stored>& tensor, const FactorMatrix<Value>& matrix,
         FactorMatrix<Value>& out, ThreadPool& pool, const FibreKernels& kernels) {
  check_extent(matrix.rows, tensor.rows.columns, "matrix");
  check_extent(out.rows, tensor.num_fibres(), "result");
  check_extent(out.columns, matrix.columns, "row of the result");
  RowsCall call = fibres_call(tensor, matrix.row(0), out.row(0));
  for_fibre_runs(tensor, pool, [&](std::size_t c, std::uint64_t first, std::uint64_t last) {
    if (kernels[c] == nullptr) {
      return fibre_sums(run_of(tensor, c, first, last), matrix.row(0), matrix.stride, out.row(0));
    }
    RowsCall part = call;
    part.first = first;
    part.last = last;
    kernels[c](&part);
  });
}

template <typename Value, typename Stored>
CooTensor to_coo(const FibreTensor<Value, Stored>& tensor, std::span<const Value> values) {
  check_extent(values.size(), tensor.num_fibres(), "result");
  std::vector<std::uint64_t> sizes = tensor.sizes;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(tensor.mode));
  if (sizes.empty()) sizes.push_back(1);
  CooTensor result = spread_places(tensor, std::move(sizes), 1, false);
  std::ranges::copy(values, result.values.begin());
  return result;
}

template <typename Value, typename Stored>
CooTensor to_coo(const FibreTensor<Value, Stored>& tensor, const FactorMatrix<Value>& values) {
  check_extent(values.rows, tensor.num_fibres(), "result");
  std::vector<std::uint64_t> sizes = tensor.sizes;
  sizes[tensor.mode] = values.columns;
  CooTensor result = spread_places(tensor, std::move(sizes), values.columns, true);
  for (std::size_t f = 0; f < values.rows; ++f) {
    std::copy_n(values.row(f), values.columns,
                result.values.begin() + static_cast<std::ptrdiff_t>(f * values.columns));
  }
  return result;
}

#define TANDEM_INSTANTIATE(Value, Stored)                                                        \
  template void ttv(const FibreTensor<Value, Stored>&, std::span<const Value>, std::span<Value>, \
                    ThreadPool&, const FibreKernels&);                                           \
  template void ttm(const FibreTensor<Value, Stored>&, const FactorMatrix<Value>&,               \
                    FactorMatrix<Value>&, ThreadPool&, const FibreKernels&);                     \
  template CooTensor to_coo(const FibreTensor<Value, Stored>&, std::span<const Value>);          \
  template CooTensor to_coo(const FibreTensor<Value, Stored>&, const FactorMatrix<Value>&);
TANDEM_INSTANTIATE(float, float)
TANDEM_INSTANTIATE(double, double)
TANDEM_INSTANTIATE(float, Bf16)
#undef TANDEM_INSTANTIATE

}  // namespace tandem::sparse
