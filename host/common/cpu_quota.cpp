// SPDX-License-Identifier: Apache-2.0
//
// Quotas of control groups, from the files of the group and of those above it.
#include "common/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <limits>

#include "common/control_groups.h"

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

}  // namespace

double cpu_quota(const std::string& root) {
  double least = kNone;
  for (const ControlGroup& group : control_groups("cpu", root)) {
    least = std::min(least, group.version == 2 ? quota_v2(group.folder) : quota_v1(group.folder));
  }
  return least;
}

}  // namespace tandem
