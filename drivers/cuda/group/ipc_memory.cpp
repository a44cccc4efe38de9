// SPDX-License-Identifier: Apache-2.0
//
// CUDA IPC handles with owners.
#include "cuda/group/ipc_memory.h"

#include <cstring>

#include "cuda/runtime/handles.h"

namespace tandem::cuda {

ExportedMemory::ExportedMemory(Gpu& gpu, std::size_t size_bytes)
    : gpu_(gpu), size_bytes_(size_bytes) {
  gpu_.health.require();
  gpu_.activate();
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, size_bytes);
  if (error != cudaSuccess) cudaGetLastError();  // full memory is no loss of the GPU
  check(error, "taking device memory for another process");
  data_ = static_cast<std::byte*>(memory);
}

ExportedMemory::~ExportedMemory() {
  if (!gpu_.health.lost()) cudaFree(data_);
}

IpcHandle ExportedMemory::handle() const {
  cudaIpcMemHandle_t handle;
  const cudaError_t error = cudaIpcGetMemHandle(&handle, data_);
  if (error != cudaSuccess) cudaGetLastError();
  check(error, "exporting device memory to another process");
  IpcHandle result;
  std::memcpy(result.bytes.data(), &handle, sizeof(handle));
  result.size_bytes = size_bytes_;
  return result;
}

ImportedMemory::ImportedMemory(Gpu& gpu, const IpcHandle& handle)
    : gpu_(gpu), size_bytes_(handle.size_bytes) {
  gpu_.health.require();
  gpu_.activate();
  cudaIpcMemHandle_t raw;
  std::memcpy(&raw, handle.bytes.data(), sizeof(raw));
  void* memory = nullptr;
  const cudaError_t error = cudaIpcOpenMemHandle(&memory, raw, cudaIpcMemLazyEnablePeerAccess);
  if (error != cudaSuccess) cudaGetLastError();
  check(error, "opening another process's device memory");
  data_ = static_cast<std::byte*>(memory);
}

ImportedMemory::~ImportedMemory() {
  if (!gpu_.health.lost()) cudaIpcCloseMemHandle(data_);
}

}  // namespace tandem::cuda
