// SPDX-License-Identifier: Apache-2.0
//
// The option --kernels of `tandem tensor bench` and `cpd`: which kernel a product has.
//
// Threads: one caller. Errors: Error if "generated" was asked for and cannot be had.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "common/thread_pool.h"
#include "tensor/sparse/generated/generated_kernels.h"

namespace tandem::apps {

void add_tensor_kernels(CLI::App& command, std::string& kernels);

// Compiler and folder of this user: TANDEM_KERNEL_COMPILER ("none": there is none), else the first
// of c++, g++ and clang++ in PATH; TANDEM_KERNEL_CACHE, else tandem/kernels in the user's cache.
sparse::KernelCacheOptions kernel_cache_options();

template <typename Value>
struct MttkrpCall {
  const sparse::BlockPartition<Value>& tensor;
  std::span<const sparse::FactorMatrix<Value>> factors;
  std::size_t mode;
  sparse::FactorMatrix<Value>& out;  // is overwritten
  ThreadPool& pool;
};

// Null: the generic kernel. auto: the faster one, measured with this call; `calls` more will
// follow.
template <typename Value>
sparse::MttkrpFunction<Value> kernel_for(const std::string& kernels,
                                         sparse::GeneratedKernels& generated,
                                         const MttkrpCall<Value>& call, double calls);

// The same for a product over rows; run: calls it with a kernel.
sparse::RowsFunction rows_kernel_for(const std::string& kernels,
                                     sparse::GeneratedKernels& generated,
                                     const sparse::KernelPattern& pattern,
                                     FunctionRef<void(sparse::RowsFunction)> run, double calls);

// The patterns that were measured and found faster.
std::vector<std::string> generated_keys(const sparse::GeneratedKernels& generated);

}  // namespace tandem::apps
