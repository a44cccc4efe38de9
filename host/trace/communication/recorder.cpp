// SPDX-License-Identifier: Apache-2.0
//
// The file is written by one fopen: the process may be about to end.
#include "trace/communication/recorder.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <iterator>
#include <limits>

namespace tandem::trace {

std::size_t TrafficRecorder::KeyHash::operator()(const Key& key) const {
  std::uint64_t hash = reinterpret_cast<std::uintptr_t>(key.operation);
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

}  // namespace

int window_of(double since_begin_s, double window_s) {
  if (window_s <= 0 || since_begin_s <= 0) return 0;
  const double window = since_begin_s / window_s;
  constexpr int kMost = std::numeric_limits<int>::max();
  return window < kMost ? static_cast<int>(window) : kMost;
}

TrafficRecorder::TrafficRecorder(double begin_s, double window_s, std::function<double()> now_s)
    : begin_s_(begin_s), window_s_(window_s), now_s_(std::move(now_s)) {}

int TrafficRecorder::window() const {
  return window_s_ > 0 ? window_of(now_s_() - begin_s_, window_s_) : 0;
}

void TrafficRecorder::add_to(Cells& cells, const RecordedFlow& flow) {
  const int at = window();
  const std::lock_guard lock(mutex_);
  if (paused_) return;
  Volume& volume = cells[{flow.kind, flow.operation, flow.source, flow.destination, phase_, at}];
  volume.bytes += flow.bytes;
  volume.messages += flow.messages;
}

void TrafficRecorder::add(const RecordedFlow& flow) { add_to(cells_, flow); }

void TrafficRecorder::add_counted(const RecordedFlow& flow) { add_to(counted_, flow); }

void TrafficRecorder::add_modelled(const RecordedFlow& flow) { add_to(modelled_, flow); }

void TrafficRecorder::add_carried(const RecordedFlow& flow) { add_to(carried_, flow); }

void TrafficRecorder::add_unmodelled(const char* operation) {
  const std::lock_guard lock(mutex_);
  if (!paused_) ++unmodelled_[operation];
}

void TrafficRecorder::set_phase(int phase) {
  const std::lock_guard lock(mutex_);
  phase_ = phase;
}

void TrafficRecorder::set_paused(bool paused) {
  const std::lock_guard lock(mutex_);
  paused_ = paused;
}

bool TrafficRecorder::write(const std::string& path, const RecordIdentity& identity) const {
  const std::lock_guard lock(mutex_);
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "tandem-communication 1\nrank %d of %d on %s\nmodel %s\n", identity.rank,
               identity.world, identity.host.c_str(), identity.model.c_str());
  if (window_s_ > 0) {
    char text[32];  // the program that is traced may have set a locale with another decimal point
    const auto end = std::to_chars(std::begin(text), std::end(text), window_s_).ptr;
    std::fprintf(file, "windows %.*s\n", static_cast<int>(end - text), text);
  }
  for (const auto& [operation, calls] : unmodelled_) {
    std::fprintf(file, "unmodelled %s %" PRIu64 "\n", operation.c_str(), calls);
  }
  const std::pair<const char*, const Cells*> kinds_of_line[] = {
      {"cell", &cells_}, {"counted", &counted_}, {"modelled", &modelled_}, {"carried", &carried_}};
  for (const auto& [word, cells] : kinds_of_line) {
    for (const auto& [key, volume] : *cells) {
      std::fprintf(file, "%s %d %d %s %s %d %d %" PRIu64 " %" PRIu64 "\n", word, key.source,
                   key.destination, key.kind, one_word(key.operation).c_str(), key.phase,
                   key.window, volume.bytes, volume.messages);
    }
  }
  std::fprintf(file, "end\n");
  const bool is_whole = std::ferror(file) == 0;
  return std::fclose(file) == 0 && is_whole;
}

}  // namespace tandem::trace
