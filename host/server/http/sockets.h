// SPDX-License-Identifier: Apache-2.0
//
// Makes listening sockets: for a host's addresses, for a path in the file system, or inherited from
// the service manager. Also sets options of accepted sockets. Threads: any; no state except the
// files.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "server/http/stream.h"

namespace tandem::server::http {

using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::generic::stream_protocol>;

// Makes one listening socket per endpoint, each on its own strand. All use the port of the first
// endpoint; if that is 0, one port that is free on all addresses. Skips addresses that this machine
// lacks if another one works. Throws boost::system::system_error.
std::vector<boost::asio::ip::tcp::acceptor> listen_on_all(
    boost::asio::io_context& io, std::vector<boost::asio::ip::tcp::endpoint> endpoints);

// Listens on every address of `host`, such as "::1" or "[::1]"; port 0 takes a free one. Throws
// Error("server", ...) naming both.
std::vector<Acceptor> listen_on_host(boost::asio::io_context& io, const std::string& host,
                                     std::uint16_t port);

// Replaces a socket file that a dead process left. Throws Error("server", ...) if another process
// listens there, or if the file is not a socket.
Acceptor listen_on_path(boost::asio::io_context& io, const std::string& path, int mode);

// Checks the path before anything listens there. Throws Error("server", ...) if it is too long, has
// no folder, or names a file that is not a socket. Returns whether a socket exists there.
bool check_unix_path(const std::string& path);

// Removes the file of a Unix socket on which nobody listens; does nothing if there is no file.
// Throws the errors of listen_on_path().
void remove_stale_socket(const std::string& path);

// The domain of a listening stream socket. Throws Error("server", ...) if it is not one.
int check_inherited(int descriptor);

// Takes over a listening socket. Throws Error("server", ...) if it is not one.
Acceptor adopt_socket(boost::asio::io_context& io, int descriptor);

// The local end of a socket: its port, and whether only this machine can reach it.
struct LocalAddress {
  bool is_unix = false;
  bool is_loopback = false;  // or a Unix socket
  std::uint16_t port = 0;
  std::string text;  // "127.0.0.1:8080", "[::1]:8080", "unix:/run/tandem.sock"
};

LocalAddress local_address(Acceptor& acceptor);

// For an accepted TCP socket: disables delays, and lets the kernel end it if the other machine
// acknowledges nothing for the longer of `vanished` and `stalled`: the kernel has one limit for
// idle clients and for those that take nothing. Does nothing for other sockets.
void set_client_options(Socket& socket, std::chrono::seconds vanished,
                        std::chrono::milliseconds stalled);

}  // namespace tandem::server::http
