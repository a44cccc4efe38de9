// SPDX-License-Identifier: Apache-2.0
//
// Both kernels take turns, so that what else the machine does hits both.
#include "tensor/sparse/generated/generated_kernels.h"

#include <algorithm>
#include <chrono>
#include <type_traits>

#include "common/median.h"

namespace tandem::sparse {
namespace {

constexpr std::size_t kTurns = 7;
// A compilation of about a second pays if a quarter of the work is saved.
constexpr double kLeastWorkSeconds = 4;

template <typename Run>
double seconds_of(const Run& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

template <typename Value>
KernelPattern mttkrp_pattern(std::size_t order, std::size_t mode, std::size_t stride) {
  KernelPattern pattern;
  pattern.order = order;
  pattern.mode = mode;
  pattern.columns = stride;
  pattern.value = sizeof(Value) == 4 ? KernelValue::kF32 : KernelValue::kF64;
  return pattern;
}

void* GeneratedKernels::find(const KernelPattern& pattern) {
  if (!is_in_grammar(pattern)) return nullptr;
  return cache_.find(key(pattern), cpu_source(pattern), kKernelSymbol);
}

template <typename Value>
MttkrpFunction<Value> GeneratedKernels::mttkrp(const KernelPattern& pattern) {
  if (pattern.product != KernelProduct::kMttkrp) return nullptr;
  return reinterpret_cast<MttkrpFunction<Value>>(find(pattern));
}

RowsFunction GeneratedKernels::rows(const KernelPattern& pattern) {
  if (pattern.product == KernelProduct::kMttkrp) return nullptr;
  return reinterpret_cast<RowsFunction>(find(pattern));
}

void* GeneratedKernels::faster(const KernelPattern& pattern, FunctionRef<void(void*)> run,
                               double calls) {
  if (!is_in_grammar(pattern)) return nullptr;
  const std::string name = key(pattern);
  const auto known = std::ranges::find(table_, name, &KernelSpeed::key);
  if (known != table_.end()) return known->generated_pays() ? find(pattern) : nullptr;
  const auto seconds = [&](void* kernel) { return seconds_of([&] { run(kernel); }); };
  const double first = seconds(nullptr);
  if (first * calls < kLeastWorkSeconds && !cache_.has(name, cpu_source(pattern))) return nullptr;
  void* const generated = find(pattern);
  if (generated == nullptr) return nullptr;
  seconds(generated);
  std::vector<double> generic_times, generated_times;
  for (std::size_t turn = 0; turn < kTurns; ++turn) {
    generic_times.push_back(seconds(nullptr));
    generated_times.push_back(seconds(generated));
  }
  table_.push_back({name, median(std::move(generic_times)), median(std::move(generated_times))});
  return table_.back().generated_pays() ? generated : nullptr;
}

template <typename Value>
MttkrpFunction<Value> GeneratedKernels::faster_mttkrp(const BlockPartition<Value>& tensor,
                                                      std::span<const FactorMatrix<Value>> factors,
                                                      std::size_t mode, FactorMatrix<Value>& out,
                                                      ThreadPool& pool, double calls) {
  const auto run = [&](void* kernel) {
    sparse::mttkrp<Value>(tensor, factors, mode, out, pool,
                          reinterpret_cast<MttkrpFunction<Value>>(kernel));
  };
  return reinterpret_cast<MttkrpFunction<Value>>(
      faster(mttkrp_pattern<Value>(tensor.order(), mode, out.stride), run, calls));
}

RowsFunction GeneratedKernels::faster_rows(const KernelPattern& pattern,
                                           FunctionRef<void(RowsFunction)> run, double calls) {
  if (pattern.product == KernelProduct::kMttkrp) return nullptr;
  return reinterpret_cast<RowsFunction>(faster(
      pattern, [&](void* kernel) { run(reinterpret_cast<RowsFunction>(kernel)); }, calls));
}

template <typename Stored>
KernelPattern rows_pattern(KernelProduct product, std::size_t stride) {
  KernelPattern pattern;
  pattern.product = product;
  pattern.columns = stride;
  pattern.value = std::is_same_v<Stored, Bf16> ? KernelValue::kBf16
                  : sizeof(Stored) == 4        ? KernelValue::kF32
                                               : KernelValue::kF64;
  pattern.index = KernelIndex::kI32;
  return pattern;
}

template <typename Stored>
KernelPattern fibres_pattern(KernelProduct product, std::size_t stride, std::size_t fibre_class) {
  KernelPattern pattern = rows_pattern<Stored>(product, stride);
  pattern.fibre = fibre_length(fibre_class);
  return pattern;
}

template KernelPattern rows_pattern<float>(KernelProduct, std::size_t);
template KernelPattern rows_pattern<double>(KernelProduct, std::size_t);
template KernelPattern rows_pattern<Bf16>(KernelProduct, std::size_t);
template KernelPattern fibres_pattern<float>(KernelProduct, std::size_t, std::size_t);
template KernelPattern fibres_pattern<double>(KernelProduct, std::size_t, std::size_t);
template KernelPattern fibres_pattern<Bf16>(KernelProduct, std::size_t, std::size_t);
template KernelPattern mttkrp_pattern<float>(std::size_t, std::size_t, std::size_t);
template KernelPattern mttkrp_pattern<double>(std::size_t, std::size_t, std::size_t);
template MttkrpFunction<float> GeneratedKernels::mttkrp<float>(const KernelPattern&);
template MttkrpFunction<double> GeneratedKernels::mttkrp<double>(const KernelPattern&);
template MttkrpFunction<float> GeneratedKernels::faster_mttkrp(const BlockPartition<float>&,
                                                               std::span<const FactorMatrix<float>>,
                                                               std::size_t, FactorMatrix<float>&,
                                                               ThreadPool&, double);
template MttkrpFunction<double> GeneratedKernels::faster_mttkrp(
    const BlockPartition<double>&, std::span<const FactorMatrix<double>>, std::size_t,
    FactorMatrix<double>&, ThreadPool&, double);

}  // namespace tandem::sparse
