// SPDX-License-Identifier: Apache-2.0
//
// CardAddress: the address of a shared card, an abstract Unix socket. It makes no file, and the
// name is free again when the card has ended. Threads: any.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

namespace tandem::emulation {

class CardAddress {
 public:
  // Longer names are truncated; see kMaxScopeLength in the shim's settings.
  explicit CardAddress(const std::string& name) {
    address_.sun_family = AF_UNIX;
    const size_t length = std::min(name.size(), sizeof(address_.sun_path) - 1);
    std::memcpy(address_.sun_path + 1, name.data(), length);
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_{};
  socklen_t size_ = 0;
};

}  // namespace tandem::emulation
