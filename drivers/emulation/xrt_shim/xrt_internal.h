// SPDX-License-Identifier: Apache-2.0
//
// Declares the few functions of libxrt_coreutil and of its glue objects that no public header
// declares.
//
// Debian's libxrt_coreutil 2.13 exports them. The hashes of the glue objects are checked at
// configure time, so that declarations and objects match.
#pragma once

#include <experimental/xrt-next.h>
#include <sys/types.h>
#include <xclbin.h>
#include <xrt.h>
#include <xrt/xrt_uuid.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace xrt_core {

class device {
 public:
  // Tells XRT that the bitstream `top` is loaded.
  void register_axlf(const axlf* top);
  // XRT's copy of a section of the loaded bitstream (an empty id: any bitstream); {nullptr, 0} if
  // there is none.
  std::pair<const char*, size_t> get_axlf_section(axlf_section_kind kind,
                                                  const xrt::uuid& bitstream) const;
};

// The base of `device`: the functions of a shim beyond the C API. Debian's glue objects have weak
// definitions that fail; core_overrides.cpp replaces them. Hidden, because libxrt_coreutil exports
// failing definitions too, which would be found first.
struct __attribute__((visibility("hidden"))) ishim {
  xclInterruptNotifyHandle open_ip_interrupt_notify(unsigned int unit);
  void close_ip_interrupt_notify(xclInterruptNotifyHandle id);
  void enable_ip_interrupt(xclInterruptNotifyHandle id);
  void disable_ip_interrupt(xclInterruptNotifyHandle id);
  void wait_ip_interrupt(xclInterruptNotifyHandle id);
  std::cv_status wait_ip_interrupt(xclInterruptNotifyHandle id, int32_t timeout_ms);
  xclBufferHandle import_bo(pid_t process, xclBufferExportHandle exported);
};

std::shared_ptr<device> get_userpf_device(void* handle);
std::shared_ptr<device> get_userpf_device(void* handle, unsigned int index);

class system {
 public:
  // Hidden: the glue objects must find this definition, and libxrt_coreutil its own.
  __attribute__((visibility("hidden"))) unsigned int get_device_id(const std::string& text) const;
};

namespace swemu {
// XRT's class for device objects; it has the size that the glue objects expect.
class device {
 public:
  device(void* handle, unsigned int index, bool is_user);
  ~device();

 private:
  alignas(16) std::byte object_[128];
};

class system {
 public:
  std::pair<unsigned int, unsigned int> get_total_devices(bool is_user) const;
  std::shared_ptr<xrt_core::device> get_userpf_device(void* handle, unsigned int index) const;
};
}  // namespace swemu

namespace query {
enum class key_type;  // only two of its values are used
}

}  // namespace xrt_core

namespace xclcpuemhal2 {

// The calls of the glue objects to a device beyond the C API.
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
