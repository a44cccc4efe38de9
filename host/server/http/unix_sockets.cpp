// SPDX-License-Identifier: Apache-2.0
//
// Unix sockets, and sockets that another process has opened.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/strand.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/error.h"
#include "server/http/sockets.h"

namespace tandem::server::http {
namespace asio = boost::asio;

namespace {

[[noreturn]] void refuse_path(const std::string& path, const std::string& why) {
  throw Error("server", "cannot listen on --unix '" + path + "': " + why);
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    refuse_path(path, "the path has " + std::to_string(path.size()) + " bytes; at most " +
                          std::to_string(sizeof address.sun_path - 1) + " are possible");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Whether a process listens there. A full queue of connections means that one does.
bool answers(const sockaddr_un& address) {
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const int result = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int error = errno;
  ::close(probe);
  return result == 0 || error != ECONNREFUSED;
}

}  // namespace

bool check_unix_path(const std::string& path) {
  address_of(path);
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0) {
    std::error_code none;
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !std::filesystem::is_directory(folder, none)) {
      refuse_path(path, "there is no folder '" + folder.string() + "'");
    }
    return false;  // bind() reports every other problem
  }
  if (S_ISSOCK(found.st_mode)) return true;
  refuse_path(path, "the path exists and is not a socket; choose another path");
}

void remove_stale_socket(const std::string& path) {
  const sockaddr_un address = address_of(path);
  if (!check_unix_path(path)) return;
  if (answers(address)) {
    refuse_path(path,
                "another process listens there, or this user may not connect to it; stop it first");
  }
  ::unlink(path.c_str());
}

Acceptor listen_on_path(asio::io_context& io, const std::string& path, int mode) {
  const sockaddr_un address = address_of(path);
  remove_stale_socket(path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  // The file gets the socket's mode less the process's mask, so it is never wider than `mode`.
  bool good = socket >= 0 && ::fchmod(socket, static_cast<mode_t>(mode)) == 0 &&
              ::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const bool bound = good;
  good = good && ::chmod(path.c_str(), static_cast<mode_t>(mode)) == 0 &&
         ::listen(socket, SOMAXCONN) == 0;
  if (!good) {
    const std::string why = std::strerror(errno);
    if (bound) ::unlink(path.c_str());
    if (socket >= 0) ::close(socket);
    refuse_path(path, why);
  }
  return Acceptor(asio::make_strand(io), asio::generic::stream_protocol(AF_UNIX, 0), socket);
}

int check_inherited(int descriptor) {
  int listening = 0, domain = 0;
  socklen_t size = sizeof listening;
  const bool is_socket =
      ::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0;
  size = sizeof domain;
  ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  const bool known = domain == AF_UNIX || domain == AF_INET || domain == AF_INET6;
  if (is_socket && listening != 0 && known) return domain;
  throw Error("server", "the inherited file descriptor " + std::to_string(descriptor) +
                            " is not a listening stream socket; the unit needs ListenStream=");
}

Acceptor adopt_socket(asio::io_context& io, int descriptor) {
  const int domain = check_inherited(descriptor);
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return Acceptor(asio::make_strand(io),
                  asio::generic::stream_protocol(domain, domain == AF_UNIX ? 0 : IPPROTO_TCP),
                  descriptor);
}

LocalAddress local_address(Acceptor& acceptor) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(acceptor.native_handle(), reinterpret_cast<sockaddr*>(&storage), &size);
  LocalAddress result;
  if (storage.ss_family == AF_UNIX) {
    sockaddr_un address{};
    std::memcpy(&address, &storage, sizeof address);
    result.is_unix = result.is_loopback = true;
    result.text = std::string("unix:") + address.sun_path;
    return result;
  }
  asio::ip::tcp::endpoint endpoint;
  endpoint.resize(size);
  std::memcpy(endpoint.data(), &storage, endpoint.size());
  result.is_loopback = endpoint.address().is_loopback();
  result.port = endpoint.port();
  const std::string address = endpoint.address().to_string();
  result.text = (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" +
                std::to_string(endpoint.port());
  return result;
}

}  // namespace tandem::server::http
