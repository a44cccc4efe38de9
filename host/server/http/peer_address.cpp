// SPDX-License-Identifier: Apache-2.0
//
// An IPv4 address that is mapped into IPv6 is the IPv4 address.
#include "server/http/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace tandem::server::http {
namespace {

constexpr std::size_t kNetworkBytes = 8;  // of an IPv6 address; one client has all below it
constexpr unsigned char kLoopbackNetwork = 127;

PeerAddress peer_of_ipv4(const unsigned char* bytes) {
  char text[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, bytes, text, sizeof text);
  return {std::string(reinterpret_cast<const char*>(bytes), 4),
          {text, bytes[0] == kLoopbackNetwork}};
}

PeerAddress peer_of_ipv6(const in6_addr& address) {
  if (IN6_IS_ADDR_V4MAPPED(&address)) return peer_of_ipv4(address.s6_addr + 12);
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET6, &address, text, sizeof text);
  return {std::string(reinterpret_cast<const char*>(address.s6_addr), kNetworkBytes),
          {text, IN6_IS_ADDR_LOOPBACK(&address) != 0}};
}

}  // namespace

PeerAddress peer_address(Socket& socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (::getpeername(socket.native_handle(), reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return {"", {"unknown", false}};
  }
  if (storage.ss_family == AF_INET) {
    sockaddr_in address{};
    std::memcpy(&address, &storage, sizeof address);
    unsigned char bytes[4];
    std::memcpy(bytes, &address.sin_addr, sizeof bytes);
    return peer_of_ipv4(bytes);
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 address{};
    std::memcpy(&address, &storage, sizeof address);
    return peer_of_ipv6(address.sin6_addr);
  }
  return {"", {"", true}};
}

}  // namespace tandem::server::http
