// SPDX-License-Identifier: Apache-2.0
//
// The copy becomes a shared object, whose counters are found by name.
#include "benchmarks/bitstreams/kernel_time/timed_kernel.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/timing/stream_events.h"
#include "bitstreams/compiler/vpp/timed_copy.h"
#include "common/error.h"

namespace tandem::kernel_time {
namespace {

constexpr const char* kKernel = "top";

alignas(4096) char device_memory[kArguments * kArgumentBytes];

// The streams and processes of the run. Processes run one after the other; the kernel is 1.
struct Recording {
  timing::StreamEvents events;
  double depth = 0;  // of the streams; 0: the default
  std::map<const void*, int> streams = {};
  std::uint64_t last_process = 1;

  void access(const void* stream, int point) {
    const auto [found, is_new] = streams.emplace(stream, 0);
    if (is_new) {
      timing::ReplayedStream told;
      if (depth > 0) told.depth = depth;
      found->second = events.add_stream(told);
    }
    events.access(found->second, point);
  }
};
Recording* recording = nullptr;

std::string compile_shared(const std::string& source, const std::string& folder,
                           const std::string& headers, double clock_mhz,
                           const std::vector<std::string>& flags) {
  const std::string stem = std::filesystem::path(source).stem().string();
  vpp::TimedSource timed;
  timed.clang = find_clang();
  timed.job.flags = {"-std=c++14", "-fPIC", "-I" + headers};
  timed.job.flags.insert(timed.job.flags.end(), flags.begin(), flags.end());
  timed.job.source = source;
  timed.job.folder = folder;
  timed.job.stem = stem;
  timed.complete = [](std::string text) { return text; };
  timed.kernel = kKernel;
  timed.clock_mhz = clock_mhz;
  timed.has_kernel = true;
  const std::string object = vpp::compile_timed(timed);
  const std::string shared = folder + "/" + stem + ".so";
  xclbin::run_tool({"c++", "-shared", object, "-o", shared}, stem + " does not link");
  return shared;
}

void* symbol(void* library, const std::string& name) {
  void* const found = dlsym(library, name.c_str());
  if (found == nullptr) throw Error("time", "the kernel's copy has no " + name);
  return found;
}

}  // namespace

std::string find_clang() { return vpp::find_timing_clang(""); }

timing::RunTime time_kernel(const std::string& source, const std::string& folder,
                            const std::string& headers, const timing::TimedCard& card,
                            const std::vector<std::string>& flags, double depth) {
  const std::string path = compile_shared(source, folder, headers, card.clock_mhz, flags);
  const std::unique_ptr<void, int (*)(void*)> library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                      &dlclose);
  if (library == nullptr) throw Error("time", path + " does not load");
  const timing::KernelModel model = timing::read_model(
      static_cast<const char*>(symbol(library.get(), "tandem_time_model_" + std::string(kKernel))));
  std::fill(std::begin(device_memory), std::end(device_memory), '\0');
  std::vector<char*> memory;
  std::vector<timing::TimedArgument> arguments;
  for (std::size_t index = 0; index < kArguments; ++index) {
    memory.push_back(device_memory + index * kArgumentBytes);
    const std::string number = std::to_string(index);
    arguments.push_back({"argument " + number, "gmem" + number, index * kArgumentBytes});
  }
  const auto* const counters = static_cast<const std::uint64_t*>(
      symbol(library.get(), "tandem_time_counts_" + std::string(kKernel)));
  const auto* const sites = static_cast<const timing::SiteRecord*>(
      symbol(library.get(), "tandem_time_sites_" + std::string(kKernel)));
  const auto counts = [&] {
    timing::RunCounts now;
    now.counters.assign(counters, counters + model.num_counters);
    now.sites.assign(sites, sites + model.sites.size());
    return now;
  };
  Recording run{
      {model, counters, [&] { return timing::work_costs(model, counts(), arguments, card); }},
      depth};
  recording = &run;
  using Call = void (*)(char* const*);
  reinterpret_cast<Call>(symbol(library.get(), "call"))(memory.data());
  recording = nullptr;
  if (!run.events.any()) return timing::estimate(model, counts(), arguments, card);
  const timing::ReplayedRun replayed = run.events.finish();
  return timing::estimate(model, counts(), arguments, card, &replayed);
}

}  // namespace tandem::kernel_time

extern "C" __attribute__((visibility("default"))) void tandem_time_access(const char* at,
                                                                          std::uint64_t* record,
                                                                          std::uint64_t bytes) {
  using namespace tandem;
  timing::note_access(*reinterpret_cast<timing::SiteRecord*>(record),
                      reinterpret_cast<std::uint64_t>(at), bytes,
                      reinterpret_cast<std::uint64_t>(kernel_time::device_memory),
                      sizeof(kernel_time::device_memory));
}

// A null stream: the processes that are started next are of a region of the function `number`.
extern "C" __attribute__((visibility("default"))) void tandem_time_stream(const char* stream,
                                                                          std::uint64_t number) {
  using tandem::kernel_time::recording;
  if (recording == nullptr) return;
  if (stream == nullptr) {
    recording->events.region(static_cast<int>(number));
  } else {
    recording->access(stream, static_cast<int>(number));
  }
}

// Processes of a dataflow region, one after the other.
extern "C" {
__attribute__((visibility("default"))) void* tandem_region_open() {
  return tandem::kernel_time::device_memory;
}
__attribute__((visibility("default"))) void tandem_region_start_using(void*, const char* name,
                                                                      void (*body)(void*),
                                                                      void* argument, const void*,
                                                                      std::size_t) {
  using tandem::kernel_time::recording;
  if (recording == nullptr) return body(argument);
  const std::uint64_t process = ++recording->last_process;
  recording->events.started(process, name, {});
  recording->events.switched(1, process);
  body(argument);
  recording->events.ended(process);
  recording->events.switched(process, 1);
}
__attribute__((visibility("default"))) void tandem_region_await_turn() {}
__attribute__((visibility("default"))) void tandem_region_join(void*) {
  if (tandem::kernel_time::recording != nullptr) tandem::kernel_time::recording->events.joined();
}
__attribute__((visibility("default"))) void tandem_region_drop(void*) {}
}
