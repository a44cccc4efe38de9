// SPDX-License-Identifier: Apache-2.0
//
// What looks like an address and is none may be a name, which anyone may answer to.
#include "server/http/loopback.h"

#include <arpa/inet.h>

namespace tandem::server::http {

bool is_loopback_only(const ListenOptions& listen) {
  const std::string& host = listen.host;
  in_addr address;
  return listen.inherited.empty() &&
         (host.empty() || host == "localhost" || host == "::1" ||
          (host.starts_with("127.") && ::inet_pton(AF_INET, host.c_str(), &address) == 1));
}

}  // namespace tandem::server::http
