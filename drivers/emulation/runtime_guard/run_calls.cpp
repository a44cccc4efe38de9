// SPDX-License-Identifier: Apache-2.0
//
// xrt::run before Debian's: tells the shim which arguments are set and when a program looks at a
// run; holds runs whose callback is to come.
//
// The shim is in the process once a program has a device. Cost without checks: a call and a load.
#include <dlfcn.h>
#include <xrt/xrt_kernel.h>

#include <cstring>
#include <exception>
#include <stdexcept>
#include <utility>

#include "emulation/protocol/run_calls.h"
#include "emulation/runtime_guard/debian_function.h"
#include "emulation/runtime_guard/held_runs.h"
#include "emulation/runtime_guard/run_packet.h"

namespace {

using tandem::emulation::debian_function;
using tandem::emulation::GivenArgument;
using tandem::emulation::HeldRuns;
using tandem::emulation::packet_of;
using tandem::emulation::RunCalls;

// As the C++ ABI of Linux names them; the object's address is the first argument.
constexpr const char* kMakeRun = "_ZN3xrt3runC1ERKNS_6kernelE";
constexpr const char* kSetValue = "_ZN3xrt3run16set_arg_at_indexEiPKvm";
constexpr const char* kSetBuffer = "_ZN3xrt3run16set_arg_at_indexEiRKNS_2boE";
constexpr const char* kWait = "_ZNK3xrt3run4waitERKNSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";
constexpr const char* kCallback =
    "_ZN3xrt3run12add_callbackE13ert_cmd_stateSt8functionIFvPKvS1_PvEES5_";
constexpr const char* kEvent = "_ZNK3xrt3run9set_eventERKSt10shared_ptrINS_10event_implEE";
constexpr const char* kStart = "_ZN3xrt3run5startEv";
constexpr const char* kRepeat = "_ZN3xrt3run5startERKNS_9autostartE";
constexpr const char* kStop = "_ZN3xrt3run4stopEv";
constexpr const char* kAbort = "_ZN3xrt3run5abortEv";
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
void tell_of(const xrt::run& run, int index, const GivenArgument& given, const Call& call) {
  const RunCalls* const calls = run ? run_calls() : nullptr;
  if (calls == nullptr) return call();
  try {
    // Debian's library would crash.
    const char* const why = given.is_buffer ? calls->why_no_buffer(packet_of(run), index) : nullptr;
    if (why != nullptr) throw std::invalid_argument(why);
    call();
  } catch (const std::exception& error) {
    calls->set(packet_of(run), index, given, error.what());
    throw;
  }
  calls->set(packet_of(run), index, given, nullptr);
}

// Whether the code is of a library whose file's name begins so.
bool is_of(const char* library, const void* code) {
  Dl_info info{};
  if (dladdr(code, &info) == 0) return false;
  const char* const folder_end = std::strrchr(info.dli_fname, '/');
  const char* const name = folder_end == nullptr ? info.dli_fname : folder_end + 1;
  return std::strncmp(name, library, std::strlen(library)) == 0;
}

bool is_opencl(const void* code) { return is_of("libxilinxopencl", code); }

// The shim, which XRT loads by one of these names.
bool is_shim(const void* code) {
  return is_of("libxrt_core.so", code) || is_of("libxrt_hwemu.so", code) ||
         is_of("libxrt_swemu.so", code);
}

bool is_over(ert_cmd_state state) {
  return state == ERT_CMD_STATE_COMPLETED || state == ERT_CMD_STATE_ERROR ||
         state == ERT_CMD_STATE_ABORT;
}

// Call it after the program has waited for a run (`by_wait`) or asked for its state.
ert_cmd_state after_query(const xrt::run& run, ert_cmd_state state, bool by_wait = false) {
  if (const RunCalls* const calls = run_calls()) {
    calls->state_queried();
    if (is_over(state)) calls->waited(packet_of(run), by_wait);
    if (state == ERT_CMD_STATE_TIMEOUT) calls->timed_out(packet_of(run));
  }
  return state;
}

// Runs `start`.
template <typename Start>
void start_held(const xrt::run& run, const Start& start) {
  if (!run) return start();
  HeldRuns::instance().starts(run);
  try {
    start();
  } catch (...) {
    HeldRuns::instance().start_failed(run);
    throw;
  }
}

void told_later(const xrt::run& run) {
  const RunCalls* const calls = run ? run_calls() : nullptr;
  if (calls != nullptr) calls->told_later(packet_of(run));
}

}  // namespace

