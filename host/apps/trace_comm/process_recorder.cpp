// SPDX-License-Identifier: Apache-2.0
//
// Wall-clock time, so that the windows of all processes of a machine are the same.
#include "apps/trace_comm/process_recorder.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/trace_comm/trace_variables.h"
#include "common/number.h"

namespace tandem::apps {
namespace {

double unix_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

double variable_number(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? 0 : number_of<double>(text).value_or(0);
}

}  // namespace

bool is_traced() { return std::getenv(kRecordFolder) != nullptr; }

trace::TrafficRecorder& process_recorder() {
  static auto* recorder = new trace::TrafficRecorder(variable_number(kRunBegin),
                                                     variable_number(kWindowLength), unix_time_s);
  return *recorder;
}

trace::CollectiveAlgorithm process_algorithm() {
  static const trace::CollectiveAlgorithm algorithm = [] {
    trace::CollectiveAlgorithm value = trace::CollectiveAlgorithm::kRing;
    if (const char* name = std::getenv(kModelAlgorithm)) trace::parse_algorithm(name, value);
    return value;
  }();
  return algorithm;
}

namespace {

void write_record(const trace::TrafficRecorder& recorder, const std::string& source, int rank,
                  int world) {
  const char* folder = std::getenv(kRecordFolder);
  if (folder == nullptr) return;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const std::string path = std::string(folder) + "/" + source + "-" + std::to_string(rank) + "-" +
                           host + "-" + std::to_string(getpid()) + ".record";
  const trace::RecordIdentity identity{rank, world, host, name_of(process_algorithm())};
  if (!recorder.write(path, identity)) {
    std::fprintf(stderr, "tandem: cannot write the record '%s': %s\n", path.c_str(),
                 std::strerror(errno));
  }
}

}  // namespace

void write_process_record(const std::string& source, int rank, int world) {
  write_record(process_recorder(), source, rank, world);
}

void write_empty_record(const std::string& source, int rank, int world) {
  write_record(trace::TrafficRecorder(0, 0, unix_time_s), source, rank, world);
}

}  // namespace tandem::apps
