// SPDX-License-Identifier: Apache-2.0
//
// Sums per pair of parties and time window. A child of fork() leaves the record to its parent.
#include "emulation/xrt_shim/traffic.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

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
        window_s_(number_of<double>(window_text_).value_or(0)) {}

  void add(int source, int destination, uint64_t bytes) {
    const int window = window_now();
    const std::lock_guard lock(mutex_);
    Volume& volume = volumes_[{source, destination, window}];
    volume.bytes += bytes;
    ++volume.copies;
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

  int window_now() const {
    if (window_s_ <= 0) return 0;
    const double now_s =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    constexpr double kMost = std::numeric_limits<int>::max();
    return static_cast<int>(std::clamp((now_s - begin_s_) / window_s_, 0.0, kMost));
  }

  const pid_t process_;
  const std::string folder_;
  const std::string window_text_;  // as given, because all records must name the same length
  const double begin_s_, window_s_;
  std::mutex mutex_;  // guards volumes_
  std::map<std::tuple<int, int, int>, Volume> volumes_;
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
