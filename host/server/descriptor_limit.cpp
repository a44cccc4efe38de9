// SPDX-License-Identifier: Apache-2.0
//
// Connections that are refused also need descriptors, like everything else in the process.
#include "server/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "common/error.h"
#include "server/http/connection_set.h"

namespace tandem::server {
namespace {
constexpr std::size_t kOtherFiles = 64;  // models, devices, logs, listening sockets
}  // namespace

void require_descriptors(std::size_t max_connections) {
  const std::size_t needed = max_connections + 2 * http::ConnectionSet::kReserved + kOtherFiles;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  if (limit.rlim_max >= needed) {
    limit.rlim_cur = needed;
    if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  }
  const std::size_t fits =
      limit.rlim_max > needed - max_connections ? limit.rlim_max - (needed - max_connections) : 0;
  throw Error("server", "--max-connections " + std::to_string(max_connections) + " needs " +
                            std::to_string(needed) + " open files, but this process may have " +
                            std::to_string(limit.rlim_max) +
                            "; raise the limit (ulimit -n, LimitNOFILE= of a unit), or set "
                            "--max-connections to at most " +
                            std::to_string(std::max<std::size_t>(fits, 1)));
}

}  // namespace tandem::server
