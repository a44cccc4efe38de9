// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API: buffers, their host copies, synchronisation, copies and sharing.
//
// sync copies between the host copy and device memory. On a failed card it is an error, since
// device memory does not hold the kernels' results.
#include <experimental/xrt-next.h>
#include <unistd.h>
#include <xrt.h>
#include <xrt_mem.h>

#include <cerrno>
#include <cstring>

#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/faults/card_faults.h"
#include "emulation/xrt_shim/opencl/opencl_events.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/traffic.h"
#include "emulation/xrt_shim/xrt_internal.h"

namespace {

using tandem::emulation::Allocation;
using tandem::emulation::Buffer;
using tandem::emulation::BufferChecks;
using tandem::emulation::BufferKind;
using tandem::emulation::DeviceHandle;
using tandem::emulation::LinkDirection;
using tandem::emulation::transfer;

bool inside(const Buffer& buffer, size_t size, size_t offset) {
  return offset <= buffer.size_bytes && size <= buffer.size_bytes - offset;
}

// The buffer `id` with device memory, or an errno value (negative).
int device_buffer(DeviceHandle* handle, unsigned int id, Buffer& buffer) {
  if (handle == nullptr) return -ENODEV;
  if (!handle->find(id, buffer) || buffer.memory == nullptr) return -EINVAL;
  return handle->card()->failed() ? -EIO : 0;
}

// An error, but not for libxilinxopencl, which would end the process. That library learns of the
// failure by the kernel's event, and reads bytes that no kernel wrote.
int sync_of_failed_card(DeviceHandle& handle, unsigned int id, xclBOSyncDirection direction,
                        size_t size, size_t offset) {
  Buffer buffer;
  if (!tandem::emulation::opencl_kernels_started() || !handle.find(id, buffer)) return -EIO;
  if (!inside(buffer, size, offset)) return -EINVAL;
  if (direction == XCL_BO_SYNC_BO_FROM_DEVICE && buffer.kind == BufferKind::kMirrored) {
    auto* host = static_cast<std::byte*>(handle.map(id));
    if (host != nullptr) tandem::emulation::fill_with_lost_data(host + offset, size);
  }
  return 0;
}

void note_written(DeviceHandle& handle, uint64_t address, uint64_t size_bytes) {
  if (BufferChecks* const checks = handle.card()->buffer_checks()) {
    checks->written(address, size_bytes);
  }
}

using tandem::emulation::kTrafficHost;
using tandem::emulation::trace_copy;

int home_of(const Buffer& buffer) { return static_cast<int>(buffer.memory->home()); }

void count(std::atomic<uint64_t>& counter, size_t bytes) {
  counter.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace

xclBufferHandle xclAllocBO(xclDeviceHandle raw, size_t size, int, unsigned int flags) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  return handle == nullptr ? XRT_NULL_BO : handle->allocate(size, flags, nullptr);
}

xclBufferHandle xclAllocUserPtrBO(xclDeviceHandle raw, void* user_memory, size_t size,
                                  unsigned int flags) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || user_memory == nullptr) return XRT_NULL_BO;
  if (reinterpret_cast<uintptr_t>(user_memory) % tandem::emulation::kAllocationGranule != 0) {
    tandem::emulation::report_error(
        "a buffer's user memory must begin at a multiple of 4096, as posix_memalign() gives it");
    return XRT_NULL_BO;
  }
  return handle->allocate(size, flags, user_memory);
}

void xclFreeBO(xclDeviceHandle raw, xclBufferHandle id) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle != nullptr) handle->release(id);
}

void* xclMapBO(xclDeviceHandle raw, xclBufferHandle id, bool) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  return handle == nullptr ? nullptr : handle->map(id);
}

int xclUnmapBO(xclDeviceHandle raw, xclBufferHandle id, void*) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer buffer;
  return handle != nullptr && handle->find(id, buffer) ? 0 : -EINVAL;  // the buffer's end unmaps it
}

int xclGetBOProperties(xclDeviceHandle raw, xclBufferHandle id, xclBOProperties* properties) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer buffer;
  if (handle == nullptr || properties == nullptr || !handle->find(id, buffer)) return -EINVAL;
  std::memset(properties, 0, sizeof(*properties));
  properties->handle = id;
  properties->flags = buffer.flags;
  properties->size = buffer.size_bytes;
  properties->paddr = buffer.memory == nullptr ? buffer.packet_offset : buffer.memory->address();
  return 0;
}

