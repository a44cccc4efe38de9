// SPDX-License-Identifier: Apache-2.0
//
// Listening sockets: of a host's addresses, of a path in the file system, or inherited from the
// service manager; and the options of accepted ones. Threads: any; stateless but for the files.
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

// One listening socket per endpoint, each on its own strand. All listen on the port of the first
// endpoint; if that is 0, on one port that is free on all addresses. Addresses that this machine
// lacks are left out if another works. Throws boost::system::system_error.
std::vector<boost::asio::ip::tcp::acceptor> listen_on_all(
    boost::asio::io_context& io, std::vector<boost::asio::ip::tcp::endpoint> endpoints);

// On every address of `host`; port 0 takes any free one. Throws Error("server", ...) naming both.
std::vector<Acceptor> listen_on_host(boost::asio::io_context& io, const std::string& host,
                                     std::uint16_t port);

// A file that a dead process has left is replaced. Throws Error("server", ...) when another process
// listens there, or when something else than a socket is there.
Acceptor listen_on_path(boost::asio::io_context& io, const std::string& path, int mode);

// What can be known before anything listens there: throws Error("server", ...) when the path is too
// long, has no folder, or something else than a socket is there. Whether a socket is there.
bool check_unix_path(const std::string& path);

// Removes the file of a Unix socket that nobody listens on; does nothing where there is no file.
// Throws Error("server", ...) as listen_on_path() does.
void remove_stale_socket(const std::string& path);

// The domain of a listening stream socket. Throws Error("server", ...) when it is none.
int check_inherited(int descriptor);

// Takes over a listening socket. Throws Error("server", ...) when it is none.
Acceptor adopt_socket(boost::asio::io_context& io, int descriptor);

// What one end of a socket is: its port, whether others than this machine reach it.
struct LocalAddress {
  bool is_unix = false;
  bool is_loopback = false;  // or a Unix socket
  std::uint16_t port = 0;
  std::string text;  // "127.0.0.1:8080", "[::1]:8080", "unix:/run/tandem.sock"
};

LocalAddress local_address(Acceptor& acceptor);

// For an accepted TCP socket: no delay, and the kernel ends it when the other machine acknowledges
// nothing for `vanished`. While data waits for it, it has `stalled` if that is longer: the kernel
// does not tell a client that takes nothing from one that is gone. Does nothing for others.
void set_client_options(Socket& socket, std::chrono::seconds vanished,
                        std::chrono::milliseconds stalled);

}  // namespace tandem::server::http
