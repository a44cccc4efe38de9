// SPDX-License-Identifier: Apache-2.0
//
// cpu_quota: how much processor time the control groups of this process grant, in processors.
//
// The affinity mask does not show this limit, and Linux throttles threads beyond it. The result is
// the smallest quota of the process's group and of the groups above it: cpu.max in control groups
// v2, cpu.cfs_quota_us over cpu.cfs_period_us in v1. It is infinity without a quota.
// Threads: any. Source: Linux, Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst.
#pragma once

#include <string>

namespace tandem {

// root: the folder that holds /proc and /sys; tests set it.
double cpu_quota(const std::string& root = {});

}  // namespace tandem
