// SPDX-License-Identifier: Apache-2.0
//
// DeviceHandle: the object behind an xclDeviceHandle: a card, and the buffers that this handle
// made.
//
// xclOpen makes one handle per call; handles of one card share its memory and its bitstream. A
// buffer's device memory is an Allocation, shared with its importers. Host copies are separate
// memory: without a sync neither side sees the other's writes, as on a real card. Threads: any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "emulation/xrt_shim/card/allocation.h"
#include "emulation/xrt_shim/card/card.h"

namespace xrt_core {
class device;
}

namespace tandem::emulation {

enum class BufferKind {
  kMirrored,    // device memory and a separate host copy, updated by sync
  kDeviceOnly,  // no host copy
  kMapped,      // the host maps the device memory itself (peer-to-peer, host-only, imported)
  kCommand      // a command packet
};

struct Buffer {
  BufferKind kind = BufferKind::kMirrored;
  uint32_t flags = 0;
  uint64_t size_bytes = 0;
  std::shared_ptr<Allocation> memory;  // all but kCommand
  uint64_t packet_offset = 0;          // kCommand
  std::byte* host = nullptr;           // kMirrored, once mapped or given by the user
  bool owns_host = false;
};

class DeviceHandle {
 public:
  // Throws std::exception when the card cannot be started.
  static DeviceHandle* open(uint32_t index);
  // The handle of `raw` when it is open, else nullptr.
  static DeviceHandle* check(void* raw);
  // The card of the handle `raw` when that is open, else null; the card stays open with the result.
  static std::shared_ptr<Card> card_of(void* raw);
  // The open handle whose core_device is at `device`, else nullptr.
  static DeviceHandle* find_core(const void* device);
  // Whether a handle is open or is being closed.
  static bool any();
  // Removes the handle from the list of open ones and destroys it.
  static void close(DeviceHandle* handle);

  const std::shared_ptr<Card>& card() const { return card_; }

  // XRT_NULL_BO when there is no memory. `user_memory`: the caller's host copy, or nullptr.
  uint32_t allocate(uint64_t size_bytes, uint32_t flags, void* user_memory);
  uint32_t adopt(std::shared_ptr<Allocation> memory, uint32_t flags);
  void release(uint32_t id);
  // A copy of the buffer's description; false when there is no such buffer.
  bool find(uint32_t id, Buffer& buffer) const;
  // Host address of the buffer, made at the first call; nullptr when it cannot be mapped.
  void* map(uint32_t id);

  // XRT's object for this device, kept alive while the handle is open.
  std::shared_ptr<xrt_core::device> core_device;

 private:
  explicit DeviceHandle(std::shared_ptr<Card> card) : card_(std::move(card)) {}
  ~DeviceHandle();
  uint32_t insert(Buffer buffer);
  void free_buffer(Buffer& buffer);

  std::shared_ptr<Card> card_;
  mutable std::mutex mutex_;
  std::unordered_map<uint32_t, Buffer> buffers_;
  uint32_t next_id_ = 1;
};

}  // namespace tandem::emulation
