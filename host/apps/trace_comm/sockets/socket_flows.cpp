// SPDX-License-Identifier: Apache-2.0
//
// Addresses of IPv4 in IPv6 become those of IPv4, as both ends must be told alike.
#include "apps/trace_comm/sockets/socket_flows.h"

#include <arpa/inet.h>
#include <link.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "common/number.h"
#include "trace/communication/launcher_rank.h"
#include "trace/communication/process_recorder.h"
#include "trace/communication/recorder.h"
#include "trace/communication/trace_variables.h"

namespace tandem::apps {
namespace {

std::string end_text(const sockaddr_storage& storage) {
  char text[INET6_ADDRSTRLEN] = "";
  int port = 0;
  if (storage.ss_family == AF_INET) {
    const auto& address = reinterpret_cast<const sockaddr_in&>(storage);
    inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
    port = ntohs(address.sin_port);
  } else {
    const auto& address = reinterpret_cast<const sockaddr_in6&>(storage);
    const bool is_mapped = IN6_IS_ADDR_V4MAPPED(&address.sin6_addr);
    inet_ntop(
        is_mapped ? AF_INET : AF_INET6,
        is_mapped ? static_cast<const void*>(address.sin6_addr.s6_addr + 12) : &address.sin6_addr,
        text, sizeof text);
    port = ntohs(address.sin6_port);
  }
  return std::string(text) + " " + std::to_string(port);
}

bool is_inet(const sockaddr_storage& end) {
  return end.ss_family == AF_INET || end.ss_family == AF_INET6;
}

// Nothing: it is no connection of TCP.
std::optional<std::pair<std::string, std::string>> ends_of(int descriptor) {
  int type = 0;
  socklen_t type_bytes = sizeof type;
  if (getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0 || type != SOCK_STREAM) {
    return std::nullopt;
  }
  sockaddr_storage own{}, peer{};
  socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &own_bytes) != 0 ||
      getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0 ||
      !is_inet(own) || !is_inet(peer)) {
    return std::nullopt;
  }
  return std::pair{end_text(own), end_text(peer)};
}

double number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : number_of<double>(text).value_or(0);
}

// Reads the environment once, because the program may change it beside a write.
int window_now() {
  static const double begin_s = number_in(trace::kRunBegin);
  static const double length_s = number_in(trace::kWindowLength);
  if (length_s <= 0) return 0;
  const double now_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return trace::window_of(now_s - begin_s, length_s);
}

int is_gloo_library(dl_phdr_info* library, std::size_t, void*) {
  const char* const name = library->dlpi_name;
  return std::strstr(name, "libgloo") != nullptr || std::strstr(name, "libtorch_cpu") != nullptr;
}

}  // namespace

SocketFlows& socket_flows() {
  static auto* one = new SocketFlows;  // calls come until the process ends
  return *one;
}

void SocketFlows::sent(int descriptor, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto known = by_descriptor_.find(descriptor);
  if (known == by_descriptor_.end()) {
    // What is none is not kept: files may be closed unseen, by fclose().
    const auto ends = ends_of(descriptor);
    if (!ends) return;
    known = by_descriptor_.emplace(descriptor, &flows_[*ends]).first;
  }
  Volume& volume = (*known->second)[window_now()];
  volume.bytes += bytes;
  ++volume.writes;
}

void SocketFlows::closed(int descriptor) {
  const std::lock_guard lock(mutex_);
  by_descriptor_.erase(descriptor);
}

void SocketFlows::after_fork(bool is_child) {
  if (is_child) {
    by_descriptor_.clear();
    flows_.clear();
    process_ = getpid();
  }
  mutex_.unlock();
}

void SocketFlows::set_compared() {
  const std::lock_guard lock(mutex_);
  is_compared_ = true;
}

void SocketFlows::write() {
  if (getpid() != process_) return;
  const std::lock_guard lock(mutex_);
  const auto place = trace::launcher_rank();
  const char* const folder = std::getenv(trace::kRecordFolder);
  if (is_written_ || flows_.empty() || !place || folder == nullptr ||
      dl_iterate_phdr(is_gloo_library, nullptr) == 0) {
    return;
  }
  is_written_ = true;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const std::string path =
      std::string(folder) + "/gloo-" + host + "-" + std::to_string(getpid()) + ".sockets";
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "tandem: cannot write the record '%s': %s\n", path.c_str(),
                 std::strerror(errno));
    return;
  }
  const char* const store_port = std::getenv("MASTER_PORT");
  std::fprintf(file, "tandem-sockets 1\nrank %d of %d on %s\nstore %s\n", place->rank, place->world,
               host, store_port == nullptr || *store_port == 0 ? "0" : store_port);
  for (const auto& [ends, volumes] : flows_) {
    for (const auto& [window, volume] : volumes) {
      std::fprintf(file, "%s %s %s %d %llu %llu\n", is_compared_ ? "counted" : "flow",
                   ends.first.c_str(), ends.second.c_str(), window, volume.bytes, volume.writes);
    }
  }
  std::fprintf(file, "end\n");
  std::fclose(file);
}

}  // namespace tandem::apps
