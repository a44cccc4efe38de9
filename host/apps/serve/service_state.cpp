// SPDX-License-Identifier: Apache-2.0
//
// One datagram per message.
#include "apps/serve/service_state.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace tandem::apps {
namespace {

constexpr const char* kVariable = "NOTIFY_SOCKET";

// In microseconds of the clock that systemd compares with.
std::string now_us() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::to_string(static_cast<long long>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000);
}

}  // namespace

ServiceState::ServiceState() {
  if (const char* socket = std::getenv(kVariable)) socket_ = socket;
  unsetenv(kVariable);
}

void ServiceState::ready(const std::string& status) const { send("READY=1\nSTATUS=" + status); }

void ServiceState::reloading() const { send("RELOADING=1\nMONOTONIC_USEC=" + now_us()); }

void ServiceState::stopping() const { send("STOPPING=1\nSTATUS=draining"); }

void ServiceState::status(const std::string& text) const { send("STATUS=" + text); }

void ServiceState::send(const std::string& lines) const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket_.size() < 2 || socket_.size() > sizeof address.sun_path - 1) return;
  std::memcpy(address.sun_path, socket_.data(), socket_.size());
  if (socket_.front() == '@') address.sun_path[0] = 0;
  const int sender = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (sender < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  (void)::sendto(sender, lines.data(), lines.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                 reinterpret_cast<const sockaddr*>(&address), length);
  ::close(sender);
}

}  // namespace tandem::apps
