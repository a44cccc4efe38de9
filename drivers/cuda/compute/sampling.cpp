// SPDX-License-Identifier: Apache-2.0
//
// Checks a SampleOp, and finds the work that its rows need.
#include "cuda/compute/sampling.h"

#include <algorithm>

#include "common/error.h"
#include "cuda/gpu/buffer.h"
#include "cuda/runtime/handles.h"
#include "sampling/sample_rows.h"

namespace tandem::cuda {

using gpu_kernels::SampleParameters;
using gpu_kernels::SampleWork;

namespace {

constexpr std::size_t kCounterBytes = gpu_kernels::kSampleRowsAtOnce * sizeof(std::uint32_t);

void check_row(const device::SampleRow& row) {
  if (!(row.temperature >= 0) || row.top_k < 0 || !(row.top_p > 0) ||
      !(row.uniform >= 0 && row.uniform < 1)) {
    throw Error("cuda",
                "sample: a temperature or top_k below 0, a top_p of 0 or less, or a uniform "
                "outside [0, 1)");
  }
}

SampleWork work_of(const device::SampleRow& row) {
  if (row.temperature == 0) return SampleWork::kGreedy;
  return row.top_k > 0 || row.top_p < 1 ? SampleWork::kCuts : SampleWork::kDraws;
}

}  // namespace

Sampling::Sampling(Gpu& gpu)
    : gpu_(gpu),
      queue_(gpu.queue),
      counters_(gpu.device_memory, kCounterBytes, Purpose::kWorkspace) {
  gpu.health.check(cudaMemsetAsync(counters_.data(), 0, kCounterBytes, gpu.queue.stream().get()),
                   "zeroing what sampling counts in");
}

void Sampling::run(const device::SampleOp& op) {
  const std::size_t rows = op.rows.size();
  const std::size_t vocab = count_of(op.vocab, "sample: vocab");
  if (vocab == 0 || vocab > gpu_kernels::kMaxVocab) {
    throw Error("cuda", "sample: a vocabulary of " + std::to_string(vocab) +
                            "; this unit takes 1 to " + std::to_string(gpu_kernels::kMaxVocab) +
                            " tokens");
  }
  SampleWork work = SampleWork::kGreedy;
  for (const device::SampleRow& row : op.rows) {
    check_row(row);
    work = std::max(work, work_of(row));
  }
  const float* logits = floats_of(gpu_, op.logits, rows * vocab, "sample: logits");
  auto* out = reinterpret_cast<std::int32_t*>(
      bytes_of(gpu_, op.out, rows * sizeof(std::int32_t), "sample: out"));
  if (rows == 0) return;
  const auto count = static_cast<std::int64_t>(rows);
  const int parts =
      gpu_kernels::sample_parts(count, static_cast<int>(vocab), gpu_.traits.num_processors);
  queue_.begin(rows * sizeof(SampleParameters), 1,
               gpu_kernels::sample_workspace_bytes(count, parts));
  const Queue::StagedRoom room = queue_.stage_room(rows * sizeof(SampleParameters));
  auto* parameters = reinterpret_cast<SampleParameters*>(room.host);
  for (const device::SampleRow& row : op.rows) {
    *parameters++ = {row.temperature, row.top_k, row.top_p, row.uniform};
  }
  auto& job = queue_.add<gpu_kernels::sample_rows>("choosing tokens");
  job.rows = count;
  job.vocab = static_cast<int>(vocab);
  job.logits = logits;
  job.parameters = reinterpret_cast<const SampleParameters*>(room.device);
  job.tokens = out;
  job.work = work;
  job.parts = parts;
  job.workspace = queue_.scratch();
  job.counters = counters_.as<std::uint32_t>();
}

}  // namespace tandem::cuda
