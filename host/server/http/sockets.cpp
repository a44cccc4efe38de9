// SPDX-License-Identifier: Apache-2.0
//
// Listening on TCP addresses; Unix and inherited sockets are in unix_sockets.cpp.
#include "server/http/sockets.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/strand.hpp>
#include <cstring>

#include "common/error.h"

namespace tandem::server::http {
namespace asio = boost::asio;
using asio::ip::tcp;

namespace {
constexpr int kPortTries = 20;  // a port free on one address may be taken on the next
constexpr int kProbes = 3;      // of keep-alive; TCP_USER_TIMEOUT limits how long they go on

bool is_absent(const boost::system::error_code& error) {
  return error == asio::error::address_family_not_supported ||
         error == boost::system::errc::address_not_available;
}

// One attempt at listen_on_all().
std::vector<tcp::acceptor> listen_once(asio::io_context& io, std::vector<tcp::endpoint> endpoints) {
  std::vector<tcp::acceptor> acceptors;
  std::uint16_t port = endpoints.front().port();
  for (tcp::endpoint endpoint : endpoints) {
    endpoint.port(port);
    tcp::acceptor acceptor(asio::make_strand(io));
    try {
      acceptor.open(endpoint.protocol());
      acceptor.set_option(tcp::acceptor::reuse_address(true));
      if (endpoints.size() > 1 && endpoint.protocol() == tcp::v6()) {
        acceptor.set_option(asio::ip::v6_only(true));  // or [::] would take 0.0.0.0 as well
      }
      acceptor.bind(endpoint);
      acceptor.listen();
    } catch (const boost::system::system_error& error) {
      const bool is_last_hope =
          acceptors.empty() && endpoint.address() == endpoints.back().address();
      if (!is_absent(error.code()) || is_last_hope) throw;
      spdlog::warn("[server] not listening on {}: {}", endpoint.address().to_string(),
                   error.code().message());
      continue;
    }
    port = acceptor.local_endpoint().port();
    acceptors.push_back(std::move(acceptor));
  }
  return acceptors;
}

void set_option(int socket, int level, int name, int value) {
  ::setsockopt(socket, level, name, &value, sizeof value);
}
}  // namespace

std::vector<tcp::acceptor> listen_on_all(asio::io_context& io,
                                         std::vector<tcp::endpoint> endpoints) {
  std::vector<tcp::endpoint> distinct;
  for (const tcp::endpoint& endpoint : endpoints) {
    if (std::find(distinct.begin(), distinct.end(), endpoint) == distinct.end()) {
      distinct.push_back(endpoint);
    }
  }
  for (int attempt = 1;; ++attempt) {
    try {
      return listen_once(io, distinct);
    } catch (const boost::system::system_error& error) {
      const bool may_choose = distinct.front().port() == 0 && distinct.size() > 1;
      if (error.code() != asio::error::address_in_use || !may_choose || attempt == kPortTries) {
        throw;
      }
    }
  }
}

namespace {

// "[::1]", as in a URL -> "::1". "[]" stays: no name would mean every address.
std::string without_brackets(const std::string& host) {
  if (!host.starts_with('[') || !host.ends_with(']') || host.size() < 3) return host;
  return host.substr(1, host.size() - 2);
}

}  // namespace

std::vector<Acceptor> listen_on_host(asio::io_context& io, const std::string& host,
                                     std::uint16_t port) {
  try {
    const auto found =
        tcp::resolver(io).resolve(without_brackets(host), std::to_string(port),
                                  tcp::resolver::passive | tcp::resolver::numeric_service);
    std::vector<tcp::endpoint> endpoints;
    for (const auto& entry : found) endpoints.push_back(entry.endpoint());
    std::vector<Acceptor> acceptors;
    for (tcp::acceptor& acceptor : listen_on_all(io, std::move(endpoints))) {
      acceptors.emplace_back(std::move(acceptor));
    }
    return acceptors;
  } catch (const boost::system::system_error& error) {
    throw Error("server", "cannot listen on " + host + " port " + std::to_string(port) + ": " +
                              error.code().message() + "; choose another host or port");
  }
}

void set_client_options(Socket& socket, std::chrono::seconds vanished,
                        std::chrono::milliseconds stalled) {
  const int handle = socket.native_handle();
  int domain = 0;
  socklen_t size = sizeof domain;
  ::getsockopt(handle, SOL_SOCKET, SO_DOMAIN, &domain, &size);
  if (domain != AF_INET && domain != AF_INET6) return;
  // Half of the time without a byte, then the probes in the other half.
  const int seconds = static_cast<int>(std::clamp<std::int64_t>(vanished.count(), 2, 86'400));
  set_option(handle, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(handle, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(handle, IPPROTO_TCP, TCP_KEEPIDLE, seconds / 2);
  set_option(handle, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, seconds / 2 / kProbes));
  set_option(handle, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  const auto unacknowledged = std::max<std::int64_t>(seconds * 1000, stalled.count());
  set_option(handle, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unacknowledged));
}

}  // namespace tandem::server::http
