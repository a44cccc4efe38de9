// SPDX-License-Identifier: Apache-2.0
//
// The addresses where the server listens, and its certificate. Plain data; names are checked when
// the server starts.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tandem::server::http {

class TlsKeys;

struct ListenOptions {
  std::string host = "127.0.0.1";  // all addresses of this name; empty: no TCP
  std::uint16_t port = 8080;       // 0: any free port
  std::string unix_path;           // empty: none
  int unix_mode = 0600;            // the permissions of the socket's file
  std::vector<int> inherited;      // listening sockets, instead of all of the above
};

struct TlsFiles {
  std::string certificate;  // PEM, with the chain; empty: no TLS
  std::string key;          // PEM
  // Set by the server's check(), which reads both files; null: not read yet.
  std::shared_ptr<TlsKeys> keys = nullptr;
};

}  // namespace tandem::server::http
