// SPDX-License-Identifier: Apache-2.0
//
// Functions of XRT's device and system that its software-emulation objects do not support: user
// interrupts, buffers of another process, devices by bus address, and the number of devices.
//
// The objects' virtual tables refer to these functions by name and define them weakly (the build
// makes those of swemu::system weak), so the definitions here take their place. An ishim is the
// first part of the xrt_core::device that DeviceHandle keeps. Errors: exceptions, as XRT expects.
#include <sys/syscall.h>
#include <unistd.h>
#include <xrt.h>

#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <stdexcept>
#include <system_error>

#include "emulation/xrt_shim/card/interrupts.h"
#include "emulation/xrt_shim/core_device.h"
#include "emulation/xrt_shim/device_handle.h"
#include "emulation/xrt_shim/settings.h"
#include "emulation/xrt_shim/xrt_internal.h"

namespace {

using tandem::emulation::DeviceHandle;
using tandem::emulation::Interrupts;
using tandem::emulation::settings;

DeviceHandle& handle_of(const void* device) {
  DeviceHandle* handle = DeviceHandle::find_core(device);
  if (handle == nullptr) {
    throw std::system_error(ENODEV, std::generic_category(), "the device is closed");
  }
  return *handle;
}

std::system_error last_error(const char* what) { return {errno, std::generic_category(), what}; }

// This process' copy of `descriptor` of `process`.
int fetch_descriptor(pid_t process, int descriptor) {
  const auto handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
  if (handle < 0) throw last_error("cannot reach the process of an exported buffer");
  const auto copy = static_cast<int>(syscall(SYS_pidfd_getfd, handle, descriptor, 0));
  const auto error = last_error("cannot take an exported buffer from its process");
  close(handle);
  if (copy < 0) throw error;
  return copy;
}

}  // namespace

namespace xrt_core {

xclInterruptNotifyHandle ishim::open_ip_interrupt_notify(unsigned int unit) {
  const auto& card = handle_of(this).card();
  const auto program = card->program();
  if (program == nullptr || unit >= program->units.size()) {
    throw std::system_error(EINVAL, std::generic_category(), "no such compute unit");
  }
  return Interrupts::instance().open(card, unit);
}

void ishim::close_ip_interrupt_notify(xclInterruptNotifyHandle id) {
  Interrupts::instance().close(id);
}

void ishim::enable_ip_interrupt(xclInterruptNotifyHandle id) { Interrupts::instance().enable(id); }

void ishim::disable_ip_interrupt(xclInterruptNotifyHandle id) {
  Interrupts::instance().disable(id);
}

void ishim::wait_ip_interrupt(xclInterruptNotifyHandle id) {
  Interrupts::instance().wait(id, std::chrono::milliseconds(-1));
}

std::cv_status ishim::wait_ip_interrupt(xclInterruptNotifyHandle id, int32_t timeout_ms) {
  return Interrupts::instance().wait(id, std::chrono::milliseconds(timeout_ms))
             ? std::cv_status::no_timeout
             : std::cv_status::timeout;
}

xclBufferHandle ishim::import_bo(pid_t process, xclBufferExportHandle exported) {
  DeviceHandle& handle = handle_of(this);
  const bool own = process == 0 || process == getpid();
  const int descriptor = own ? exported : fetch_descriptor(process, exported);
  const xclBufferHandle buffer = xclImportBO(&handle, descriptor, 0);
  if (!own) close(descriptor);
  if (buffer == XRT_NULL_BO) {
    throw std::system_error(EINVAL, std::generic_category(), "cannot import the buffer");
  }
  return buffer;
}

// "1", or a bus address as get_info<bdf>() gives it: 0000:00:01.0 is card 1.
unsigned int system::get_device_id(const std::string& text) const {
  const auto fail = [&]() -> unsigned int {
    throw std::system_error(EINVAL, std::generic_category(),
                            "no device '" + text + "'; there are " +
                                std::to_string(settings().num_cards) +
                                ", 0000:00:00.0 is the first");
  };
  const size_t colon = text.rfind(':');
  const bool is_address = colon != std::string::npos;
  std::string number = is_address ? text.substr(colon + 1) : text;
  if (is_address) {
    if (number.size() < 3 || number.substr(number.size() - 2) != ".0") return fail();
    number.resize(number.size() - 2);
    if (text.substr(0, colon).find_first_not_of("0:") != std::string::npos) return fail();
  }
  unsigned int index = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, code] = std::from_chars(number.data(), end, index, is_address ? 16 : 10);
  if (code != std::errc() || stop != end || index >= settings().num_cards) return fail();
  return index;
}

namespace swemu {

// All devices, and those that work. No device is broken before it is opened.
std::pair<unsigned int, unsigned int> system::get_total_devices(bool) const {
  return {settings().num_cards, settings().num_cards};
}

std::shared_ptr<xrt_core::device> system::get_userpf_device(void* handle,
                                                            unsigned int index) const {
  return tandem::emulation::make_core_device(handle, index);
}

}  // namespace swemu
}  // namespace xrt_core
