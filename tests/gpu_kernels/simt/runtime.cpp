// SPDX-License-Identifier: Apache-2.0
//
// The CUDA runtime's devices and memory, on host memory, for kernels, the cuda backend and their
// tests (streams, events and graphs: streams.cpp).
//
// A call does its work at once (but see set_lazy), yet an event reports it only at the second
// query, so that waits and their deadlines are tested. Memory is limited; new memory holds a
// pattern that is no number. Pinned memory has one address, as with unified addressing. Threads:
// one.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "gpu_kernels/simt/faults.h"
#include "gpu_kernels/simt/stream.h"

namespace {

using tandem::simt::Call;
using tandem::simt::enter;
using tandem::simt::leave;

constexpr std::size_t kMemoryBytes = std::size_t{1} << 30;
constexpr std::size_t kMostPattern = std::size_t{1} << 20;  // of large blocks only the beginning
constexpr int kMaxDevices = 8;

struct Block {
  std::size_t bytes;
  int device;
};

int current_device = 0;
std::size_t taken[kMaxDevices] = {};
std::map<void*, Block> blocks;  // of device memory

// All memory that is taken. Who has lost a GPU never gives its memory back, on purpose. A search
// for leaks, which follows the destructors, finds it here.
struct Taken {
  std::mutex mutex;
  std::set<void*> blocks;
};
Taken& all_taken = *new Taken;

// Shared memory of a block, of an A100 or an H100.
int block_limit() { return (tandem::simt::faults().capability >= 90 ? 227 : 163) << 10; }

bool has_driver() { return tandem::simt::faults().driver_version >= CUDART_VERSION; }

// Aligned as the runtime's.
void* fresh(std::size_t bytes) {
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256;
  void* memory = std::aligned_alloc(256, rounded);
  if (memory == nullptr) return nullptr;
  std::memset(memory, 0xff, std::min(rounded, kMostPattern));
  const std::lock_guard lock(all_taken.mutex);
  all_taken.blocks.insert(memory);
  return memory;
}

void give_back(void* memory) {
  const std::lock_guard lock(all_taken.mutex);
  all_taken.blocks.erase(memory);
  std::free(memory);
}

// Whether an address is of a device's memory.
bool is_on(const void* at, int device) {
  const auto behind = blocks.upper_bound(const_cast<void*>(at));
  if (behind == blocks.begin()) return false;
  const auto& [memory, block] = *std::prev(behind);
  return block.device == device && at < static_cast<char*>(memory) + block.bytes;
}

}  // namespace

void tandem::simt::empty_device_memory() {
  std::fill(std::begin(taken), std::end(taken), 0);
  blocks.clear();
}

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (!has_driver()) return leave(cudaErrorInsufficientDriver);
  *count = tandem::simt::faults().num_devices;
  return *count > 0 ? cudaSuccess : leave(cudaErrorNoDevice);
}
cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= tandem::simt::faults().num_devices) {
    return leave(cudaErrorInvalidDevice);
  }
  current_device = device;
  return enter(Call::kOther);
}
cudaError_t cudaGetDevice(int* device) {
  *device = current_device;
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = tandem::simt::faults().driver_version;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      *value = tandem::simt::faults().capability / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = tandem::simt::faults().capability % 10;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = 4;
      break;
    case cudaDevAttrClockRate:
      *value = 1'000'000;
      break;
    case cudaDevAttrMemoryClockRate:
      *value = 1'000'000;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = 128;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = std::min(block_limit(), static_cast<int>(tandem::simt::faults().block_shared_bytes));
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      *value = std::min(block_limit(), static_cast<int>(tandem::simt::faults().block_shared_bytes));
      *value += 1024;
      break;
    default:
      *value = 1;
  }
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof(*properties));
  std::snprintf(properties->name, sizeof(properties->name), "SIMT interpreter");
  properties->totalGlobalMem = kMemoryBytes;
  return enter(Call::kOther);
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer;
  return enter(Call::kOther);
}
cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) { return enter(Call::kOther); }
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return enter(Call::kOther);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  attributes->ptxVersion = tandem::simt::faults().capability;
  return enter(Call::kOther);
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  *free_bytes = kMemoryBytes - taken[current_device];
  *total_bytes = kMemoryBytes;
  return enter(Call::kOther);
}
cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = nullptr;
  if (const cudaError_t error = enter(Call::kAllocate); error != cudaSuccess) return error;
  if (bytes <= kMemoryBytes - taken[current_device]) *memory = fresh(bytes);
  if (*memory == nullptr) return leave(cudaErrorMemoryAllocation);
  taken[current_device] += bytes;
  blocks[*memory] = {bytes, current_device};
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  tandem::simt::finish_all();
  if (const auto block = blocks.find(memory); block != blocks.end()) {
    taken[block->second.device] -= block->second.bytes;
    blocks.erase(block);
  }
  give_back(memory);
  return enter(Call::kOther);
}
// A handle is the address; processes that share are one.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  if (!blocks.contains(memory)) return leave(cudaErrorInvalidValue);
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle->reserved, &memory, sizeof(memory));
  return enter(Call::kOther);
}
cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  std::memcpy(memory, handle.reserved, sizeof(*memory));
  if (!blocks.contains(*memory)) return leave(cudaErrorInvalidValue);
  return enter(Call::kOther);
}
cudaError_t cudaIpcCloseMemHandle(void*) { return enter(Call::kOther); }
cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = nullptr;
  if (const cudaError_t error = enter(Call::kAllocate); error != cudaSuccess) return error;
  *memory = fresh(bytes);
  return *memory != nullptr ? cudaSuccess : leave(cudaErrorMemoryAllocation);
}
cudaError_t cudaFreeHost(void* memory) {
  tandem::simt::finish_all();
  give_back(memory);
  return enter(Call::kOther);
}
cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (const cudaError_t error = enter(Call::kWork); error != cudaSuccess) return error;
  if (tandem::simt::lost()) return cudaSuccess;
  return tandem::simt::on_legacy_stream([=] { std::memset(to, value, bytes); });
}
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (const cudaError_t error = enter(Call::kWork); error != cudaSuccess) return error;
  if (tandem::simt::lost()) return leave(cudaErrorLaunchFailure);
  if (kind == cudaMemcpyHostToDevice) {  // from pageable memory: what is read now arrives later
    const auto* first = static_cast<const char*>(from);
    return tandem::simt::on_legacy_stream([to, held = std::vector<char>(first, first + bytes)] {
      std::copy(held.begin(), held.end(), static_cast<char*>(to));
    });
  }
  tandem::simt::finish(nullptr);
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
// Device memory only: of other addresses it says nothing that could be relied on.
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                size_t bytes, cudaStream_t stream) {
  if (!is_on(to, to_device) || !is_on(from, from_device)) return leave(cudaErrorInvalidValue);
  return tandem::simt::on_stream(stream, [=] { std::memcpy(to, from, bytes); });
}

}  // extern "C"
