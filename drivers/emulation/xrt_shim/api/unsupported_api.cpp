// SPDX-License-Identifier: Apache-2.0
//
// XRT functions for hardware that emulated cards do not have: AI engines, graphs, profiling,
// re-clocking, flashing.
//
// They return "not supported" (-EOPNOTSUPP, a null handle), or success where nothing needs to be
// done.
#include <experimental/xrt-next.h>
#include <experimental/xrt_aie.h>
#include <experimental/xrt_graph.h>
#include <xrt.h>

#include <cerrno>

#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/xrt_internal.h"

using Graph = void*;
using Device = xclDeviceHandle;
using Direction = xclBOSyncDirection;

// Clocks have no effect: kernels run at the host's speed.
int xclReClock2(Device, unsigned short, const unsigned short*) { return 0; }
int xclLockDevice(Device) { return 0; }
int xclUnlockDevice(Device) { return 0; }
int xclUpdateSchedulerStat(Device) { return 0; }
// The host maps device memory directly, so peer-to-peer and host memory are always on.
int xclP2pEnable(Device, bool, bool) { return 0; }
int xclCmaEnable(Device, bool, uint64_t) { return 0; }
int xclLoadXclBinMeta(Device, const axlf*) { return 0; }

int xclInternalResetDevice(Device, xclResetKind) { return -EOPNOTSUPP; }
int xclResetDevice(Device, xclResetKind) { return -EOPNOTSUPP; }

Graph xclGraphOpen(Device, const xuid_t, const char*, xrt::graph::access_mode) { return nullptr; }
void xclGraphClose(Graph) {}
int xclGraphReset(Graph) { return -EOPNOTSUPP; }
uint64_t xclGraphTimeStamp(Graph) { return 0; }
int xclGraphRun(Graph, int) { return -EOPNOTSUPP; }
int xclGraphWaitDone(Graph, int) { return -EOPNOTSUPP; }
int xclGraphWait(Graph, uint64_t) { return -EOPNOTSUPP; }
int xclGraphSuspend(Graph) { return -EOPNOTSUPP; }
int xclGraphResume(Graph) { return -EOPNOTSUPP; }
int xclGraphEnd(Graph, uint64_t) { return -EOPNOTSUPP; }
int xclGraphUpdateRTP(Graph, const char*, const char*, size_t) { return -EOPNOTSUPP; }
int xclGraphReadRTP(Graph, const char*, char*, size_t) { return -EOPNOTSUPP; }
int xclAIEOpenContext(Device, xrt::aie::access_mode) { return -EOPNOTSUPP; }
int xclSyncBOAIE(Device, xrt::bo&, const char*, Direction, size_t, size_t) { return -EOPNOTSUPP; }
int xclSyncBOAIENB(Device, xrt::bo&, const char*, Direction, size_t, size_t) { return -EOPNOTSUPP; }
int xclResetAIEArray(Device) { return -EOPNOTSUPP; }
int xclGMIOWait(Device, const char*) { return -EOPNOTSUPP; }
int xclStartProfiling(Device, int, const char*, const char*, uint32_t) { return -EOPNOTSUPP; }
uint64_t xclReadProfiling(Device, int) { return 0; }
int xclStopProfiling(Device, int) { return -EOPNOTSUPP; }
