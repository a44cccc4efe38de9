// SPDX-License-Identifier: Apache-2.0
//
// Runs of blocks for the threads, and the sum of their rows.
#include "tensor/sparse/kernels/mttkrp.h"

#include <algorithm>

#include "common/error.h"
#include "tensor/sparse/formats/radix_sort.h"

namespace tandem::sparse {
namespace {

// What a thread adds into: rows [first, last) of the result.
template <typename Value>
struct OwnRows {
  std::size_t begin = 0, end = 0;  // blocks
  std::uint64_t first = 0, last = 0;
  AlignedVector<Value> values;  // [last - first, stride]
};

// Divides the blocks into runs of about equal entries.
template <typename Value>
std::vector<OwnRows<Value>> runs_of(const BlockPartition<Value>& tensor, std::size_t num_runs) {
  const EqualParts parts{tensor.values.size(), num_runs};
  std::vector<OwnRows<Value>> runs(num_runs);
  for (std::size_t run = 0; run < num_runs; ++run) {
    const auto block_at = [&](std::size_t part) {
      const auto at =
          std::lower_bound(tensor.begins.begin(), tensor.begins.end(), parts.bound(part));
      return static_cast<std::size_t>(at - tensor.begins.begin());
    };
    runs[run].begin = run == 0 ? 0 : block_at(run);
    runs[run].end = run + 1 == num_runs ? tensor.num_blocks() : block_at(run + 1);
  }
  return runs;
}

template <typename Value>
void find_rows(const BlockPartition<Value>& tensor, std::size_t mode, OwnRows<Value>& run) {
  const std::size_t order = tensor.order();
  run.first = tensor.sizes[mode];
  for (std::size_t block = run.begin; block < run.end; ++block) {
    run.first = std::min(run.first, tensor.bases[block * order + mode]);
    run.last = std::max(run.last, tensor.ends[block * order + mode]);
  }
  run.first = std::min(run.first, run.last);
}

// What all runs share.
template <typename Value>
struct Job {
  const BlockPartition<Value>& tensor;
  std::span<const FactorMatrix<Value>> factors;
  std::size_t mode, stride;
  MttkrpFunction<Value> kernel;
};

// rows: that of index `first` of the mode.
template <typename Value>
void add_run(const Job<Value>& job, const OwnRows<Value>& run, Value* rows) {
  const BlockPartition<Value>& tensor = job.tensor;
  const std::size_t order = tensor.order(), mode = job.mode, stride = job.stride;
  for (std::size_t block = run.begin; block < run.end; ++block) {
    const std::size_t begin = tensor.begins[block];
    const std::uint64_t* const bases = tensor.bases.data() + block * order;
    MttkrpBlock<Value> work{tensor.distances.data() + begin * order,
                            tensor.values.data() + begin,
                            tensor.begins[block + 1] - begin,
                            order,
                            mode,
                            stride};
    for (std::size_t m = 0; m < order; ++m) {
      if (m != mode) work.rows[m] = job.factors[m].row(bases[m]);
    }
    work.out = rows + (bases[mode] - run.first) * stride;
    if (job.kernel != nullptr) {
      job.kernel(&work);
    } else {
      add_block(work);
    }
  }
}

// Rows [begin, end) of the result: the sum of all runs.
template <typename Value>
void add_up(const std::vector<OwnRows<Value>>& runs, std::uint64_t begin, std::uint64_t end,
            FactorMatrix<Value>& out) {
  std::fill(out.row(begin), out.row(begin) + (end - begin) * out.stride, Value{});
  for (const OwnRows<Value>& run : runs) {
    const std::uint64_t first = std::max(begin, run.first), last = std::min(end, run.last);
    if (first >= last) continue;
    const Value* const from = run.values.data() + (first - run.first) * out.stride;
    Value* const to = out.row(first);
    for (std::size_t i = 0; i < (last - first) * out.stride; ++i) to[i] += from[i];
  }
}

}  // namespace

template <typename Value>
void mttkrp(const BlockPartition<Value>& tensor, std::span<const FactorMatrix<Value>> factors,
            std::size_t mode, FactorMatrix<Value>& out, ThreadPool& pool,
            MttkrpFunction<Value> kernel) {
  TANDEM_CHECK_OP(mode, <, tensor.order());
  TANDEM_CHECK_OP(factors.size(), ==, tensor.order());
  TANDEM_CHECK_OP(out.rows, ==, tensor.sizes[mode]);
  const auto threads = static_cast<std::size_t>(pool.num_threads());
  std::vector<OwnRows<Value>> runs = runs_of(tensor, threads);
  const Job<Value> job{tensor, factors, mode, out.stride, kernel};
  if (threads == 1) {
    std::fill(out.values.begin(), out.values.end(), Value{});
    return add_run(job, runs[0], out.values.data());
  }
  pool.run(threads, [&](std::size_t at) {
    OwnRows<Value>& run = runs[at];
    find_rows(tensor, mode, run);
    run.values.assign((run.last - run.first) * out.stride, Value{});
    add_run(job, run, run.values.data());
  });
  const EqualParts parts{static_cast<std::size_t>(out.rows), threads};
  pool.run(threads, [&](std::size_t part) {
    if (parts.bound(part) < parts.bound(part + 1)) {
      add_up(runs, parts.bound(part), parts.bound(part + 1), out);
    }
  });
}

template void mttkrp(const BlockPartition<float>&, std::span<const FactorMatrix<float>>,
                     std::size_t, FactorMatrix<float>&, ThreadPool&, MttkrpFunction<float>);
template void mttkrp(const BlockPartition<double>&, std::span<const FactorMatrix<double>>,
                     std::size_t, FactorMatrix<double>&, ThreadPool&, MttkrpFunction<double>);

}  // namespace tandem::sparse
