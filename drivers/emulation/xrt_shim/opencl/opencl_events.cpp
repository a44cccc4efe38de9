// SPDX-License-Identifier: Apache-2.0
//
// The functions that are looked up are exported by libxilinxopencl. Of its objects only two offsets
// are known: of an execution context's event, and of an event's handle. They hold for one build,
// which is recognised by its build id.
#include "emulation/xrt_shim/opencl/opencl_events.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <xrt/xrt_kernel.h>

#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "emulation/opencl_layer/failures.h"
#include "emulation/protocol/modelled_time.h"
#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/device_handle.h"

namespace tandem::emulation {
namespace {

constexpr char kLibrary[] = "libxilinxopencl.so.2";
// libxrt1 202210.2.13.466+dfsg-8, amd64.
constexpr std::array<unsigned char, 20> kKnownBuild = {0x22, 0xc6, 0x80, 0xe2, 0x64, 0x1c, 0x4b,
                                                       0xc0, 0x1c, 0xce, 0x8b, 0xa6, 0x85, 0x2d,
                                                       0x9b, 0xe1, 0x22, 0x1f, 0xb3, 0xec};
constexpr size_t kEventOffset = 136;  // of xocl::execution_context::m_event
constexpr size_t kHandleOffset = 16;  // of _cl_event in xocl::event
constexpr int kLostByte = 0xdb;

// The library's functions by their mangled names. A member's first parameter is its object.
using EventCallback = std::function<void(void* event)>;
using AddEventCallback = void (*)(EventCallback&& callback);
using KernelCallback = std::function<void(const void* context, const xrt::run& run)>;
using AddKernelCallback = void (*)(KernelCallback callback);

constexpr char kAddEnd[] = "_ZN4xocl5event29register_destructor_callbacksEOSt8functionIFvPS0_EE";
constexpr char kAddStart[] =
    "_ZN4xocl26add_command_start_callbackESt8functionIFvPKNS_17execution_contextERKN3xrt3runEEE";
constexpr char kAddDone[] =
    "_ZN4xocl25add_command_done_callbackESt8functionIFvPKNS_17execution_contextERKN3xrt3runEEE";

std::atomic<bool> in_use{false};
std::atomic<bool> kernels_started{false};
decltype(&clGetEventInfo) get_event_info = nullptr;

bool is_known_build(const dl_phdr_info& info) {
  for (int index = 0; index < info.dlpi_phnum; ++index) {
    const auto& header = info.dlpi_phdr[index];
    if (header.p_type != PT_NOTE) continue;
    const auto* note = reinterpret_cast<const std::byte*>(info.dlpi_addr + header.p_vaddr);
    const std::byte* end = note + header.p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) fields;
      std::memcpy(&fields, note, sizeof(fields));
      const std::byte* name = note + sizeof(fields);
      const std::byte* text = name + (fields.n_namesz + 3) / 4 * 4;
      if (fields.n_type == NT_GNU_BUILD_ID && fields.n_descsz == kKnownBuild.size()) {
        return std::memcmp(text, kKnownBuild.data(), kKnownBuild.size()) == 0;
      }
      note = text + (fields.n_descsz + 3) / 4 * 4;
    }
  }
  return false;
}

int look_for_known_build(dl_phdr_info* info, size_t, void* known) {
  if (std::string(info->dlpi_name).find(kLibrary) == std::string::npos) return 0;
  *static_cast<bool*>(known) = is_known_build(*info);
  return 1;
}

// Modelled times of kernels by event, until the events end.
class ModelledTimes {
 public:
  void add(void* event, uint64_t nanoseconds) {
    std::lock_guard lock(mutex_);
    times_[event] += nanoseconds;
    any_.store(true, std::memory_order_release);
  }
  uint64_t of(void* event) {
    if (!any_.load(std::memory_order_acquire)) return 0;
    std::lock_guard lock(mutex_);
    const auto found = times_.find(event);
    return found == times_.end() ? 0 : found->second;
  }
  void erase(void* event) {
    if (!any_.load(std::memory_order_acquire)) return;
    std::lock_guard lock(mutex_);
    times_.erase(event);
  }

 private:
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::unordered_map<void*, uint64_t> times_;
};

ModelledTimes& modelled_times() {
  static auto* all = new ModelledTimes;  // as below
  return *all;
}

