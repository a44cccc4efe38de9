// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API: loading bitstreams and opening contexts on compute units.
#include <experimental/xrt-next.h>
#include <xrt.h>

#include <cerrno>
#include <cstring>

#include "bitstreams/xclbin/xclbin_file.h"
#include "common/error.h"
#include "emulation/runtime_guard/readable_xclbin.h"
#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/faults/card_faults.h"
#include "emulation/xrt_shim/opencl/opencl_events.h"
#include "emulation/xrt_shim/opencl/software_banks.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/settings.h"
#include "emulation/xrt_shim/xrt_internal.h"

namespace {

using tandem::emulation::DeviceHandle;
using tandem::emulation::kWholeBitstream;
using tandem::emulation::report_error;
using tandem::xclbin::XclbinFile;

constexpr unsigned int kUnitIndexMask = 0xffff;

// A real card refuses such a bitstream; the words are those of XRT. A card without a configured
// platform plays the bitstream's.
void warn_of_another_platform(const tandem::emulation::Card& card, const XclbinFile& file) {
  const std::string& shell = card.platform().vbnv;
  const std::string& built_for = file.platform_vbnv();
  if (!tandem::emulation::settings().platform_chosen || built_for.empty() || built_for == shell) {
    return;
  }
  tandem::emulation::report_warning(
      "Xclbin does not match shell on card. Shell VBNV is '" + shell + "', Xclbin VBNV is '" +
      built_for + "'. The emulated card loads it, a real card refuses it: build the bitstream " +
      "with --platform " + shell);
}

}  // namespace

int xclLoadXclBin(xclDeviceHandle raw, const axlf* top) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || top == nullptr) return -EINVAL;
  try {
    const auto file = XclbinFile::parse(tandem::emulation::readable_xclbin(top), "loaded xclbin");
    // In memory, zeros often follow a truncated file, and m_length reaches into them.
    if (file.compute_units().empty()) {
      throw tandem::Error("xclbin",
                          "loaded xclbin: section IP_LAYOUT has no compute units; the "
                          "file is truncated: build it again");
    }
    warn_of_another_platform(*handle->card(), file);
    if (const int error = tandem::emulation::at_load(*handle->card())) return -error;
    const std::string problem = handle->card()->load(file);
    if (!problem.empty()) {
      report_error(problem);
      return -EBUSY;
    }
  } catch (const std::exception& error) {
    report_error(error.what());
    return -EINVAL;
  }
  if (const auto device = xrt_core::get_userpf_device(raw)) {
    device->register_axlf(top);
    if (tandem::emulation::opencl_in_use() && tandem::emulation::settings().software_emulation) {
      tandem::emulation::join_banks(*device);
    }
  }
  return 0;
}

int xclOpenContext(xclDeviceHandle raw, const xuid_t xclbin_id, unsigned int unit, bool shared) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr) return -ENODEV;
  const auto program = handle->card()->program();
  if (program == nullptr || std::memcmp(program->uuid.data(), xclbin_id, 16) != 0) {
    report_error(
        "a kernel was opened with the uuid of another bitstream than the one that is loaded on the "
        "card; load that bitstream first");
    return -EBUSY;
  }
  if (unit != kWholeBitstream) unit &= kUnitIndexMask;
  if (unit != kWholeBitstream && unit >= program->units.size()) return -EINVAL;
  const std::string problem =
      handle->card()->open_context(handle, unit, shared || unit == kWholeBitstream);
  if (problem.empty()) return 0;
  report_error(problem);
  return -EBUSY;
}

int xclCloseContext(xclDeviceHandle raw, const xuid_t, unsigned int unit) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr) return -ENODEV;
  if (unit != kWholeBitstream) unit &= kUnitIndexMask;
  return handle->card()->close_context(handle, unit) ? 0 : -EINVAL;
}

int xclIPName2Index(xclDeviceHandle raw, const char* name) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  const auto program = handle == nullptr ? nullptr : handle->card()->program();
  if (program == nullptr || name == nullptr) return -ENODEV;
  for (size_t unit = 0; unit < program->units.size(); ++unit) {
    if (program->units[unit].kernel + ":" + program->units[unit].name == name) {
      return static_cast<int>(unit);
    }
  }
  return -ENOENT;
}
