// SPDX-License-Identifier: Apache-2.0
//
// Limits: how much of the daemon's memory, sockets and time one client may use.
//
// The server takes at most about max_connections x (max_header_bytes + max_body_bytes +
// max_stream_buffer_bytes + largest piece of a stream) + AnswerMemory. An idle one has no buffer.
#pragma once

#include <chrono>
#include <cstddef>

namespace tandem::server::http {

struct Limits {
  std::size_t max_header_bytes = 16 * 1024;      // request line + headers; 431 beyond
  std::size_t max_body_bytes = 4 * 1024 * 1024;  // 413 beyond
  std::size_t max_connections = 256;             // the next ones are told 503, but probes
  // Of one address (of one /64 network of IPv6). 0: half of max_connections for other machines, no
  // limit for this one.
  std::size_t max_connections_per_address = 0;
  // Unsent bytes of a stream, besides its largest piece; beyond them the client is dropped.
  std::size_t max_stream_buffer_bytes = 1024 * 1024;
  std::chrono::milliseconds read_timeout{30'000};  // first byte to last byte of a request
  // A new connection's first byte; a TLS handshake is part of it.
  std::chrono::milliseconds first_byte_timeout{10'000};
  std::chrono::milliseconds idle_timeout{75'000};   // between requests of a connection
  std::chrono::milliseconds stall_timeout{30'000};  // a client that takes no byte for so long
  std::chrono::milliseconds linger_timeout{1'000};  // reads on after the last answer, see linger()
  // A client whose machine acknowledges nothing for so long is dropped.
  std::chrono::seconds vanished_timeout{60};
};

}  // namespace tandem::server::http
