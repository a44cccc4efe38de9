// SPDX-License-Identifier: Apache-2.0
//
// Reads /proc/self/cgroup: lines "0::/path" (version 2) and "4:cpu,cpuacct:/path" (version 1).
#include "common/control_groups.h"

#include <fstream>

namespace tandem {
namespace {

// The mount, the group at `path` below it, and every group between.
void append_groups(const std::string& mount, std::string path, int version,
                   std::vector<ControlGroup>& groups) {
  groups.push_back({mount, version});
  for (; path.size() > 1; path.resize(path.rfind('/'))) groups.push_back({mount + path, version});
}

bool names(const std::string& controllers, const std::string& controller) {
  return ("," + controllers + ",").find("," + controller + ",") != std::string::npos;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const std::string& root) {
  const std::string mounts = root + "/sys/fs/cgroup";
  std::vector<ControlGroup> groups = {{mounts, 2}};
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos || second + 1 >= line.size() || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      append_groups(mounts, path, 2, groups);
      append_groups(mounts + "/unified", path, 2, groups);
    } else if (names(controllers, controller)) {
      append_groups(mounts + "/" + controllers, path, 1, groups);
      append_groups(mounts + "/" + controller, path, 1, groups);
    }
  }
  return groups;
}

}  // namespace tandem