int xclSyncBO(xclDeviceHandle raw, xclBufferHandle id, xclBOSyncDirection direction, size_t size,
              size_t offset) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer buffer;
  if (const int code = device_buffer(handle, id, buffer)) {
    return code == -EIO ? sync_of_failed_card(*handle, id, direction, size, offset) : code;
  }
  if (!inside(buffer, size, offset)) return -EINVAL;
  if (buffer.kind == BufferKind::kMapped) return 0;
  if (buffer.kind != BufferKind::kMirrored || handle->map(id) == nullptr) return -EINVAL;
  auto* host = static_cast<std::byte*>(handle->map(id)) + offset;
  std::byte* device = buffer.memory->data() + offset;
  BufferChecks* const checks = handle->card()->buffer_checks();
  const uint64_t address = buffer.memory->address();
  const bool to_device = direction == XCL_BO_SYNC_BO_TO_DEVICE;
  if (!to_device && direction != XCL_BO_SYNC_BO_FROM_DEVICE) return -EINVAL;
  if (checks != nullptr) checks->syncing(address, address + offset, size);
  int error = 0;
  if (to_device) {
    error =
        transfer(*handle->card(), {device, host, size, address + offset, LinkDirection::kToDevice});
    count(handle->card()->shared().bytes_to_device, size);
  } else {
    error = transfer(*handle->card(),
                     {host, device, size, address + offset, LinkDirection::kFromDevice});
    count(handle->card()->shared().bytes_from_device, size);
  }
  if (error != 0) {
    if (checks != nullptr) checks->sync_failed(address, address + offset, size);
    return -error;
  }
  if (to_device) {
    trace_copy(kTrafficHost, home_of(buffer), size);
  } else {
    trace_copy(home_of(buffer), kTrafficHost, size);
  }
  if (checks != nullptr) checks->synced(address, address + offset, size, to_device);
  return 0;
}

int xclCopyBO(xclDeviceHandle raw, xclBufferHandle destination, xclBufferHandle source, size_t size,
              size_t destination_offset, size_t source_offset) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer to, from;
  if (const int code = device_buffer(handle, destination, to)) {
    return code == -EIO && tandem::emulation::opencl_kernels_started() ? 0 : code;
  }
  if (const int code = device_buffer(handle, source, from)) return code;
  if (!inside(to, size, destination_offset) || !inside(from, size, source_offset)) return -EINVAL;
  std::memmove(to.memory->data() + destination_offset, from.memory->data() + source_offset, size);
  if (BufferChecks* const checks = handle->card()->buffer_checks()) {
    checks->copied(to.memory->address() + destination_offset,
                   from.memory->address() + source_offset, size);
  }
  trace_copy(home_of(from), home_of(to), size);
  return 0;
}

size_t xclWriteBO(xclDeviceHandle raw, xclBufferHandle id, const void* source, size_t size,
                  size_t offset) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer buffer;
  if (const int code = device_buffer(handle, id, buffer)) return static_cast<size_t>(code);
  if (!inside(buffer, size, offset)) return static_cast<size_t>(-EINVAL);
  const uint64_t address = buffer.memory->address() + offset;
  const int error = transfer(
      *handle->card(), {buffer.memory->data() + offset, static_cast<const std::byte*>(source), size,
                        address, LinkDirection::kToDevice});
  if (error != 0) return static_cast<size_t>(-error);
  note_written(*handle, address, size);
  trace_copy(kTrafficHost, home_of(buffer), size);
  return 0;
}

size_t xclReadBO(xclDeviceHandle raw, xclBufferHandle id, void* destination, size_t size,
                 size_t offset) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer buffer;
  if (const int code = device_buffer(handle, id, buffer)) return static_cast<size_t>(code);
  if (!inside(buffer, size, offset)) return static_cast<size_t>(-EINVAL);
  const uint64_t address = buffer.memory->address() + offset;
  const int error = transfer(
      *handle->card(), {static_cast<std::byte*>(destination), buffer.memory->data() + offset, size,
                        address, LinkDirection::kFromDevice});
  if (error == 0) trace_copy(home_of(buffer), kTrafficHost, size);
  return static_cast<size_t>(-error);
}

xclBufferExportHandle xclExportBO(xclDeviceHandle raw, xclBufferHandle id) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  Buffer buffer;
  if (device_buffer(handle, id, buffer) != 0) return XRT_NULL_BO_EXPORT;
  return buffer.memory->export_handle();
}

xclBufferHandle xclImportBO(xclDeviceHandle raw, xclBufferExportHandle exported, unsigned int) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr) return XRT_NULL_BO;
  auto memory = Allocation::import(handle->card(), exported);
  if (memory == nullptr) return XRT_NULL_BO;
  const uint32_t group = memory->group();
  return handle->adopt(std::move(memory), group);
}

int xclCloseExportHandle(xclBufferExportHandle exported) {
  return close(exported) == 0 ? 0 : -EINVAL;
}

ssize_t xclUnmgdPread(xclDeviceHandle raw, unsigned int, void* destination, size_t size,
                      uint64_t offset) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr) return -ENODEV;
  const uint64_t end = handle->card()->platform().memory_end();
  if (offset > end || size > end - offset) return -EINVAL;
  std::memcpy(destination, handle->card()->device_data() + offset, size);
  trace_copy(static_cast<int>(handle->card()->index()), kTrafficHost, size);
  return 0;
}

ssize_t xclUnmgdPwrite(xclDeviceHandle raw, unsigned int, const void* source, size_t size,
                       uint64_t offset) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr) return -ENODEV;
  const uint64_t end = handle->card()->platform().memory_end();
  if (offset > end || size > end - offset) return -EINVAL;
  std::memcpy(handle->card()->device_data() + offset, source, size);
  note_written(*handle, offset, size);
  trace_copy(kTrafficHost, static_cast<int>(handle->card()->index()), size);
  return 0;
}
