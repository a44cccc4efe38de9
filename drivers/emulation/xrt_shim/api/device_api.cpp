// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API: probing, opening, closing and describing devices.
#include <experimental/xrt-next.h>
#include <xrt.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/opencl/opencl_events.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/settings.h"
#include "emulation/xrt_shim/xrt_internal.h"

namespace {

using tandem::emulation::DeviceHandle;
using tandem::emulation::report_error;
using tandem::emulation::settings;

constexpr unsigned int kDeviceInfoMagic = 0x586C0C6C;  // as <xrt.h> prescribes
constexpr unsigned short kXilinxVendor = 0x10ee;
constexpr uint32_t kQueryMemoryToMemory = 0x3c;  // key_type::m2m of XRT 2.13
constexpr uint32_t kQueryNoDma = 0x3e;           // key_type::nodma

// A card without a configured platform has the name of its bitstream's platform.
std::string platform_name(const tandem::emulation::Card& card) {
  const auto program = card.program();
  const bool decided = settings().platform_chosen || program == nullptr;
  return decided || program->platform.empty() ? card.platform().vbnv : program->platform;
}

void copy_text(char* field, size_t capacity, const std::string& text) {
  std::snprintf(field, capacity, "%s", text.c_str());
}

}  // namespace

unsigned int xclProbe() { return settings().num_cards; }

// Called by libxilinxopencl only, before it makes its devices.
unsigned int xclVersion() {
  tandem::emulation::watch_opencl_kernels();
  return 2;
}

xclDeviceHandle xclOpen(unsigned int index, const char*, xclVerbosityLevel) {
  if (index >= settings().num_cards) return nullptr;
  try {
    DeviceHandle* handle = DeviceHandle::open(index);
    handle->core_device = xrt_core::get_userpf_device(handle, index);
    return handle;
  } catch (const std::exception& error) {
    report_error(error.what());
    return nullptr;
  }
}

void xclClose(xclDeviceHandle raw) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr) return;
  handle->core_device.reset();  // before the handle, since XRT's object may end here
  DeviceHandle::close(handle);
}

int xclGetDeviceInfo2(xclDeviceHandle raw, xclDeviceInfo2* info) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || info == nullptr) return -EINVAL;
  auto& card = *handle->card();
  const auto& platform = card.platform();
  std::memset(static_cast<void*>(info), 0, sizeof(*info));
  info->mMagic = kDeviceInfoMagic;
  copy_text(info->mName, sizeof(info->mName), platform_name(card));
  copy_text(info->mFpga, sizeof(info->mFpga), platform.name);
  info->mHALMajorVersion = 2;
  info->mVendorId = kXilinxVendor;
  info->mDDRSize = platform.memory_bytes(tandem::xclbin::BankType::kHbm) +
                   platform.memory_bytes(tandem::xclbin::BankType::kDdr);
  info->mDDRFreeSize = card.free_bytes();
  info->mDDRBankCount = static_cast<unsigned short>(platform.banks.size());
  info->mDataAlignment = tandem::emulation::kAllocationGranule;
  for (unsigned short& frequency : info->mOCLFrequency) {
    frequency = static_cast<unsigned short>(platform.kernel_clock_mhz);
  }
  info->mNumClocks = 2;
  info->mPCIeLinkWidth = info->mPCIeLinkWidthMax = static_cast<unsigned short>(platform.pcie_lanes);
  info->mPCIeLinkSpeed = info->mPCIeLinkSpeedMax =
      static_cast<unsigned short>(platform.pcie_generation);
  info->mMigCalib = true;
  return 0;
}

int xclGetUsageInfo(xclDeviceHandle raw, xclDeviceUsage* usage) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || usage == nullptr) return -EINVAL;
  std::memset(usage, 0, sizeof(*usage));
  auto& card = *handle->card();
  usage->h2c[0] = card.shared().bytes_to_device.load();
  usage->c2h[0] = card.shared().bytes_from_device.load();
  usage->ddrMemUsed[0] = card.platform().memory_end() - card.free_bytes();
  usage->dma_channel_cnt = usage->mm_channel_cnt = 1;
  return 0;
}

int xclLogMsg(xclDeviceHandle, xrtLogMsgLevel level, const char*, const char* format, ...) {
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  if (level <= XRT_ERROR) {
    report_error(text);
  } else if (level <= XRT_WARNING) {
    tandem::emulation::report_warning(text);
  }
  return 0;
}

namespace xclcpuemhal2 {

CpuemShim* CpuemShim::handleCheck(void* handle) {
  return reinterpret_cast<CpuemShim*>(DeviceHandle::check(handle));
}

// Copies between buffers happen on the card, so every card has "m2m", which XRT also uses to sync
// buffers of a "nodma" card. The object is the handle that handleCheck() gave out.
uint32_t CpuemShim::deviceQuery(xrt_core::query::key_type key) {
  if (static_cast<uint32_t>(key) == kQueryMemoryToMemory) return 1;
  if (static_cast<uint32_t>(key) != kQueryNoDma) return 0;
  return reinterpret_cast<DeviceHandle*>(this)->card()->platform().has_dma ? 0 : 1;
}

}  // namespace xclcpuemhal2
