// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API: loading bitstreams and opening contexts on compute units.
#include <experimental/xrt-next.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xrt.h>

#include <cerrno>
#include <cstring>

#include "bitstreams/xclbin_file.h"
#include "common/error.h"
#include "emulation/xrt_shim/device_handle.h"
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

constexpr uint64_t kMaxBitstreamBytes = uint64_t{2} << 30;
constexpr unsigned int kUnitIndexMask = 0xffff;

// False when part of the interval is no memory of this process. What lies there may still be
// somebody else's: XRT passes no size, so this is all that can be known.
bool is_mapped(const void* begin, uint64_t size_bytes) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<uint64_t>(begin);
  const uint64_t first = address / page * page;
  // Only looks at the address range: nothing is written back asynchronously on Linux.
  return msync(reinterpret_cast<void*>(first), address + size_bytes - first, MS_ASYNC) == 0;
}

// The bytes of the xclbin at `top`, as many as its own header says. The parser checks the rest.
std::span<const std::byte> bytes_of(const axlf* top) {
  if (!is_mapped(top, sizeof(axlf)) || std::memcmp(top->m_magic, "xclbin2\0", 8) != 0) {
    throw tandem::Error("xclbin",
                        "loaded xclbin: field m_magic is not 'xclbin2'; this is no "
                        "xclbin file");
  }
  const uint64_t length = top->m_header.m_length;
  if (length < sizeof(axlf) || length > kMaxBitstreamBytes) {
    throw tandem::Error("xclbin", "loaded xclbin: field m_length says " + std::to_string(length) +
                                      " bytes, which no xclbin has; rebuild the file");
  }
  if (!is_mapped(top, length)) {
    throw tandem::Error("xclbin", "loaded xclbin: field m_length says " + std::to_string(length) +
                                      " bytes, more than are in memory; the file is truncated");
  }
  return {reinterpret_cast<const std::byte*>(top), length};
}

}  // namespace

int xclLoadXclBin(xclDeviceHandle raw, const axlf* top) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || top == nullptr) return -EINVAL;
  try {
    const auto file = XclbinFile::parse(bytes_of(top), "loaded xclbin");
    // Behind the end of a truncated file there is often memory full of zeros.
    if (file.compute_units().empty()) {
      throw tandem::Error("xclbin",
                          "loaded xclbin: section IP_LAYOUT has no compute units; the "
                          "file is truncated: build it again");
    }
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
    report_error("the bitstream a kernel was asked of is not the one that is loaded on the card");
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
