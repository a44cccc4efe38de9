// SPDX-License-Identifier: Apache-2.0
//
// Wall-clock time, so that the windows of all processes of a machine are the same.
#include "trace/communication/process_recorder.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/number.h"
#include "common/text_parts.h"
#include "trace/communication/trace_variables.h"

namespace tandem::trace {
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

bool traces_kind(std::string_view kind) {
  const char* const text = std::getenv(kTracedKinds);
  if (text == nullptr || !is_traced()) return false;
  for (const std::string_view word : parts_of(text, ',')) {
    if (word == kind) return true;
  }
  return false;
}

TrafficRecorder& process_recorder() {
  static auto* recorder =
      new TrafficRecorder(variable_number(kRunBegin), variable_number(kWindowLength), unix_time_s);
  return *recorder;
}

CollectiveAlgorithm process_algorithm() {
  static const CollectiveAlgorithm algorithm = [] {
    CollectiveAlgorithm value = CollectiveAlgorithm::kRing;
    if (const char* name = std::getenv(kModelAlgorithm)) parse_algorithm(name, value);
    return value;
  }();
  return algorithm;
}

namespace {

void write_record(const TrafficRecorder& recorder, const std::string& source, int rank, int world) {
  const char* folder = std::getenv(kRecordFolder);
  if (folder == nullptr) return;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const std::string path = std::string(folder) + "/" + source + "-" + std::to_string(rank) + "-" +
                           host + "-" + std::to_string(getpid()) + ".record";
  const RecordIdentity identity{rank, world, host, name_of(process_algorithm())};
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
  write_record(TrafficRecorder(0, 0, unix_time_s), source, rank, world);
}

}  // namespace tandem::trace
