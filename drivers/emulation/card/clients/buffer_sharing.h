// SPDX-License-Identifier: Apache-2.0
//
// Export handles of buffers and the leases other cards' clients take on them.
//
// A handle is one end of a socket pair; the card keeps the other end and holds the buffer until
// every copy of the handle is closed, in whatever process. See control_channel.h for what it
// answers. A lease holds the buffer until its socket closes. Threads: the card's main thread.
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

  // A new handle of the buffer at `address`; the caller's. Throws std::runtime_error.
  // `group`: what the exporter calls the buffer's memory group; importers are told.
  int export_buffer(uint64_t address, uint32_t group);
  // What is behind a handle of this card.
  struct Shared {
    uint64_t address = 0;
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
  std::map<ino_t, Export> exports_;  // by the handle's inode, which all its copies share
};

}  // namespace tandem::emulation
