// SPDX-License-Identifier: Apache-2.0
//
// Device memory that another process of this machine can use: KV pages between daemons, weights
// loaded once.
//
// The process that has the memory exports it as a handle of plain bytes, carried by whatever the
// caller has; the other opens it and reads or writes the same memory, also from another GPU that
// reaches it. What both do at the same time, the callers put in order. Ownership: an ExportedMemory
// must outlive every ImportedMemory of its handle: where it does not, what the importer sees is
// undefined. Threads: one each. Errors: DeviceError where there is no memory, or the driver shares
// none (handles of one process cannot be opened in it; containers need a common IPC namespace).
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
  // An allocation of its own: a handle stands for all of one.
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
  // gpu: the one that will use it.
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
