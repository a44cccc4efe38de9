// SPDX-License-Identifier: Apache-2.0
//
// A tensor times a vector, and times a matrix of 32 columns, over the naive loops, in turns.
//
// The naive loop takes the entries as a sorted file has them, and knows the fibre of each:
// out[fibre of e] += value * x[index of e]. Both results are compared. f32, one JSON line for each
// product. Arguments: file, mode, threads (default 2); the naive loop has one thread.
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "drivers/cpu/samples.h"
#include "tensor/sparse/files/read_tensor.h"
#include "tensor/sparse/formats/entry_order.h"
#include "tensor/sparse/generate/random_subset.h"
#include "tensor/sparse/kernels/fibre_products.h"

namespace tandem::bench {
namespace {

using namespace sparse;

constexpr std::size_t kColumns = 32, kTurns = 31;

struct NaiveEntries {
  std::vector<std::uint32_t> fibres, indices;
  std::vector<float> values;
};

// The fibres' numbers are those of the FibreTensor, so that results can be compared.
NaiveEntries naive_entries(const FibreTensor<float>& fibres, const CooTensor& sorted) {
  std::vector<std::pair<std::vector<std::uint64_t>, std::uint32_t>> numbers;
  for (std::uint32_t f = 0; f < fibres.num_fibres(); ++f) {
    std::vector<std::uint64_t> place;
    for (const IndexColumn& column : fibres.places) place.push_back(column[f]);
    numbers.emplace_back(std::move(place), f);
  }
  std::ranges::sort(numbers);
  NaiveEntries entries;
  for (std::size_t e = 0; e < sorted.num_entries(); ++e) {
    std::vector<std::uint64_t> place;
    for (std::size_t m = 0; m < sorted.order(); ++m) {
      if (m != fibres.mode) place.push_back(sorted.indices[m][e]);
    }
    entries.fibres.push_back(std::ranges::lower_bound(numbers, place, {}, [](const auto& each) {
                               return each.first;
                             })->second);
    entries.indices.push_back(static_cast<std::uint32_t>(sorted.indices[fibres.mode][e]));
    entries.values.push_back(static_cast<float>(sorted.values[e]));
  }
  return entries;
}

// `stride` values of a dense row for each index; 1 for a vector.
void naive_product(const NaiveEntries& entries, const float* dense, std::size_t stride,
                   std::vector<float>& out) {
  std::ranges::fill(out, 0.0f);
  for (std::size_t e = 0; e < entries.values.size(); ++e) {
    const float* const from = dense + entries.indices[e] * stride;
    float* const to = out.data() + entries.fibres[e] * stride;
    for (std::size_t c = 0; c < stride; ++c) to[c] += entries.values[e] * from[c];
  }
}

void require_same(const float* got, const std::vector<float>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (std::abs(got[i] - want[i]) <= 1e-3f * (1 + std::abs(want[i]))) continue;
    std::fprintf(stderr, "value %zu is %g, the naive loop has %g\n", i, static_cast<double>(got[i]),
                 static_cast<double>(want[i]));
    std::exit(1);
  }
}

template <typename Ours, typename Naive>
void print_turns(const char* name, const FibreTensor<float>& fibres, int threads, const Ours& ours,
                 const Naive& naive) {
  std::vector<double> our_ms, naive_ms, times;
  for (std::size_t turn = 0; turn <= kTurns; ++turn) {
    const double naive_seconds = seconds(naive), our_seconds = seconds(ours);
    if (turn == 0) continue;  // pages and caches
    our_ms.push_back(our_seconds * 1e3);
    naive_ms.push_back(naive_seconds * 1e3);
    times.push_back(naive_seconds / our_seconds);
  }
  const nlohmann::ordered_json line{{"name", name},
                                    {"mode", fibres.mode},
                                    {"threads", threads},
                                    {"nnz", fibres.rows.values.size()},
                                    {"fibres", fibres.num_fibres()},
                                    {"ms", quantile(our_ms, 0.5)},
                                    {"naive_ms", quantile(naive_ms, 0.5)},
                                    {"times_naive", quantile(times, 0.5)}};
  std::printf("%s\n", line.dump().c_str());
}

void run_bench(const char* path, std::size_t mode, int threads) {
  ThreadPool pool(threads);
  CooTensor tensor = read_tensor(path, pool);
  sum_duplicates(tensor, pool);
  const auto fibres = fibre_tensor<float>(tensor, mode, pool);
  const NaiveEntries entries = naive_entries(fibres, tensor);
  Random random(1);
  FactorMatrix<float> matrix(fibres.rows.columns, kColumns), out(fibres.num_fibres(), kColumns);
  for (float& value : matrix.values) value = static_cast<float>(random.uniform());
  std::vector<float> x(matrix.rows), y(out.rows), naive_y(y.size()), naive_out(out.values.size());
  for (float& value : x) value = static_cast<float>(random.uniform());
  print_turns(
      "ttv", fibres, threads, [&] { ttv<float>(fibres, x, y, pool); },
      [&] { naive_product(entries, x.data(), 1, naive_y); });
  require_same(y.data(), naive_y);
  print_turns(
      "ttm", fibres, threads, [&] { ttm<float>(fibres, matrix, out, pool); },
      [&] { naive_product(entries, matrix.row(0), kColumns, naive_out); });
  require_same(out.row(0), naive_out);
}

}  // namespace
}  // namespace tandem::bench

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: bench_fibre_products FILE MODE [THREADS]\n");
    return 2;
  }
  tandem::bench::run_bench(argv[1], static_cast<std::size_t>(std::atoll(argv[2])),
                           argc > 3 ? std::atoi(argv[3]) : 2);
  return 0;
}
