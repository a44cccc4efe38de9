// SPDX-License-Identifier: Apache-2.0
//
// Handles and leases are sockets, so the system reports when their last holder closes them or ends.
#include "emulation/card/clients/buffer_sharing.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "emulation/protocol/control_channel.h"

namespace tandem::emulation {

int BufferSharing::export_buffer(uint64_t address, uint64_t size_bytes, uint32_t group) {
  if (size_bytes > space_.size_of(address)) throw std::runtime_error("no such buffer");
  int ends[2];
  struct stat status {};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0 ||
      fstat(ends[1], &status) != 0) {
    throw std::runtime_error("cannot make an export handle: too many are open");
  }
  const ino_t handle = status.st_ino;
  try {
    loop_.add(ends[0], [this, handle] { answer(handle); });
  } catch (...) {
    close(ends[0]);
    close(ends[1]);
    throw;
  }
  exports_[handle] = {{address, size_bytes, group}, ends[0]};
  space_.hold(address);
  return ends[1];
}

std::optional<BufferSharing::Shared> BufferSharing::find(int handle) const {
  struct stat status {};
  if (fstat(handle, &status) != 0 || !S_ISSOCK(status.st_mode)) return std::nullopt;
  const auto found = exports_.find(status.st_ino);
  if (found == exports_.end()) return std::nullopt;
  return found->second.buffer;
}

void BufferSharing::answer(ino_t handle) {
  const Export item = exports_.at(handle);
  Message request;
  if (!receive_message(item.own_end, request)) {
    loop_.remove(item.own_end);
    close(item.own_end);
    exports_.erase(handle);
    space_.release(item.buffer.address);
    return;
  }
  if (request.text == "lease" && request.descriptors.size() == 1) {
    lease(item.buffer, request.descriptors[0]);
  } else {
    close_descriptors(request.descriptors);
  }
}

void BufferSharing::lease(const Shared& buffer, int socket) {
  const uint64_t address = buffer.address;
  const auto [memory, offset] = space_.backing(address);
  const std::string text = "ok " + std::to_string(offset) + " " +
                           std::to_string(buffer.size_bytes) + " " + std::to_string(buffer.group);
  if (!send_message(socket, text, {memory})) {
    close(socket);
    return;
  }
  try {
    loop_.add(socket, [this, socket, address] { end_lease(socket, address); });
  } catch (...) {
    close(socket);
    throw;
  }
  space_.hold(address);
}

void BufferSharing::end_lease(int socket, uint64_t address) {
  loop_.remove(socket);
  close(socket);
  space_.release(address);
}

}  // namespace tandem::emulation
