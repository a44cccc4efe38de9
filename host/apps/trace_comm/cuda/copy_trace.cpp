// SPDX-License-Identifier: Apache-2.0
//
// libtandem-cuda-copies.so: copies of GPUs as flows of the process's record, from CUPTI's records.
//
// CUDA's driver loads the library that CUDA_INJECTION64_PATH names and calls InitializeInjection().
// Parties are the GPUs of the process, or the process's rank where a launcher has started several.
// CUPTI hands over full buffers on a thread of its own, so a copy of the program costs nothing
// here. What is left comes when the process ends by exit(), where the record is written.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>

#include "common/cupti_records.h"
#include "common/loaded_library.h"
#include "trace/communication/copy_kind.h"
#include "trace/communication/launcher_rank.h"
#include "trace/communication/process_recorder.h"
#include "trace/communication/traffic_parties.h"

namespace tandem::apps {
namespace {

using cupti::RecordKind;
using cupti::UnifiedCounter;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr int kMostBuffers = 32;  // with CUPTI at a time
constexpr std::uint32_t kFlushPeriodMs = 1000;

double unix_now_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

struct LoadedCupti {
  cupti::Functions functions;
  LoadedLibrary library;

  explicit LoadedCupti(const char* file) : library("CUPTI", file) {
    library.find("cuptiActivityRegisterCallbacks", functions.register_callbacks);
    library.find("cuptiActivityEnable", functions.enable);
    library.find("cuptiActivityFlushAll", functions.flush_all);
    library.find("cuptiActivityGetNextRecord", functions.next_record);
    library.find("cuptiActivityGetNumDroppedRecords", functions.dropped_records);
    library.find("cuptiGetTimestamp", functions.timestamp_ns);
    functions.set_unified_counters =
        library.find_optional<decltype(functions.set_unified_counters)>(
            "cuptiActivityConfigureUnifiedMemoryCounter");
    functions.flush_period =
        library.find_optional<decltype(functions.flush_period)>("cuptiActivityFlushPeriod");
  }
};

class CopyTrace {
 public:
  explicit CopyTrace(const cupti::Functions& functions)
      : cupti_(functions), launched_(trace::launcher_rank(2)) {}

  // False: CUPTI records nothing.
  bool start() {
    std::uint64_t ns = 0;
    if (cupti_.timestamp_ns(&ns) != 0) return false;
    clock_offset_s_ = unix_now_s() - static_cast<double>(ns) * 1e-9;
    if (cupti_.register_callbacks(lend, take) != 0) return false;
    if (cupti_.enable(RecordKind::kCopy) != 0) return false;
    cupti_.enable(RecordKind::kPeerCopy);
    enable_unified_memory();
    if (cupti_.flush_period != nullptr) cupti_.flush_period(kFlushPeriodMs);
    return true;
  }

  // CUPTI's last buffers come during the call.
  void end() {
    cupti_.flush_all(1);
    const std::lock_guard lock(mutex_);
    if (launched_) {
      trace::write_process_record("cuda", launched_->rank, launched_->world);
    } else if (gpus_ > 0) {
      trace::write_gpu_record("cuda", gpus_);
    }
  }

 private:
  static void lend(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records);
  static void take(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                   std::size_t valid_bytes);

  // A GPU without unified memory refuses; its copies are recorded all the same.
  void enable_unified_memory() {
    constexpr std::uint32_t kAllDevices = 2;
    if (cupti_.set_unified_counters == nullptr) return;
    std::array<cupti::UnifiedCounterSetting, 3> settings = {
        {{kAllDevices, UnifiedCounter::kToDevice, 0, 1},
         {kAllDevices, UnifiedCounter::kToHost, 0, 1},
         {kAllDevices, UnifiedCounter::kBetweenDevices, 0, 1}}};
    if (cupti_.set_unified_counters(settings.data(), settings.size()) == 0) {
      cupti_.enable(RecordKind::kUnifiedMemory);
    }
  }

  void read(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t valid_bytes) {
    const std::lock_guard lock(mutex_);
    cupti::Record* record = nullptr;
    while (valid_bytes > 0 && cupti_.next_record(buffer, valid_bytes, &record) == 0) add(*record);
    std::size_t dropped = 0;
    if (cupti_.dropped_records(context, stream, &dropped) == 0 && dropped > 0) {
      trace::process_recorder().add_unmodelled("copies_that_CUPTI_dropped", dropped);
    }
  }

