// SPDX-License-Identifier: Apache-2.0
//
// The order of a copy between two streams, by events.
#include "cuda/group/peer_copy.h"

#include <algorithm>
#include <utility>

#include "cuda/compute/compute_unit.h"
#include "cuda/gpu/buffer.h"

namespace tandem::cuda {
namespace {

// Without it copies still work, by way of the host.
void enable_access(Gpu& from, Gpu& to) {
  int can = 0;
  from.activate();
  if (cudaDeviceCanAccessPeer(&can, from.index, to.index) != cudaSuccess || can == 0 ||
      cudaDeviceEnablePeerAccess(to.index, 0) != cudaSuccess) {
    cudaGetLastError();  // also where it was enabled before: what follows must not find it
  }
}

// Device memory of both by its GPUs; where a side is the host's memory, by its address alone.
cudaError_t copy_between(Gpu& source, const std::byte* sent, Gpu& target, std::byte* received,
                         std::size_t size_bytes) {
  const cudaStream_t stream = target.queue.stream().get();
  if (source.pinned_memory.holds(sent, size_bytes) ||
      target.pinned_memory.holds(received, size_bytes)) {
    return cudaMemcpyAsync(received, sent, size_bytes, cudaMemcpyDefault, stream);
  }
  return cudaMemcpyPeerAsync(received, target.index, sent, source.index, size_bytes, stream);
}

}  // namespace

std::vector<Gpu*> gpus_of(std::span<device::ComputeUnit* const> units) {
  std::vector<Gpu*> gpus;
  for (device::ComputeUnit* unit : units) {
    auto* mine = dynamic_cast<CudaComputeUnit*>(unit);
    if (mine == nullptr || std::ranges::find(gpus, &mine->gpu()) != gpus.end()) return {};
    gpus.push_back(&mine->gpu());
  }
  return gpus;
}

CudaPeerCopy::CudaPeerCopy(std::vector<Gpu*> gpus) : gpus_(std::move(gpus)) {
  for (Gpu* one : gpus_) {
    for (Gpu* other : gpus_) {
      if (one->index != other->index) enable_access(*one, *other);
    }
    one->activate();
    events_.push_back(std::make_unique<Event>());
  }
}

void CudaPeerCopy::order(int earlier, int later) {
  Event& passed = *events_[static_cast<std::size_t>(earlier)];
  const Stream& before = gpu(earlier).queue.stream();
  const Stream& behind = gpu(later).queue.stream();
  gpu(earlier).activate();
  gpu(earlier).health.check(passed.try_record(before), "recording an event for another GPU");
  gpu(later).activate();
  gpu(later).health.check(cudaStreamWaitEvent(behind.get(), passed.get(), 0),
                          "waiting for another GPU");
}

void CudaPeerCopy::copy(int from_unit, const device::Slice& from, int to_unit,
                        const device::Slice& to, std::size_t size_bytes) {
  if (size_bytes == 0) return;
  Gpu &source = gpu(from_unit), &target = gpu(to_unit);
  const std::byte* sent = bytes_of(source, from, size_bytes, "peer copy: from");
  std::byte* received = bytes_of(target, to, size_bytes, "peer copy: to");
  order(from_unit, to_unit);
  target.activate();
  target.health.check(copy_between(source, sent, target, received, size_bytes),
                      "copying between GPUs");
  order(to_unit, from_unit);  // the source may be overwritten only then
}

}  // namespace tandem::cuda
