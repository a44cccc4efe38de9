// SPDX-License-Identifier: Apache-2.0
//
// Where the server listens, and with which certificate.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tandem::server::http {

class TlsKeys;

struct ListenOptions {
  std::string host = "127.0.0.1";  // every address of it; empty: no TCP
  std::uint16_t port = 8080;       // 0: any free port
  std::string unix_path;           // empty: none
  int unix_mode = 0600;            // who may connect there
  std::vector<int> inherited;      // listening sockets, instead of all of the above
};

struct TlsFiles {
  std::string certificate;  // PEM, with the chain; empty: no TLS
  std::string key;          // PEM
  // What check() has read of both, so that they are read once; null: nothing yet.
  std::shared_ptr<TlsKeys> keys = nullptr;
};

}  // namespace tandem::server::http
