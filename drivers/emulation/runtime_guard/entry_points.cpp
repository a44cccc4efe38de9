// SPDX-License-Identifier: Apache-2.0
//
// libxrt_coreutil.so.2 of the tree: a check before every function of XRT that takes an xclbin.
//
// XRT 2.13 reads beyond the bytes of a truncated xclbin, which may end the process. The loader
// finds this library first (LD_LIBRARY_PATH, set by setup.sh). It depends on Debian's library,
// which keeps all other symbols. Each function here checks the xclbin and calls Debian's function.
// Debian's library binds its own calls to itself, so every public entry needs its own check.
// Errors: std::runtime_error with field and byte offset; in the C API XRT's error code and a
// message. Threads: any.
#include <experimental/xrt_message.h>
#include <experimental/xrt_xclbin.h>
#include <xrt/xrt_device.h>

#include <cerrno>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulation/runtime_guard/debian_function.h"
#include "emulation/runtime_guard/readable_xclbin.h"
#include "xrt/card/xclbin_bounds.h"

namespace {

using tandem::device::xrt_card::check_xclbin_bytes;
using tandem::device::xrt_card::check_xclbin_file;
using tandem::emulation::debian_function;

// Constructors of xrt::xclbin as the C++ ABI of Linux names them; the object's address is the first
// argument.
constexpr const char* kFromFile =
    "_ZN3xrt6xclbinC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE";
constexpr const char* kFromBytes = "_ZN3xrt6xclbinC1ERKSt6vectorIcSaIcEE";
constexpr const char* kFromMemory = "_ZN3xrt6xclbinC1EPK4axlf";

void check(const std::string& path) { check_xclbin_file(path); }
void check(const std::vector<char>& bytes) {
  check_xclbin_bytes(std::as_bytes(std::span(bytes)), "in memory");
}
void check(const axlf* top) {
  check_xclbin_bytes(tandem::emulation::readable_xclbin(top), "in memory");
}

// `Argument`: the constructor's parameter type.
template <typename Argument>
xrt::xclbin checked(const char* constructor, Argument source) {
  check(source);
  union Place {
    Place() {}
    ~Place() {}
    xrt::xclbin object;
  } place;
  debian_function<void(void*, Argument)>(constructor)(&place.object, source);
  xrt::xclbin made = std::move(place.object);
  place.object.~xclbin();
  return made;
}

// Runs `call` of the C API; a refused xclbin is reported as XRT reports its own.
template <typename Result, typename Call>
Result or_error(Result failed, const Call& call) {
  try {
    return call();
  } catch (const std::exception& error) {
    xrt::message::log(xrt::message::level::error, "TANDEM", std::string(error.what()));
    errno = EINVAL;
    return failed;
  }
}

std::string path_of(const char* path) { return path == nullptr ? "" : path; }

}  // namespace

namespace xrt {

xclbin::xclbin(const std::string& path) : xclbin(checked<const std::string&>(kFromFile, path)) {}

xclbin::xclbin(const std::vector<char>& bytes)
    : xclbin(checked<const std::vector<char>&>(kFromBytes, bytes)) {}

xclbin::xclbin(const axlf* top) : xclbin(checked<const axlf*>(kFromMemory, top)) {}

uuid device::load_xclbin(const std::string& path) { return load_xclbin(xclbin(path)); }

uuid device::load_xclbin(const axlf* top) { return load_xclbin(xclbin(top)); }

}  // namespace xrt

extern "C" {

int xrtDeviceLoadXclbin(xrtDeviceHandle device, const axlf* top) {
  return or_error(-1, [&] {
    check(top);
    return debian_function<decltype(xrtDeviceLoadXclbin)>("xrtDeviceLoadXclbin")(device, top);
  });
}

int xrtDeviceLoadXclbinFile(xrtDeviceHandle device, const char* path) {
  return or_error(-1, [&] {
    check(path_of(path));
    return debian_function<decltype(xrtDeviceLoadXclbinFile)>("xrtDeviceLoadXclbinFile")(device,
                                                                                         path);
  });
}

xrtXclbinHandle xrtXclbinAllocFilename(const char* path) {
  return or_error(xrtXclbinHandle{}, [&] {
    check(path_of(path));
    return debian_function<decltype(xrtXclbinAllocFilename)>("xrtXclbinAllocFilename")(path);
  });
}

xrtXclbinHandle xrtXclbinAllocRawData(const char* data, int size) {
  return or_error(xrtXclbinHandle{}, [&] {
    const std::size_t num_bytes = data == nullptr || size < 0 ? 0 : static_cast<std::size_t>(size);
    check_xclbin_bytes(std::as_bytes(std::span(data, num_bytes)), "in memory");
    return debian_function<decltype(xrtXclbinAllocRawData)>("xrtXclbinAllocRawData")(data, size);
  });
}
}