// Events of failed kernels, until the events end; and their queues, until the queues are asked.
class Failures {
 public:
  void add(void* event, cl_command_queue queue) {
    std::lock_guard lock(mutex_);
    events_.insert(event);
    queues_.insert(queue);
    any_.store(true, std::memory_order_release);
  }
  bool has_event(void* event) {
    if (!any_.load(std::memory_order_acquire)) return false;
    std::lock_guard lock(mutex_);
    return events_.count(event) != 0;
  }
  bool has_queue(cl_command_queue queue, bool forget) {
    if (!any_.load(std::memory_order_acquire)) return false;
    std::lock_guard lock(mutex_);
    return forget ? queues_.erase(queue) != 0 : queues_.count(queue) != 0;
  }
  void erase(void* event) {
    if (!any_.load(std::memory_order_acquire)) return;
    std::lock_guard lock(mutex_);
    events_.erase(event);
  }

 private:
  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::unordered_set<void*> events_;
  std::unordered_set<cl_command_queue> queues_;
};

Failures& failures() {
  static auto* all = new Failures;  // callbacks may run while the process ends
  return *all;
}

cl_event handle_of(void* event) {
  return reinterpret_cast<cl_event>(static_cast<std::byte*>(event) + kHandleOffset);
}

// Called before the event becomes complete, for each run of its kernel.
void on_kernel_end(const void* context, const xrt::run& run) {
  const uint64_t nanoseconds = modelled_time(run.get_ert_packet());
  const bool failed = run.state() != ERT_CMD_STATE_COMPLETED;
  if (!failed && nanoseconds == 0) return;
  void* event = nullptr;
  std::memcpy(&event, static_cast<const std::byte*>(context) + kEventOffset, sizeof(event));
  if (nanoseconds != 0) modelled_times().add(event, nanoseconds);
  if (!failed) return;
  cl_command_queue queue = nullptr;
  get_event_info(handle_of(event), CL_EVENT_COMMAND_QUEUE, sizeof(queue), &queue, nullptr);
  failures().add(event, queue);
}

void on_event_end(void* event) {
  failures().erase(event);
  modelled_times().erase(event);
}

template <typename Function>
Function function_in(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void install() {
  void* library = dlopen(kLibrary, RTLD_NOLOAD | RTLD_LAZY);  // never closed: it calls us back
  if (library == nullptr) return;
  get_event_info = function_in<decltype(&clGetEventInfo)>(library, "clGetEventInfo");
  const auto add_end = function_in<AddEventCallback>(library, kAddEnd);
  const auto add_start = function_in<AddKernelCallback>(library, kAddStart);
  const auto add_done = function_in<AddKernelCallback>(library, kAddDone);
  if (!get_event_info || !add_end || !add_start || !add_done) return;
  add_start(
      [](const void*, const xrt::run&) { kernels_started.store(true, std::memory_order_relaxed); });
  bool known = false;
  dl_iterate_phdr(look_for_known_build, &known);
  if (!known) return;
  add_end(on_event_end);
  add_done(on_kernel_end);
}

}  // namespace

void watch_opencl_kernels() {
  static std::once_flag once;
  in_use.store(true, std::memory_order_relaxed);
  std::call_once(once, install);
}

bool opencl_in_use() { return in_use.load(std::memory_order_relaxed); }

bool opencl_kernels_started() { return kernels_started.load(std::memory_order_relaxed); }

void fill_with_lost_data(std::byte* host, size_t size_bytes) {
  std::memset(host, kLostByte, size_bytes);
}

}  // namespace tandem::emulation

int tandem_opencl_event_failed(cl_event event) {
  auto* object = reinterpret_cast<std::byte*>(event) - tandem::emulation::kHandleOffset;
  return tandem::emulation::failures().has_event(object) ? 1 : 0;
}

unsigned long long tandem_opencl_modelled_ns(cl_event event) {
  auto* object = reinterpret_cast<std::byte*>(event) - tandem::emulation::kHandleOffset;
  return tandem::emulation::modelled_times().of(object);
}

int tandem_opencl_contexts_open() { return tandem::emulation::Card::any_context() ? 1 : 0; }

int tandem_opencl_devices_open() { return tandem::emulation::DeviceHandle::any() ? 1 : 0; }

int tandem_opencl_queue_failed(cl_command_queue queue, int forget) {
  return tandem::emulation::failures().has_queue(queue, forget != 0) ? 1 : 0;
}
