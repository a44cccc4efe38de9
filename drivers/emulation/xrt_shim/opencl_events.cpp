// SPDX-License-Identifier: Apache-2.0
//
// The functions looked up are exported by libxilinxopencl; the only thing known of its objects is
// where an execution context keeps its event, and the library's build id vouches for that.
#include "emulation/xrt_shim/opencl_events.h"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
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
#include <unordered_set>

namespace tandem::emulation {
namespace {

constexpr char kLibrary[] = "libxilinxopencl.so.2";
// libxrt1 202210.2.13.466+dfsg-8, amd64.
constexpr std::array<unsigned char, 20> kKnownBuild = {0x22, 0xc6, 0x80, 0xe2, 0x64, 0x1c, 0x4b,
                                                       0xc0, 0x1c, 0xce, 0x8b, 0xa6, 0x85, 0x2d,
                                                       0x9b, 0xe1, 0x22, 0x1f, 0xb3, 0xec};
constexpr size_t kEventOffset = 136;  // of xocl::execution_context::m_event
constexpr int kLostByte = 0xdb;

// The library's functions, by their mangled names; members take their object first.
using SetStatus = int (*)(void* event, int status);
using AddCallback = void (*)(void* event, std::function<void(int)> callback);
using KernelCallback = std::function<void(const void* context, const xrt::run& run)>;
using AddKernelCallback = void (*)(KernelCallback callback);

constexpr char kSetStatus[] = "_ZN4xocl5event10set_statusEi";
constexpr char kAddCallback[] = "_ZN4xocl5event12add_callbackESt8functionIFviEE";
constexpr char kAddStart[] =
    "_ZN4xocl26add_command_start_callbackESt8functionIFvPKNS_17execution_contextERKN3xrt3runEEE";
constexpr char kAddDone[] =
    "_ZN4xocl25add_command_done_callbackESt8functionIFvPKNS_17execution_contextERKN3xrt3runEEE";

std::atomic<bool> in_use{false};
std::atomic<bool> kernels_started{false};
SetStatus set_status = nullptr;
AddCallback add_callback = nullptr;

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

// Events whose kernel failed and that are not yet told; several work groups of one may fail.
class FailedEvents {
 public:
  bool insert(void* event) {
    std::lock_guard lock(mutex_);
    return events_.insert(event).second;
  }
  void erase(void* event) {
    std::lock_guard lock(mutex_);
    events_.erase(event);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<void*> events_;
};

FailedEvents& failed_events() {
  static auto* events = new FailedEvents;  // callbacks may run while the process ends
  return *events;
}

// Called before the event becomes complete. The event runs its callbacks with the status already
// CL_COMPLETE and before it wakes anybody, so that is the moment to correct it.
void on_kernel_end(const void* context, const xrt::run& run) {
  if (run.state() == ERT_CMD_STATE_COMPLETED) return;
  void* event = nullptr;
  std::memcpy(&event, static_cast<const std::byte*>(context) + kEventOffset, sizeof(event));
  if (!failed_events().insert(event)) return;
  add_callback(event, [event](int) {
    failed_events().erase(event);
    set_status(event, CL_OUT_OF_RESOURCES);
  });
}

template <typename Function>
Function function_in(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void install() {
  void* library = dlopen(kLibrary, RTLD_NOLOAD | RTLD_LAZY);  // never closed: it calls us back
  if (library == nullptr) return;
  set_status = function_in<SetStatus>(library, kSetStatus);
  add_callback = function_in<AddCallback>(library, kAddCallback);
  const auto add_start = function_in<AddKernelCallback>(library, kAddStart);
  const auto add_done = function_in<AddKernelCallback>(library, kAddDone);
  if (!set_status || !add_callback || !add_start || !add_done) return;
  add_start(
      [](const void*, const xrt::run&) { kernels_started.store(true, std::memory_order_relaxed); });
  bool known = false;
  dl_iterate_phdr(look_for_known_build, &known);
  if (known) add_done(on_kernel_end);
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
