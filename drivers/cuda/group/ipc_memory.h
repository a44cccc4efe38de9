// SPDX-License-Identifier: Apache-2.0
//
// Device memory shared between processes of one machine: KV pages of several daemons, weights
// loaded once.
//
// One process exports its memory as a handle of plain bytes; the caller carries the handle to
// another process, which opens it and reads and writes the same memory, also from another GPU with
// peer access. The callers order concurrent accesses. Ownership: an ExportedMemory must outlive
// every ImportedMemory of its handle; otherwise the importer's reads are undefined. Threads: one
// each. Errors: DeviceError if there is no memory, or if the driver shares none (a process cannot
// open its own handles; containers need a common IPC namespace).
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>

#include "cuda/gpu/gpu.h"

namespace tandem::cuda {

struct IpcHandle {
  std::array<std::byte, sizeof(cudaIpcMemHandle_t)> bytes{};
  std::size_t size_bytes = 0;
};

class ExportedMemory {
 public:
  // A separate allocation, because a handle exports a whole allocation.
  ExportedMemory(Gpu& gpu, std::size_t size_bytes);
  ~ExportedMemory();
  ExportedMemory(const ExportedMemory&) = delete;
  ExportedMemory& operator=(const ExportedMemory&) = delete;

  std::byte* data() const { return data_; }
  IpcHandle handle() const;

 private:
  Gpu& gpu_;
  const std::size_t size_bytes_;
  std::byte* data_ = nullptr;
};

class ImportedMemory {
 public:
  // gpu: the GPU that will use the memory.
  ImportedMemory(Gpu& gpu, const IpcHandle& handle);
  ~ImportedMemory();
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size_bytes() const { return size_bytes_; }

 private:
  Gpu& gpu_;
  const std::size_t size_bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace tandem::cuda
