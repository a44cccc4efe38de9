// SPDX-License-Identifier: Apache-2.0
//
// HostCheck: whether a request addresses this server by a name that no web page can use.
//
// A web page can make its own name point to this machine (DNS rebinding). A browser then treats the
// server as part of that page, and the page may read its answers. The Host field of such requests
// has the page's name. Loopback names and IP addresses cannot be redirected, so they are accepted;
// other names are accepted if they are configured. Threads: immutable after construction.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::server {

class HostCheck {
 public:
  // `names`: in any case, without port. "*" accepts every name.
  explicit HostCheck(std::vector<std::string> names);

  // `host`: the header's value, "name", "name:port", "1.2.3.4:port" or "[::1]:port".
  bool accepts(std::string_view host) const;

 private:
  std::vector<std::string> names_;
};

}  // namespace tandem::server
