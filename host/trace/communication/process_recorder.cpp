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

// Read once, because the program may change its environment beside a call.
struct RunVariables {
  double begin_s = variable_number(kRunBegin);
  double window_s = variable_number(kWindowLength);
  std::size_t most_events = static_cast<std::size_t>(variable_number(kMostRecordedEvents));
};

const RunVariables& run_variables() {
  static const RunVariables variables;
  return variables;
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

double process_time_s() {
  const RunVariables& run = run_variables();
  return run.window_s > 0 || run.most_events > 0 ? unix_time_s() - run.begin_s : 0;
}

int process_window(double time_s) { return window_of(time_s, run_variables().window_s); }

std::size_t most_process_events() { return run_variables().most_events; }

TrafficRecorder& process_recorder() {
  const RunVariables& run = run_variables();
  static auto* recorder =
      new TrafficRecorder(run.begin_s, run.window_s, unix_time_s, run.most_events);
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

// `identity` without what is the same for every record of the process.
void write_record(const TrafficRecorder& recorder, const std::string& source,
                  RecordIdentity identity) {
  const char* folder = std::getenv(kRecordFolder);
  if (folder == nullptr) return;
  char host[256] = "unknown";
  gethostname(host, sizeof host - 1);
  const std::string path = std::string(folder) + "/" + source + "-" +
                           std::to_string(identity.rank) + "-" + host + "-" +
                           std::to_string(getpid()) + ".record";
  identity.host = host;
  identity.model = name_of(process_algorithm());
  if (!recorder.write(path, identity)) {
    std::fprintf(stderr, "tandem: cannot write the record '%s': %s\n", path.c_str(),
                 std::strerror(errno));
  }
}

}  // namespace

void write_process_record(const std::string& source, int rank, int world) {
  write_record(process_recorder(), source, {rank, world});
}

void write_gpu_record(const std::string& source, int gpus) {
  RecordIdentity identity;
  identity.gpus = gpus;
  write_record(process_recorder(), source, identity);
}

void write_empty_record(const std::string& source, int rank, int world) {
  write_record(TrafficRecorder(0, 0, unix_time_s), source, {rank, world});
}

}  // namespace tandem::trace
