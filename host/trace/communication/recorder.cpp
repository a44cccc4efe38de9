// SPDX-License-Identifier: Apache-2.0
//
// The file is written by one fopen: the process may be about to end.
#include "trace/communication/recorder.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <iterator>
#include <limits>
#include <utility>

namespace tandem::trace {

std::size_t TrafficRecorder::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.operation) ^
                       reinterpret_cast<std::uintptr_t>(key.phase_name) * 31;
  for (const int part : {key.source, key.destination, key.phase, key.window}) {
    hash = (hash ^ static_cast<std::uint32_t>(part)) * 0x9E3779B97F4A7C15ull;
    hash ^= hash >> 29;
  }
  return hash;
}

namespace {

// Fields of a record are parted by spaces.
std::string one_word(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string phase_word(const char* name, int number) {
  return name == nullptr ? std::to_string(number) : one_word(name);
}

// The program that is traced may have set a locale with another decimal point.
std::string number_word(double number) {
  char text[32];
  return {std::begin(text), std::to_chars(std::begin(text), std::end(text), number).ptr};
}

}  // namespace

std::string time_word(double seconds) {
  constexpr int kDigits = 7;  // as the clock has them
  char text[48];
  const auto end =
      std::to_chars(std::begin(text), std::end(text), seconds, std::chars_format::fixed, kDigits);
  return end.ec == std::errc() ? std::string(std::begin(text), end.ptr) : number_word(seconds);
}

int window_of(double since_begin_s, double window_s) {
  if (window_s <= 0 || since_begin_s <= 0) return 0;
  const double window = since_begin_s / window_s;
  constexpr int kMost = std::numeric_limits<int>::max();
  return window < kMost ? static_cast<int>(window) : kMost;
}

TrafficRecorder::TrafficRecorder(double begin_s, double window_s, std::function<double()> now_s,
                                 std::size_t most_events)
    : begin_s_(begin_s), window_s_(window_s), now_s_(std::move(now_s)), events_(most_events) {}

// The clock is read where somebody wants the time.
double TrafficRecorder::since_begin_s() const {
  return window_s_ > 0 || events_.is_kept() ? now_s_() - begin_s_ : 0;
}

void TrafficRecorder::add_to(Cells& cells, const RecordedFlow& flow, double since_s) {
  const int window = window_of(since_s, window_s_);
  const std::lock_guard lock(mutex_);
  if (paused_) return;
  Volume& volume =
      cells[{flow.kind, flow.operation, flow.phase, flow.source, flow.destination, phase_, window}];
  volume.bytes += flow.bytes;
  volume.messages += flow.messages;
  if (events_.is_kept() && &cells == &cells_) events_.add({since_s, flow, phase_});
}

void TrafficRecorder::add(const RecordedFlow& flow) { add_to(cells_, flow, since_begin_s()); }

void TrafficRecorder::add_at(const RecordedFlow& flow, double time_s) {
  add_to(cells_, flow, time_s - begin_s_);
}

void TrafficRecorder::add_counted(const RecordedFlow& flow) {
  add_to(counted_, flow, since_begin_s());
}

void TrafficRecorder::add_modelled(const RecordedFlow& flow) {
  add_to(modelled_, flow, since_begin_s());
}

void TrafficRecorder::add_carried(const RecordedFlow& flow) {
  add_to(carried_, flow, since_begin_s());
}

void TrafficRecorder::add_unmodelled(const char* operation, std::uint64_t calls) {
  const std::lock_guard lock(mutex_);
  if (!paused_) unmodelled_[operation] += calls;
}

void TrafficRecorder::set_phase(int phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
}

void TrafficRecorder::set_paused(bool paused) {
  const std::lock_guard lock(mutex_);
  paused_ = paused;
}

void TrafficRecorder::write_events(std::FILE* file) const {
  for (const auto& [time_s, flow, phase] : events_.entries()) {
    std::fprintf(file, "event %s %d %d %s %s %s %" PRIu64 " %" PRIu64 "\n",
                 time_word(time_s).c_str(), flow.source, flow.destination, flow.kind,
                 one_word(flow.operation).c_str(), phase_word(flow.phase, phase).c_str(),
                 flow.bytes, flow.messages);
  }
  if (events_.dropped() > 0) {
    std::fprintf(file, "dropped_events %" PRIu64 "\n", events_.dropped());
  }
}

bool TrafficRecorder::write(const std::string& path, const RecordIdentity& identity) const {
  const std::lock_guard lock(mutex_);
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "tandem-communication 1\nmodel %s\n", identity.model.c_str());
  if (identity.gpus > 0) {
    std::fprintf(file, "gpus %d on %s\n", identity.gpus, identity.host.c_str());
  } else {
    std::fprintf(file, "rank %d of %d on %s\n", identity.rank, identity.world,
                 identity.host.c_str());
  }
  if (window_s_ > 0) std::fprintf(file, "windows %s\n", number_word(window_s_).c_str());
  for (const auto& [operation, calls] : unmodelled_) {
    std::fprintf(file, "unmodelled %s %" PRIu64 "\n", operation.c_str(), calls);
  }
  const std::pair<const char*, const Cells*> kinds_of_line[] = {
      {"cell", &cells_}, {"counted", &counted_}, {"modelled", &modelled_}, {"carried", &carried_}};
  for (const auto& [word, cells] : kinds_of_line) {
    for (const auto& [key, volume] : *cells) {
      std::fprintf(file, "%s %d %d %s %s %s %d %" PRIu64 " %" PRIu64 "\n", word, key.source,
                   key.destination, key.kind, one_word(key.operation).c_str(),
                   phase_word(key.phase_name, key.phase).c_str(), key.window, volume.bytes,
                   volume.messages);
    }
  }
  write_events(file);
  std::fprintf(file, "end\n");
  const bool is_whole = std::ferror(file) == 0;
  return std::fclose(file) == 0 && is_whole;
}

}  // namespace tandem::trace