  void add(const cupti::Record& record) {
    switch (record.kind) {
      case RecordKind::kCopy: {
        const auto& copy = reinterpret_cast<const cupti::CopyRecord&>(record);
        return add_copy(copy, copy.device, copy.device);
      }
      case RecordKind::kPeerCopy: {
        const auto& copy = reinterpret_cast<const cupti::PeerCopyRecord&>(record);
        return add_copy(copy, copy.source_device, copy.destination_device);
      }
      case RecordKind::kUnifiedMemory:
        return add_unified(reinterpret_cast<const cupti::UnifiedMemoryRecord&>(record));
      default:
        return;  // no kind that was enabled
    }
  }

  template <typename Copy>
  void add_copy(const Copy& copy, std::uint32_t from, std::uint32_t to) {
    const trace::CopyKind* const kind = trace::copy_kind(copy.copy_kind);
    if (kind == nullptr) return trace::process_recorder().add_unmodelled("cuda_copy", 1);
    add_flow(*kind, from, to, copy.bytes, copy.start_ns);
  }

  void add_unified(const cupti::UnifiedMemoryRecord& record) {
    constexpr int kFirst = 11;  // of unified memory's kinds of copies
    const int at = record.counter == UnifiedCounter::kToDevice ? 0
                   : record.counter == UnifiedCounter::kToHost ? 1
                                                               : 2;
    if (at == 2 && record.counter != UnifiedCounter::kBetweenDevices) return;  // faults
    add_flow(*trace::copy_kind(kFirst + at), record.source, record.destination, record.bytes,
             record.start_ns);
  }

  void add_flow(const trace::CopyKind& kind, std::uint32_t from, std::uint32_t to,
                std::uint64_t bytes, std::uint64_t start_ns) {
    trace::RecordedFlow flow{kind.kind, kind.operation};
    flow.source = kind.from_host ? trace::kHostParty : party(from);
    flow.destination = kind.to_host ? trace::kHostParty : party(to);
    flow.bytes = bytes;
    trace::process_recorder().add_at(flow, clock_offset_s_ + static_cast<double>(start_ns) * 1e-9);
  }

  int party(std::uint32_t device) {
    if (launched_) return launched_->rank;
    const int number = static_cast<int>(std::min<std::uint32_t>(device, trace::kMostParties - 1));
    gpus_ = std::max(gpus_, number + 1);
    return number;
  }

  const cupti::Functions& cupti_;
  const std::optional<trace::LauncherRank> launched_;
  double clock_offset_s_ = 0;
  std::atomic<int> lent_{0};
  std::mutex mutex_;  // guards what is read
  int gpus_ = 0;
};

CopyTrace* copy_trace = nullptr;  // never destroyed: CUPTI calls until the process ends

void CopyTrace::lend(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
  *buffer = nullptr;
  *bytes = *records = 0;
  if (copy_trace->lent_.fetch_add(1) >= kMostBuffers) {
    --copy_trace->lent_;
    return;
  }
  *buffer = reinterpret_cast<std::uint8_t*>(
      new (std::nothrow) std::uint64_t[kBufferBytes / sizeof(std::uint64_t)]);
  if (*buffer == nullptr) {
    --copy_trace->lent_;
  } else {
    *bytes = kBufferBytes;
  }
}

void CopyTrace::take(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                     std::size_t valid_bytes) {
  if (buffer == nullptr) return;
  copy_trace->read(context, stream, buffer, valid_bytes);
  delete[] reinterpret_cast<std::uint64_t*>(buffer);
  --copy_trace->lent_;
}

// The library of the toolkit that the program uses, as far as its number tells.
const cupti::Functions* load_functions(std::string& reason) {
  for (const char* file : {"libcupti.so.13", "libcupti.so.12", "libcupti.so"}) {
    auto* const loaded = new LoadedCupti(file);  // stays loaded
    if (loaded->library.reason().empty()) return &loaded->functions;
    reason = loaded->library.reason();
  }
  return nullptr;
}

}  // namespace
}  // namespace tandem::apps

extern "C" int InitializeInjection() {
  using namespace tandem::apps;  // NOLINT: this function is nothing but an entry point
  static std::once_flag once;
  std::call_once(once, [] {
    if (!tandem::trace::traces_kind("cuda")) return;
    std::string reason;
    const auto* const functions = load_functions(reason);
    if (functions != nullptr) copy_trace = new CopyTrace(*functions);
    if (functions == nullptr || !copy_trace->start()) {
      std::fprintf(stderr, "tandem: copies of GPUs are not traced: %s\n",
                   functions == nullptr ? reason.c_str()
                                        : "CUPTI refuses; another profiler may be at work, or the "
                                          "driver allows it to administrators only");
      return;
    }
    std::atexit([] { copy_trace->end(); });
  });
  return 1;  // the program goes on in any case
}
