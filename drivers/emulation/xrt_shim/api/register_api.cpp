// SPDX-License-Identifier: Apache-2.0
//
// XRT's C API: reading and writing the registers of compute units, by unit or by address.
#include <ert.h>
#include <experimental/xrt-next.h>
#include <xrt.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "emulation/xrt_shim/card/registers.h"
#include "emulation/xrt_shim/device_handle.h"

namespace {

using namespace tandem::emulation;

constexpr uint64_t kUnitBytes = 0x10000;

// The unit and byte offset of an absolute register address.
std::optional<std::pair<uint32_t, uint32_t>> locate(const Card& card, uint64_t address) {
  const auto program = card.program();
  if (program == nullptr) return std::nullopt;
  for (uint32_t unit = 0; unit < program->units.size(); ++unit) {
    const uint64_t base = program->units[unit].base;
    if (base != ~uint64_t{0} && address >= base && address - base < kUnitBytes) {
      return std::pair{unit, static_cast<uint32_t>(address - base)};
    }
  }
  return std::nullopt;
}

}  // namespace

int xclRegRead(xclDeviceHandle raw, uint32_t unit, uint32_t offset, uint32_t* value) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || value == nullptr) return -EINVAL;
  return read_register(*handle->card(), unit & 0xffff, offset, value);
}

int xclRegWrite(xclDeviceHandle raw, uint32_t unit, uint32_t offset, uint32_t value) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  return handle == nullptr ? -EINVAL
                           : write_register(*handle->card(), unit & 0xffff, offset, value);
}

// Both return the number of bytes copied, or a negative error as a huge number.
size_t xclRead(xclDeviceHandle raw, xclAddressSpace space, uint64_t address, void* buffer,
               size_t size) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || space != XCL_ADDR_KERNEL_CTRL || size % 4 != 0)
    return static_cast<size_t>(-1);
  for (size_t done = 0; done < size; done += 4) {
    const auto where = locate(*handle->card(), address + done);
    uint32_t value = 0;
    if (!where || read_register(*handle->card(), where->first, where->second, &value) != 0) {
      return static_cast<size_t>(-1);
    }
    std::memcpy(static_cast<std::byte*>(buffer) + done, &value, 4);
  }
  return size;
}

size_t xclWrite(xclDeviceHandle raw, xclAddressSpace space, uint64_t address, const void* buffer,
                size_t size) {
  DeviceHandle* handle = DeviceHandle::check(raw);
  if (handle == nullptr || space != XCL_ADDR_KERNEL_CTRL || size % 4 != 0)
    return static_cast<size_t>(-1);
  // From the end: the control word at offset 0 starts the unit, so arguments come before it.
  for (size_t rest = size; rest > 0; rest -= 4) {
    const auto where = locate(*handle->card(), address + rest - 4);
    uint32_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(buffer) + rest - 4, 4);
    if (!where || write_register(*handle->card(), where->first, where->second, value) != 0) {
      return static_cast<size_t>(-1);
    }
  }
  return size;
}
