// SPDX-License-Identifier: Apache-2.0
//
// xrt::run before Debian's: tells the shim which arguments are set and when a program looks at a
// run.
//
// The shim is in the process once a program has a device. Cost without checks: a call and a load.
#include <dlfcn.h>
#include <xrt/xrt_kernel.h>

#include <cstring>
#include <exception>
#include <utility>

#include "emulation/protocol/run_calls.h"
#include "emulation/runtime_guard/debian_function.h"

namespace {

using tandem::emulation::debian_function;
using tandem::emulation::RunCalls;

// As the C++ ABI of Linux names them; the object's address is the first argument.
constexpr const char* kMakeRun = "_ZN3xrt3runC1ERKNS_6kernelE";
constexpr const char* kSetValue = "_ZN3xrt3run16set_arg_at_indexEiPKvm";
constexpr const char* kSetBuffer = "_ZN3xrt3run16set_arg_at_indexEiRKNS_2boE";
constexpr const char* kWait = "_ZNK3xrt3run4waitERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";
constexpr const char* kState = "_ZNK3xrt3run5stateEv";

// Null if nothing is checked, or if XRT uses another shim.
const RunCalls* run_calls() {
  static auto* const function = [] {
    void* const shim = dlopen("libxrt_core.so.2", RTLD_LAZY | RTLD_NOLOAD);
    void* const address =
        shim == nullptr ? nullptr : dlsym(shim, tandem::emulation::kRunCallsFunction);
    return reinterpret_cast<tandem::emulation::RunCallsFunction*>(address);
  }();
  return function == nullptr ? nullptr : function();
}

xrt::run made_run(const xrt::kernel& kernel) {
  static auto* const make = debian_function<void(void*, const xrt::kernel&)>(kMakeRun);
  union Place {
    Place() {}
    ~Place() {}
    xrt::run object;
  } place;
  make(&place.object, kernel);
  xrt::run made = std::move(place.object);
  place.object.~run();
  return made;
}

// Runs `call`, which sets an argument of `run`.
template <typename Call>
void tell_of(const xrt::run& run, int index, bool is_buffer, std::size_t num_bytes,
             const Call& call) {
  const RunCalls* const calls = run ? run_calls() : nullptr;
  if (calls == nullptr) return call();
  try {
    call();
  } catch (const std::exception& error) {
    calls->set(run.get_ert_packet(), index, is_buffer, num_bytes, error.what());
    throw;
  }
  calls->set(run.get_ert_packet(), index, is_buffer, num_bytes, nullptr);
}

bool is_opencl(const void* code) {
  Dl_info info{};
  return dladdr(code, &info) != 0 && std::strstr(info.dli_fname, "libxilinxopencl") != nullptr;
}

// Call it after the program has waited for a run or asked for its state.
ert_cmd_state told(ert_cmd_state state) {
  if (const RunCalls* const calls = run_calls()) calls->looked();
  return state;
}

}  // namespace

namespace xrt {

run::run(const kernel& krnl) : run(made_run(krnl)) {
  if (const RunCalls* const calls = run_calls()) {
    calls->made(get_ert_packet(), !is_opencl(__builtin_return_address(0)));
  }
}

void run::set_arg_at_index(int index, const void* value, std::size_t bytes) {
  static auto* const set = debian_function<void(run*, int, const void*, std::size_t)>(kSetValue);
  tell_of(*this, index, false, bytes, [&] { set(this, index, value, bytes); });
}

void run::set_arg_at_index(int index, const bo& buffer) {
  static auto* const set = debian_function<void(run*, int, const bo&)>(kSetBuffer);
  tell_of(*this, index, true, 0, [&] { set(this, index, buffer); });
}

ert_cmd_state run::wait(const std::chrono::milliseconds& timeout) const {
  static auto* const wait =
      debian_function<ert_cmd_state(const run*, const std::chrono::milliseconds&)>(kWait);
  return told(wait(this, timeout));
}

ert_cmd_state run::state() const {
  static auto* const state = debian_function<ert_cmd_state(const run*)>(kState);
  return told(state(this));
}

}  // namespace xrt
