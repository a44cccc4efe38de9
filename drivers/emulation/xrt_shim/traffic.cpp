// SPDX-License-Identifier: Apache-2.0
//
// Sums per pair of parties and time window, and the first copies one by one where they are wanted.
// A child of fork() leaves the record to its parent.
#include "emulation/xrt_shim/traffic.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "common/bounded_log.h"
#include "common/number.h"
#include "common/text_parts.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/settings.h"

namespace tandem::emulation {
namespace {

std::string traffic_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

const char* kind_of(int source, int destination) {
  if (source == kTrafficHost) return "xrt_host_to_device";
  if (destination == kTrafficHost) return "xrt_device_to_host";
  return source == destination ? "xrt_device_copy" : "xrt_peer_copy";
}

class CopyRecord {
 public:
  CopyRecord()
      : process_(getpid()),
        folder_(traffic_variable("TANDEM_TRACE_COMM_FOLDER")),
        window_text_(traffic_variable("TANDEM_TRACE_COMM_WINDOW_S")),
        begin_s_(number_of<double>(traffic_variable("TANDEM_TRACE_COMM_BEGIN_S")).value_or(0)),
        window_s_(number_of<double>(window_text_).value_or(0)),
        copies_(number_of<std::size_t>(traffic_variable("TANDEM_TRACE_COMM_EVENTS")).value_or(0)) {}

  void add(int source, int destination, uint64_t bytes) {
    const double time_s = since_begin_s();
    const std::lock_guard lock(mutex_);
    Volume& volume = volumes_[{source, destination, window_at(time_s)}];
    volume.bytes += bytes;
    ++volume.copies;
    if (copies_.is_kept()) copies_.add({time_s, source, destination, bytes});
  }

  void write() {
    if (getpid() != process_) return;
    char host[256] = "unknown";
    gethostname(host, sizeof host - 1);
    const std::string path = folder_ + "/xrt-" + host + "-" + std::to_string(process_) + ".record";
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return report_error("the record '" + path + "' cannot be written");
    const std::lock_guard lock(mutex_);
    std::fprintf(file, "tandem-communication 1\ncards %u on %s\n", settings().num_cards, host);
    if (window_s_ > 0) std::fprintf(file, "windows %s\n", window_text_.c_str());
    for (const auto& [key, volume] : volumes_) {
      const auto& [source, destination, window] = key;
      std::fprintf(file, "cell %d %d %s copy 0 %d %llu %llu\n", source, destination,
                   kind_of(source, destination), window,
                   static_cast<unsigned long long>(volume.bytes),
                   static_cast<unsigned long long>(volume.copies));
    }
    write_copies(file);
    std::fprintf(file, "end\n");
    const bool is_whole = std::ferror(file) == 0;
    if (std::fclose(file) != 0 || !is_whole) {
      report_error("the record '" + path + "' is not whole");
    }
  }

 private:
  struct Volume {
    uint64_t bytes = 0, copies = 0;
  };

  struct Copy {
    double time_s;  // since the begin of the run
    int source, destination;
    uint64_t bytes;
  };

  // The clock is read where somebody wants the time.
  double since_begin_s() const {
    if (window_s_ <= 0 && !copies_.is_kept()) return 0;
    const double now_s =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    return now_s - begin_s_;
  }

  int window_at(double time_s) const {
    if (window_s_ <= 0) return 0;
    constexpr double kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp(time_s / window_s_, 0.0, kMost));
  }

  void write_copies(std::FILE* file) const {
    for (const Copy& copy : copies_.entries()) {
      char time[48];  // in every locale with a point
      const auto end =
          std::to_chars(std::begin(time), std::end(time), copy.time_s, std::chars_format::fixed, 7);
      std::fprintf(file, "event %.*s %d %d %s copy 0 %llu 1\n",
                   static_cast<int>(end.ptr - std::begin(time)), time, copy.source,
                   copy.destination, kind_of(copy.source, copy.destination),
                   static_cast<unsigned long long>(copy.bytes));
    }
    if (copies_.dropped() > 0) {
      std::fprintf(file, "dropped_events %llu\n",
                   static_cast<unsigned long long>(copies_.dropped()));
    }
  }

  const pid_t process_;
  const std::string folder_;
  const std::string window_text_;  // as given, because all records must name the same length
  const double begin_s_, window_s_;
  std::mutex mutex_;  // guards what follows
  std::map<std::tuple<int, int, int>, Volume> volumes_;
  BoundedLog<Copy> copies_;
};

// Null: not traced. Never destroyed, because copies come until the process ends.
CopyRecord* copy_record() {
  static CopyRecord* const one = []() -> CopyRecord* {
    const std::string kinds = traffic_variable("TANDEM_TRACE_COMM_KINDS");
    for (const std::string_view kind : parts_of(kinds, ',')) {
      if (kind != "xrt" || traffic_variable("TANDEM_TRACE_COMM_FOLDER").empty()) continue;
      auto* const made = new CopyRecord;
      std::atexit([] { copy_record()->write(); });
      return made;
    }
    return nullptr;
  }();
  return one;
}

}  // namespace

void trace_copy(int source, int destination, uint64_t bytes) {
  if (CopyRecord* const record = copy_record()) record->add(source, destination, bytes);
}

}  // namespace tandem::emulation
