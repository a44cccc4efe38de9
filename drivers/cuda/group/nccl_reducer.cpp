// SPDX-License-Identifier: Apache-2.0
//
// NcclReducer: one group of all-reduces per sum.
#include "cuda/group/nccl_reducer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/error.h"
#include "cuda/gpu/buffer.h"

namespace tandem::cuda {

NcclReducer::NcclReducer(std::vector<Gpu*> gpus, const NcclCalls& calls)
    : gpus_(std::move(gpus)), calls_(calls), comms_(gpus_.size()) {
  std::vector<int> indices;
  for (const Gpu* gpu : gpus_) indices.push_back(gpu->index);
  const int result =
      calls_.make_comms(comms_.data(), static_cast<int>(comms_.size()), indices.data());
  if (result == 0) return;
  throw Error("cuda", "NCCL cannot connect the GPUs: " + std::string(calls_.error_string(result)) +
                          "; use --split layers, or set NCCL_DEBUG=INFO to see why");
}

NcclReducer::~NcclReducer() {
  const bool healthy =
      std::ranges::none_of(gpus_, [](const Gpu* gpu) { return gpu->health.lost(); });
  for (NcclCalls::Comm comm : comms_) healthy ? calls_.destroy_comm(comm) : calls_.abort_comm(comm);
}

void NcclReducer::lose(const std::string& reason) {
  for (Gpu* gpu : gpus_) gpu->health.lose("a sum over several GPUs failed: " + reason);
  throw DeviceError("cuda", "a sum over several GPUs failed: " + reason);
}

void NcclReducer::all_reduce(std::span<const device::Slice> parts, std::size_t count) {
  TANDEM_CHECK_OP(parts.size(), ==, gpus_.size());
  if (parts.size() < 2 || count == 0) return;
  std::vector<float*> values;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    values.push_back(floats_of(*gpus_[i], parts[i], count, "sum: a part"));
    if (const int state = calls_.async_error(comms_[i]); state != 0) {
      lose(calls_.error_string(state));
    }
    gpus_[i]->queue.flush();  // all launches before the group, which may wait for them
  }
  int result = calls_.begin_group();
  for (std::size_t i = 0; result == 0 && i < parts.size(); ++i) {
    result = calls_.add_up(values[i], count, comms_[i], gpus_[i]->queue.stream().get());
  }
  const int ended = calls_.end_group();
  if (result != 0 || ended != 0) lose(calls_.error_string(result != 0 ? result : ended));
}

}  // namespace tandem::cuda
