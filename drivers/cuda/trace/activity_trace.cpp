// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's buffers and records, kernel names, and the map between clocks.
#include "cuda/trace/activity_trace.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <shared_mutex>

#include "common/error.h"

namespace tandem::cuda {
namespace {

constexpr std::uint32_t kFlushPeriodMs = 1000;
constexpr CuptiKind kKinds[] = {CuptiKind::kKernel, CuptiKind::kCopy, CuptiKind::kSet,
                                CuptiKind::kPeerCopy};

// CUPTI's callbacks have no argument of ours. They run with a shared lock: none is still at work
// where one that is not shared was had.
std::shared_mutex current_mutex;
ActivityTrace* current = nullptr;

void leave_current() {
  const std::unique_lock lock(current_mutex);
  current = nullptr;
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case 1:
      return "copy to the device";
    case 2:
      return "copy to the host";
    case 10:
      return "copy between devices";
    default:
      return "copy";
  }
}

}  // namespace

void ClockMap::add(std::uint64_t ns, Clock::time_point at) {
  if (!has_first_) first_ = latest_ = {ns, at};
  if (ns > latest_.ns) latest_ = {ns, at};
  has_first_ = true;
}

ClockMap::Clock::time_point ClockMap::map(std::uint64_t ns) const {
  const double passed = static_cast<double>(static_cast<std::int64_t>(ns - first_.ns));
  double rate = 1;
  if (latest_.ns > first_.ns) {
    rate =
        static_cast<double>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(latest_.at - first_.at).count()) /
        static_cast<double>(latest_.ns - first_.ns);
  }
  return first_.at + std::chrono::nanoseconds(static_cast<std::int64_t>(passed * rate));
}

std::string readable_kernel_name(const char* name) {
  if (name == nullptr || *name == '\0') return "kernel";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  std::string text = status == 0 && demangled ? demangled.get() : name;
  const std::string anonymous = "(anonymous namespace)::";
  for (std::size_t at; (at = text.find(anonymous)) != std::string::npos;) {
    text.erase(at, anonymous.size());
  }
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (depth > 0) continue;
    if (text[i] == '(') {
      text.resize(i);
    } else if (text[i] == ':' || text[i] == ' ') {
      begin = i + 1;
    }
  }
  return begin < text.size() ? text.substr(begin) : text;
}

ActivityTrace::ActivityTrace(const Cupti& cupti, device::ActivitySink sink, Warn warn)
    : cupti_(cupti), sink_(std::move(sink)), warn_(std::move(warn)) {
  pair_clocks();
  if (cupti_.timestamp_ns(&start_ns_) != 0) start_ns_ = 0;
  {
    const std::unique_lock lock(current_mutex);
    TANDEM_CHECK(std::exchange(current, this) == nullptr);
  }
  int status = cupti_.register_callbacks(&request, &take);
  for (const CuptiKind kind : kKinds) {
    if (status == 0) status = cupti_.enable(kind);
  }
  if (status == 0) {
    if (cupti_.flush_period != nullptr) cupti_.flush_period(kFlushPeriodMs);
    return;
  }
  for (const CuptiKind kind : kKinds) cupti_.disable(kind);
  leave_current();
  throw Error("cuda", "CUPTI does not record kernels (status " + std::to_string(status) +
                          "): another profiler may be at work, or the driver allows it to "
                          "administrators only");
}

ActivityTrace::~ActivityTrace() {
  for (const CuptiKind kind : kKinds) cupti_.disable(kind);
  cupti_.flush_all(1);  // also what is not complete; its callbacks may run on this thread
  leave_current();
  if (dropped_ > 0 && warn_) {
    warn_("the timeline lacks " + std::to_string(dropped_) +
          " kernels and copies of GPUs, which CUPTI dropped");
  }
}

std::size_t ActivityTrace::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

// The best of a few tries: the steady clock in the middle of the shortest call.
void ActivityTrace::pair_clocks() {
  Clock::duration shortest = Clock::duration::max();
  std::uint64_t best_ns = 0;
  Clock::time_point best_at;
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::uint64_t ns = 0;
    const Clock::time_point before = Clock::now();
    if (cupti_.timestamp_ns(&ns) != 0) return;
    const Clock::duration took = Clock::now() - before;
    if (took >= shortest) continue;
    shortest = took;
    best_ns = ns;
    best_at = before + took / 2;
  }
  clocks_.add(best_ns, best_at);
}

void ActivityTrace::request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  const std::shared_lock lock(current_mutex);
  *buffer = current != nullptr ? current->lend() : nullptr;
  *bytes = *buffer != nullptr ? kBufferBytes : 0;
  *records = 0;  // as many as fit
}

