// SPDX-License-Identifier: Apache-2.0
//
// ServiceState: tells the service manager that started this process (systemd's Type=notify) when it
// is ready, reloads and stops. Without a service manager it does nothing. A lost message is not an
// error.
//
// Threads: one. Source: man 3 sd_notify, "Notes": a datagram with lines NAME=VALUE to the Unix
// socket that NOTIFY_SOCKET names; "@" begins an abstract name.
#pragma once

#include <string>
#include <string_view>

namespace tandem::apps {

class ServiceState {
 public:
  // Reads NOTIFY_SOCKET and removes it from the environment, so that child processes do not use it.
  ServiceState();
  explicit ServiceState(std::string socket) : socket_(std::move(socket)) {}

  void ready(const std::string& status) const;
  void reloading() const;  // reports a reload, which lasts until the next ready()
  void stopping() const;
  void status(const std::string& text) const;

 private:
  void send(const std::string& lines) const;

  std::string socket_;  // empty: none
};

}  // namespace tandem::apps
