// SPDX-License-Identifier: Apache-2.0
//
// IPv4 addresses in IPv6 form are converted to IPv4, so that both ends have the same text.
#include "apps/trace_comm/sockets/socket_flows.h"

#include <arpa/inet.h>
#include <link.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "trace/communication/launcher_rank.h"
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

int is_gloo_library(dl_phdr_info* library, std::size_t, void*) {
  const char* const name = library->dlpi_name;
  return std::strstr(name, "libgloo") != nullptr || std::strstr(name, "libtorch_cpu") != nullptr;
}

}  // namespace

SocketFlows& socket_flows() {
  // never destroyed, because calls may come until the process ends
  static auto* one = new SocketFlows;
  return *one;
}

void SocketFlows::sent(int descriptor, std::size_t bytes) {
  const double time_s = trace::process_time_s();
  const std::lock_guard lock(mutex_);
  auto known = by_descriptor_.find(descriptor);
  if (known == by_descriptor_.end()) {
    // What is none is not kept: a file of that number may follow unseen.
    const auto ends = ends_of(descriptor);
    if (!ends) return;
    known = by_descriptor_.emplace(descriptor, &*flows_.try_emplace(*ends).first).first;
  }
  Volume& volume = known->second->second[trace::process_window(time_s)];
  volume.bytes += bytes;
  ++volume.writes;
  if (events_.is_kept()) events_.add({time_s, known->second, bytes});
}

void SocketFlows::closed(int first, int last) {
  const std::lock_guard lock(mutex_);
  if (first == last) {
    by_descriptor_.erase(first);
  } else {
    std::erase_if(by_descriptor_,
                  [&](const auto& each) { return each.first >= first && each.first <= last; });
  }
}

void SocketFlows::forget() {
  by_descriptor_.clear();
  events_.clear();
  flows_.clear();
}

void SocketFlows::after_fork(bool is_child) {
  if (is_child) {
    forget();
    process_ = getpid();
  }
  mutex_.unlock();
}

void SocketFlows::set_compared() {
  const std::lock_guard lock(mutex_);
  is_compared_ = true;
}

// A process may write several: one for each program that it becomes.
std::FILE* SocketFlows::new_record() const {
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const std::string start = std::string(std::getenv(trace::kRecordFolder)) + "/gloo-" + host + "-" +
                            std::to_string(getpid()) + "-";
  std::string path;
  std::FILE* file = nullptr;
  for (int number = 0; file == nullptr && (number == 0 || errno == EEXIST); ++number) {
    path = start + std::to_string(number) + ".sockets";
    file = std::fopen(path.c_str(), "wx");
  }
  if (file == nullptr) {
    std::fprintf(stderr, "tandem: cannot write the record '%s': %s\n", path.c_str(),
                 std::strerror(errno));
  }
  return file;
}

void SocketFlows::write_flows(std::FILE* file) const {
  const char* const word = is_compared_ ? "counted" : "flow";
  for (const auto& [ends, volumes] : flows_) {
    for (const auto& [window, volume] : volumes) {
      std::fprintf(file, "%s %s %s %d %llu %llu\n", word, ends.first.c_str(), ends.second.c_str(),
                   window, volume.bytes, volume.writes);
    }
  }
  if (is_compared_) return;
  for (const auto& [time_s, flow, bytes] : events_.entries()) {
    std::fprintf(file, "event %s %s %s %zu 1\n", flow->first.first.c_str(),
                 flow->first.second.c_str(), trace::time_word(time_s).c_str(), bytes);
  }
  if (events_.dropped() > 0) {
    std::fprintf(file, "dropped_events %llu\n", static_cast<unsigned long long>(events_.dropped()));
  }
}

void SocketFlows::write() {
  if (getpid() != process_) return;
  const std::lock_guard lock(mutex_);
  const auto place = trace::launcher_rank();
  if (flows_.empty() || !place || std::getenv(trace::kRecordFolder) == nullptr ||
      dl_iterate_phdr(is_gloo_library, nullptr) == 0) {
    return;
  }
  std::FILE* const file = new_record();
  if (file == nullptr) return;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const char* const store_port = std::getenv("MASTER_PORT");
  std::fprintf(file, "tandem-sockets 1\nrank %d of %d on %s\nstore %s\n", place->rank, place->world,
               host, store_port == nullptr || *store_port == 0 ? "0" : store_port);
  write_flows(file);
  std::fprintf(file, "end\n");
  if (std::ferror(file) != 0 || std::fclose(file) != 0) {
    std::fprintf(stderr, "tandem: a record of what was sent over TCP is not whole\n");
  }
  forget();
}

}  // namespace tandem::apps