std::uint8_t* ActivityTrace::lend() {
  const std::lock_guard lock(buffers_mutex_);
  if (free_.empty()) {
    if (buffers_.size() == kMostBuffers) return nullptr;
    buffers_.push_back(
        std::make_unique_for_overwrite<std::uint64_t[]>(kBufferBytes / sizeof(std::uint64_t)));
    return reinterpret_cast<std::uint8_t*>(buffers_.back().get());
  }
  std::uint8_t* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void ActivityTrace::take(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                         std::size_t valid_bytes) {
  const std::shared_lock lock(current_mutex);
  if (current != nullptr && buffer != nullptr) current->read(context, stream, buffer, valid_bytes);
}

void ActivityTrace::read(void* context, std::uint32_t stream, std::uint8_t* buffer,
                         std::size_t valid_bytes) {
  const std::lock_guard lock(mutex_);
  pair_clocks();
  CuptiRecord* record = nullptr;
  while (valid_bytes > 0 && cupti_.next_record(buffer, valid_bytes, &record) == 0) add(*record);
  {
    const std::lock_guard buffers(buffers_mutex_);
    const auto is_ours = [&](const auto& own) {
      return reinterpret_cast<std::uint8_t*>(own.get()) == buffer;
    };
    // not one that a trace before lent
    if (std::ranges::any_of(buffers_, is_ours)) free_.push_back(buffer);
  }
  std::size_t dropped = 0;
  if (cupti_.dropped_records(context, stream, &dropped) == 0) dropped_ += dropped;
  tell();
}

void ActivityTrace::add(const CuptiRecord& record) {
  switch (record.kind) {
    case CuptiKind::kKernel: {
      const auto& kernel = reinterpret_cast<const CuptiKernel&>(record);
      const std::string symbol = kernel.name != nullptr ? kernel.name : "";
      auto name = names_.find(symbol);
      if (name == names_.end()) {
        name = names_.emplace(symbol, readable_kernel_name(kernel.name)).first;
      }
      spans_.push_back(
          {kernel.device, kernel.stream, name->second, kernel.start_ns, kernel.end_ns, -1});
      break;
    }
    case CuptiKind::kCopy:
    case CuptiKind::kPeerCopy: {
      const auto& copy = reinterpret_cast<const CuptiMemcpy&>(record);
      spans_.push_back({copy.device, copy.stream, copy_name(copy.copy_kind), copy.start_ns,
                        copy.end_ns, static_cast<std::int64_t>(copy.bytes)});
      break;
    }
    case CuptiKind::kSet: {
      const auto& set = reinterpret_cast<const CuptiMemset&>(record);
      spans_.push_back({set.device, set.stream, "memset", set.start_ns, set.end_ns,
                        static_cast<std::int64_t>(set.bytes)});
      break;
    }
    default:  // no kind that was enabled
      break;
  }
}

void ActivityTrace::tell() {
  std::erase_if(spans_, [&](const Span& span) {
    return span.begin < start_ns_ || span.end < span.begin || span.begin == 0;
  });
  std::ranges::stable_sort(spans_, {}, &Span::begin);
  for (const Span& span : spans_) {
    device::DeviceActivity activity;
    activity.device = "cuda:" + std::to_string(span.device);
    activity.track = "stream " + std::to_string(span.stream);
    activity.name = span.name;
    activity.begin = clocks_.map(span.begin);
    activity.end = clocks_.map(span.end);
    activity.bytes = span.bytes;
    Lanes& lanes = lanes_[{span.device, span.stream}];
    std::size_t lane = 0;
    while (lane + 1 < kMostLanes && activity.begin < lanes.ended[lane]) ++lane;
    activity.begin = std::max(activity.begin, lanes.ended[lane]);
    activity.end = std::max(activity.begin, activity.end);
    lanes.ended[lane] = activity.end;
    if (lane > 0) activity.track += ", overlapping " + std::to_string(lane);
    sink_(activity);
  }
  spans_.clear();
}

std::shared_ptr<ActivityTrace> SharedTrace::get(const device::ActivitySink& sink,
                                                const ActivityTrace::Warn& warn) {
  std::unique_lock lock(mutex_);
  for (;; ended_.wait(lock)) {
    if (auto trace = trace_.lock()) return trace;
    if (!is_there_) break;
  }
  if (has_failed_) return nullptr;
  std::string reason;
  try {
    if (const Cupti* cupti = load_(reason)) {
      auto made = std::make_unique<ActivityTrace>(*cupti, sink, warn);
      is_there_ = true;
      const std::shared_ptr<ActivityTrace> trace(made.release(),
                                                 [this](ActivityTrace* last) { end(last); });
      trace_ = trace;
      return trace;
    }
  } catch (const Error& error) {
    reason = error.what();
  }
  has_failed_ = true;
  if (warn) warn("the timeline shows when work was submitted to GPUs, not when it ran: " + reason);
  return nullptr;
}

void SharedTrace::end(ActivityTrace* trace) {
  delete trace;
  const std::lock_guard lock(mutex_);
  is_there_ = false;
  ended_.notify_all();
}

std::shared_ptr<ActivityTrace> shared_activity_trace(const device::ActivitySink& sink,
                                                     const ActivityTrace::Warn& warn) {
  static SharedTrace shared(load_cupti);
  return shared.get(sink, warn);
}

}  // namespace tandem::cuda
