// SPDX-License-Identifier: Apache-2.0
//
// Limits: the memory, sockets and time of the daemon that one client may use.
//
// The server uses at most about max_connections x (max_header_bytes + max_body_bytes +
// max_stream_buffer_bytes + largest piece of a stream) + AnswerMemory. An idle connection has no
// buffer.
#pragma once

#include <chrono>
#include <cstddef>

namespace tandem::server::http {

struct Limits {
  std::size_t max_header_bytes = 16 * 1024;      // request line + headers; 431 beyond
  std::size_t max_body_bytes = 4 * 1024 * 1024;  // 413 beyond
  std::size_t max_connections = 256;             // further connections get 503, except probes
  // Connections of one address (of one /64 network of IPv6). 0: half of max_connections for other
  // machines, no limit for this one.
  std::size_t max_connections_per_address = 0;
  // Unsent bytes of a stream, besides its largest piece. A client that exceeds them is dropped.
  std::size_t max_stream_buffer_bytes = 1024 * 1024;
  std::chrono::milliseconds read_timeout{30'000};  // first byte to last byte of a request
  // Time until the first byte of a new connection, including its TLS handshake.
  std::chrono::milliseconds first_byte_timeout{10'000};
  std::chrono::milliseconds idle_timeout{75'000};  // between requests of a connection
  std::chrono::milliseconds stall_timeout{
      30'000};  // a client that takes no byte for this time is dropped
  std::chrono::milliseconds linger_timeout{
      1'000};  // continues to read after the last answer, see linger()
  // A client whose machine acknowledges nothing for this time, and for stall_timeout, is dropped.
  std::chrono::seconds vanished_timeout{60};
};

}  // namespace tandem::server::http
