// SPDX-License-Identifier: Apache-2.0
//
// ActivityTrace: the times of kernels, copies and memsets on the GPUs of this process, from CUPTI's
// activity records.
//
// CUPTI asks for buffers and returns them on its own thread, once a second and at the end; each
// record becomes a call of the sink there. Enqueueing does no extra work. CUPTI's clock is mapped
// to the steady clock by pairs of readings: one at the start, one per buffer. Kernels of a graph
// are ordinary records. Work that overlaps on one stream gets a second track. Other kinds of
// records, those without an end and those from before the start are ignored. Threads: any.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cuda/trace/cupti_library.h"
#include "device/activity.h"

namespace tandem::cuda {

// Converts nanoseconds of CUPTI's clock to points of the steady clock.
class ClockMap {
 public:
  using Clock = std::chrono::steady_clock;
  void add(std::uint64_t ns, Clock::time_point at);
  Clock::time_point map(std::uint64_t ns) const;

 private:
  struct Pair {
    std::uint64_t ns = 0;
    Clock::time_point at;
  };
  Pair first_, latest_;
  bool has_first_ = false;
};

// The short name of a kernel: "f<2>" for "void a::b::(anonymous namespace)::f<2>(int)" or its
// mangled name.
std::string readable_kernel_name(const char* name);

class ActivityTrace {
 public:
  using Warn = std::function<void(const std::string&)>;  // may be empty

  // One object per process at a time; callbacks hold it while they run. Throws Error that says why
  // CUPTI cannot record (no permission, another profiler).
  ActivityTrace(const Cupti& cupti, device::ActivitySink sink, Warn warn = {});
  ~ActivityTrace();
  ActivityTrace(const ActivityTrace&) = delete;
  ActivityTrace& operator=(const ActivityTrace&) = delete;

  static constexpr std::size_t kMostBuffers = 32, kBufferBytes = std::size_t{1} << 20;

  // Records that CUPTI dropped, because kMostBuffers were in use or for another reason. A warning
  // reports them at the end.
  std::size_t dropped() const;

 private:
  static constexpr std::size_t kMostLanes = 4;
  using Clock = ClockMap::Clock;
  struct Lanes {
    std::array<Clock::time_point, kMostLanes> ended{};
  };
  struct Span {
    std::uint32_t device, stream;
    std::string name;
    std::uint64_t begin, end;
    std::int64_t bytes;
  };

  static void request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records);
  static void take(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                   std::size_t valid_bytes);
  std::uint8_t* lend();
  void read(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes);
  void add(const CuptiRecord& record);
  void tell();
  void pair_clocks();

  const Cupti& cupti_;
  const device::ActivitySink sink_;
  const Warn warn_;
  // CUPTI may request a buffer on an enqueueing thread while another buffer is read
  std::mutex buffers_mutex_;
  mutable std::mutex mutex_;
  ClockMap clocks_;
  std::uint64_t start_ns_ = 0;
  std::vector<std::unique_ptr<std::uint64_t[]>> buffers_;
  std::vector<std::uint8_t*> free_;
  std::vector<Span> spans_;  // of the buffer that is being read
  std::map<std::string, std::string> names_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Lanes> lanes_;
  std::size_t dropped_ = 0;
};

// Holds one trace for all devices that share it. Must outlive the traces that get() returns.
class SharedTrace {
 public:
  using Load = const Cupti* (*)(std::string& reason);
  explicit SharedTrace(Load load) : load_(load) {}

  // The running trace, or a new one after the previous one has ended. If there can be none, `warn`
  // gets the reason and the result is null.
  std::shared_ptr<ActivityTrace> get(const device::ActivitySink& sink,
                                     const ActivityTrace::Warn& warn);

 private:
  void end(ActivityTrace* trace);

  const Load load_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool is_there_ = false;  // true until the trace's destructor has returned
  bool has_failed_ = false;
  std::weak_ptr<ActivityTrace> trace_;
};

// Calls get() of the one SharedTrace of the process.
std::shared_ptr<ActivityTrace> shared_activity_trace(const device::ActivitySink& sink,
                                                     const ActivityTrace::Warn& warn);

}  // namespace tandem::cuda
