// SPDX-License-Identifier: Apache-2.0
//
// control_groups: the folders that hold the limits of this process, for one controller.
//
// They are those of its control group and of every group above it, in versions 1 and 2. A container
// sees its own group at the root of the mount, under another path than /proc names, so the root is
// always among them. Some folders may not exist. Threads: any.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst; man 7 cgroups.
#pragma once

#include <string>
#include <vector>

namespace tandem {

struct ControlGroup {
  std::string folder;
  int version = 2;
};

// controller: "cpu" or "memory". root: the folder that holds /proc and /sys; tests set it.
std::vector<ControlGroup> control_groups(const std::string& controller,
                                         const std::string& root = {});

}  // namespace tandem
