// SPDX-License-Identifier: Apache-2.0
//
// Quotas of control groups, from the files of the group and of those above it.
#include "common/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>

namespace tandem {
namespace {

constexpr double kNone = std::numeric_limits<double>::infinity();

// "200000 100000", or "max 100000".
double quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? quota / period : kNone;
}

// A quota of -1: none.
double quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"),
      period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period
                                                                                 : kNone;
}

// The smallest along path and all above it, down to the mount itself.
template <typename Read>
double smallest(const std::string& mount, std::string path, const Read& quota_of) {
  double least = quota_of(mount);
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    least = std::min(least, quota_of(mount + path));
  }
  return least;
}

bool names_cpu(const std::string& controllers) {
  return ("," + controllers + ",").find(",cpu,") != std::string::npos;
}

}  // namespace

double cpu_quota(const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  double least = quota_v2(mounts);
  std::ifstream groups(root + "/proc/self/cgroup");
  // Lines "0::/path" (v2) and "4:cpu,cpuacct:/path" (v1).
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, smallest(mounts, path, quota_v2));
      least = std::min(least, smallest(mounts + "/unified", path, quota_v2));
    } else if (names_cpu(controllers)) {
      least = std::min(least, smallest(mounts + "/" + controllers, path, quota_v1));
      least = std::min(least, smallest(mounts + "/cpu", path, quota_v1));
    }
  }
  return least;
}

}  // namespace tandem
