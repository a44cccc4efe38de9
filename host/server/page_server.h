// SPDX-License-Identifier: Apache-2.0
//
// PageServer: one page of web/ and the JSON that it shows, for a program that is not the daemon.
//
// "/ui" is the page `start`, with the files, the Content-Security-Policy, the keys and the check of
// names of the daemon's page; "/ui/access" says that the client may see everything. A GET of a path
// in `data` returns the result of its function. The server has one thread. A slow client costs
// bounded memory and does not delay others. Threads: the functions of `data` run on that thread and
// must not block; call the other functions from one thread. Errors: Error("server", ...) when it
// cannot listen.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/auth.h"
#include "server/http/listen_options.h"

namespace tandem::server {

struct PageOptions {
  http::ListenOptions listen;
  std::vector<ApiKey> api_keys;  // empty: no key needed
  std::string start = "index.html";
  std::map<std::string, std::function<std::string()>> data;  // by path, as in "/status"
};

class PageServer {
 public:
  // Binds and serves from here on.
  explicit PageServer(PageOptions options);
  ~PageServer();  // closes all connections

  std::uint16_t port() const;
  std::string url() const;  // of the page

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tandem::server
