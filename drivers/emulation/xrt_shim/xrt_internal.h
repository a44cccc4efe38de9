// SPDX-License-Identifier: Apache-2.0
//
// The few functions of libxrt_coreutil and of its glue objects that no public header declares.
//
// They are exported by Debian's libxrt_coreutil 2.13; the glue objects' hashes are checked at
// configure time, so these declarations and the objects belong together.
#pragma once

#include <sys/types.h>
#include <xrt.h>

#include <cstdint>
#include <memory>

namespace xrt_core {

class device {
 public:
  // Tells XRT that the bitstream `top` is loaded.
  void register_axlf(const axlf* top);
};

// The base of `device`. Debian's glue objects carry a weak definition that refuses; ours takes its
// place.
struct ishim {
  xclBufferHandle import_bo(pid_t process, xclBufferExportHandle exported);
};

std::shared_ptr<device> get_userpf_device(void* handle);
std::shared_ptr<device> get_userpf_device(void* handle, unsigned int index);

namespace query {
enum class key_type;  // only the two values below are ever asked for
}

}  // namespace xrt_core

namespace xclcpuemhal2 {

// What the glue asks of a device beyond the C API.
class CpuemShim {
 public:
  static CpuemShim* handleCheck(void* handle);
  uint32_t deviceQuery(xrt_core::query::key_type key);
};

}  // namespace xclcpuemhal2

// Declared in XRT's private headers; C++ linkage.
int xclUpdateSchedulerStat(xclDeviceHandle handle);
int xclInternalResetDevice(xclDeviceHandle handle, xclResetKind kind);
int xclCmaEnable(xclDeviceHandle handle, bool enable, uint64_t total_size);
int xclCloseExportHandle(xclBufferExportHandle handle);
