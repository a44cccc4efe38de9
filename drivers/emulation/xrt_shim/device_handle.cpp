// SPDX-License-Identifier: Apache-2.0
//
// Buffers by id, and the list of open handles, by which calls with a closed handle are refused.
#include "emulation/xrt_shim/device_handle.h"

#include <sys/mman.h>
#include <xrt.h>
#include <xrt_mem.h>
#include <atomic>

#include <set>
namespace tandem::emulation {
namespace {

struct OpenHandles {
  std::mutex mutex;
  std::set<DeviceHandle*> handles;
};

std::atomic<uint32_t> num_handles{0};

// Never destroyed: applications close devices during static destruction.
OpenHandles& open_handles() {
  static auto& instance = *new OpenHandles;
  return instance;
}

BufferKind kind_of(uint32_t flags) {
  if (flags & XCL_BO_FLAGS_EXECBUF) return BufferKind::kCommand;
  if (flags & (XCL_BO_FLAGS_P2P | XCL_BO_FLAGS_HOST_ONLY | XCL_BO_FLAGS_SVM))
    return BufferKind::kMapped;
  if (flags & XCL_BO_FLAGS_DEV_ONLY) return BufferKind::kDeviceOnly;
  return BufferKind::kMirrored;
}

}  // namespace

DeviceHandle* DeviceHandle::open(uint32_t index) {
  auto* handle = new DeviceHandle(Card::open(index));
  num_handles.fetch_add(1);
  std::lock_guard lock(open_handles().mutex);
  open_handles().handles.insert(handle);
  return handle;
}

bool DeviceHandle::any() { return num_handles.load() != 0; }

DeviceHandle* DeviceHandle::check(void* raw) {
  auto* handle = static_cast<DeviceHandle*>(raw);
  std::lock_guard lock(open_handles().mutex);
  return open_handles().handles.count(handle) > 0 ? handle : nullptr;
}

std::shared_ptr<Card> DeviceHandle::card_of(void* raw) {
  auto* handle = static_cast<DeviceHandle*>(raw);
  std::lock_guard lock(open_handles().mutex);
  return open_handles().handles.count(handle) > 0 ? handle->card_ : nullptr;
}

DeviceHandle* DeviceHandle::find_core(const void* device) {
  std::lock_guard lock(open_handles().mutex);
  for (DeviceHandle* handle : open_handles().handles) {
    if (handle->core_device.get() == device) return handle;
  }
  return nullptr;
}

void DeviceHandle::close(DeviceHandle* handle) {
  {
    std::lock_guard lock(open_handles().mutex);
    if (open_handles().handles.erase(handle) == 0) return;
  }
  delete handle;
  num_handles.fetch_sub(1);
}

DeviceHandle::~DeviceHandle() {
  card_->close_contexts(this);
  for (auto& [id, buffer] : buffers_) free_buffer(buffer);
  card_->handle_closed();
}

uint32_t DeviceHandle::insert(Buffer buffer) {
  std::lock_guard lock(mutex_);
  while (next_id_ == 0 || next_id_ == XRT_NULL_BO || buffers_.count(next_id_) > 0) ++next_id_;
  buffers_.emplace(next_id_, std::move(buffer));
  return next_id_++;
}

uint32_t DeviceHandle::allocate(uint64_t size_bytes, uint32_t flags, void* user_memory) {
  Buffer buffer;
  buffer.kind = kind_of(flags);
  buffer.flags = flags;
  buffer.size_bytes = size_bytes;
  if (buffer.kind == BufferKind::kCommand) {
    const auto offset = card_->packet_memory().allocate(size_bytes);
    if (!offset) return XRT_NULL_BO;
    buffer.packet_offset = *offset;
  } else {
    buffer.memory = Allocation::make(card_, size_bytes, flags & XRT_BO_FLAGS_MEMIDX_MASK);
    if (buffer.memory == nullptr) return XRT_NULL_BO;
    buffer.host = static_cast<std::byte*>(user_memory);
    if (BufferChecks* const checks = card_->buffer_checks()) {
      const uint64_t address = buffer.memory->address();
      const bool mirrored = buffer.kind != BufferKind::kMapped;
      checks->made(address, size_bytes, flags & XRT_BO_FLAGS_MEMIDX_MASK, mirrored);
      if (user_memory != nullptr) checks->mapped(address, buffer.host, false);
    }
  }
  return insert(std::move(buffer));
}

uint32_t DeviceHandle::adopt(std::shared_ptr<Allocation> memory, uint32_t flags) {
  Buffer buffer;
  buffer.kind = BufferKind::kMapped;
  buffer.flags = flags;
  buffer.size_bytes = memory->size_bytes();
  buffer.memory = std::move(memory);
  return insert(std::move(buffer));
}

void DeviceHandle::free_buffer(Buffer& buffer) {
  if (buffer.kind == BufferKind::kCommand) {
    card_->packet_memory().release(buffer.packet_offset, buffer.size_bytes);
  }
  BufferChecks* const checks = card_->buffer_checks();
  if (checks != nullptr && buffer.host != nullptr) checks->unmapped(buffer.memory->address());
  if (buffer.owns_host) munmap(buffer.host, buffer.size_bytes);
}

void DeviceHandle::release(uint32_t id) {
  Buffer buffer;
  {
    std::lock_guard lock(mutex_);
    const auto found = buffers_.find(id);
    if (found == buffers_.end()) return;
    buffer = std::move(found->second);
    buffers_.erase(found);
  }
  free_buffer(buffer);
}

bool DeviceHandle::find(uint32_t id, Buffer& buffer) const {
  std::lock_guard lock(mutex_);
  const auto found = buffers_.find(id);
  if (found == buffers_.end()) return false;
  buffer = found->second;
  return true;
}

void* DeviceHandle::map(uint32_t id) {
  std::lock_guard lock(mutex_);
  const auto found = buffers_.find(id);
  if (found == buffers_.end()) return nullptr;
  Buffer& buffer = found->second;
  switch (buffer.kind) {
    case BufferKind::kCommand:
      return card_->packet_data() + buffer.packet_offset;
    case BufferKind::kMapped:
      return buffer.memory->data();
    case BufferKind::kDeviceOnly:
      return nullptr;
    case BufferKind::kMirrored:
      break;
  }
  if (buffer.host == nullptr) {
    void* host = mmap(nullptr, buffer.size_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (host == MAP_FAILED) return nullptr;
    buffer.host = static_cast<std::byte*>(host);
    buffer.owns_host = true;
    if (BufferChecks* const checks = card_->buffer_checks()) {
      checks->mapped(buffer.memory->address(), buffer.host, true);
    }
  }
  return buffer.host;
}

}  // namespace tandem::emulation
