// SPDX-License-Identifier: Apache-2.0
//
// cpu_quota: how many processors' worth of time the process's control groups grant.
//
// The affinity mask does not show it, and threads beyond it are only throttled. The smallest quota
// of the process's group and the groups above it counts, in control groups v2 (cpu.max) and v1
// (cpu.cfs_quota_us over cpu.cfs_period_us); infinity without one. Threads: any. Source: Linux,
// Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
#pragma once

#include <string>

namespace tandem {

// root: where /proc and /sys are looked for, for tests.
double cpu_quota(const std::string& root = {});

}  // namespace tandem
