// SPDX-License-Identifier: Apache-2.0
//
// Export handles of buffers, and the leases that clients of other cards take on them.
//
// A handle is one end of a socket pair. The card keeps the other end, and holds the buffer until
// every copy of the handle is closed, in all processes. control_channel.h lists the requests of a
// handle. A lease holds the buffer until its socket closes. Threads: the card's main thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>

#include "emulation/card/clients/event_loop.h"
#include "emulation/card/memory/device_space.h"

namespace tandem::emulation {

class BufferSharing {
 public:
  BufferSharing(EventLoop& loop, DeviceSpace& space) : loop_(loop), space_(space) {}

  // Returns a new handle of the buffer at `address`, which the caller owns. Throws
  // std::runtime_error. Importers get `size_bytes`, which may be less than was allocated, and
  // `group`: the buffer's memory group in the exporter's numbering.
  int export_buffer(uint64_t address, uint64_t size_bytes, uint32_t group);
  // The buffer of a handle of this card.
  struct Shared {
    uint64_t address = 0;
    uint64_t size_bytes = 0;
    uint32_t group = 0;
  };
  std::optional<Shared> find(int handle) const;

 private:
  struct Export {
    Shared buffer;
    int own_end = -1;
  };
  void answer(ino_t handle);
  void lease(const Shared& buffer, int socket);
  void end_lease(int socket, uint64_t address);

  EventLoop& loop_;
  DeviceSpace& space_;
  std::map<ino_t, Export> exports_;  // by the handle's inode, which its copies share
};

}  // namespace tandem::emulation