namespace xrt {

run::run(const kernel& krnl) : run(made_run(krnl)) {
  HeldRuns::instance().made(*this);
  if (const RunCalls* const calls = run_calls()) {
    calls->made(packet_of(*this), !is_opencl(__builtin_return_address(0)));
  }
}

void run::set_arg_at_index(int index, const void* value, std::size_t bytes) {
  static auto* const set = debian_function<void(run*, int, const void*, std::size_t)>(kSetValue);
  tell_of(*this, index, {false, bytes, 0}, [&] { set(this, index, value, bytes); });
}

void run::set_arg_at_index(int index, const bo& buffer) {
  static auto* const set = debian_function<void(run*, int, const bo&)>(kSetBuffer);
  const std::uint64_t address = buffer ? buffer.address() : 0;
  tell_of(*this, index, {true, 0, address}, [&] {
    if (!buffer && run_calls() != nullptr) throw std::invalid_argument("the xrt::bo is empty");
    set(this, index, buffer);
  });
}

ert_cmd_state run::wait(const std::chrono::milliseconds& timeout) const {
  static auto* const wait =
      debian_function<ert_cmd_state(const run*, const std::chrono::milliseconds&)>(kWait);
  return after_query(*this, wait(this, timeout), true);
}

void run::add_callback(ert_cmd_state state,
                       std::function<void(const void*, ert_cmd_state, void*)> function,
                       void* data) {
  using Function = std::function<void(const void*, ert_cmd_state, void*)>;
  static auto* const add = debian_function<void(run*, ert_cmd_state, Function, void*)>(kCallback);
  const bool by_opencl = is_opencl(__builtin_return_address(0));
  add(this, state, std::move(function), data);
  const RunCalls* const calls = by_opencl && *this ? run_calls() : nullptr;
  if (calls != nullptr) calls->of_opencl(packet_of(*this));
  if (!by_opencl && HeldRuns::instance().gets_callback(*this)) {
    const auto end = [](const void*, ert_cmd_state, void* packet) { HeldRuns::ended(packet); };
    add(this, ERT_CMD_STATE_COMPLETED, end, packet_of(*this));
  }
  told_later(*this);
}

void run::set_event(const std::shared_ptr<event_impl>& event) const {
  static auto* const set =
      debian_function<void(const run*, const std::shared_ptr<event_impl>&)>(kEvent);
  set(this, event);
  told_later(*this);
}

// A program that has the packet may wait for its state there. XRT's libraries and the shim take it,
// too.
ert_packet* run::get_ert_packet() const {
  const void* const caller = __builtin_return_address(0);
  if (!is_opencl(caller) && !is_shim(caller)) told_later(*this);
  return packet_of(*this);
}

void run::start(const autostart& iterations) {
  static auto* const start = debian_function<void(run*, const autostart&)>(kRepeat);
  told_later(*this);
  start_held(*this, [&] { start(this, iterations); });
}

void run::start() {
  static auto* const start = debian_function<void(run*)>(kStart);
  start_held(*this, [&] { start(this); });
}

void run::stop() {
  static auto* const stop = debian_function<void(run*)>(kStop);
  stop(this);
  static_cast<void>(state());  // it has waited, and the state tells so
}

ert_cmd_state run::abort() {
  static auto* const abort = debian_function<ert_cmd_state(run*)>(kAbort);
  return after_query(*this, abort(this));
}

ert_cmd_state run::state() const {
  static auto* const state = debian_function<ert_cmd_state(const run*)>(kState);
  return after_query(*this, state(this));
}

}  // namespace xrt
