// SPDX-License-Identifier: Apache-2.0
//
// A process runs until its next access cannot be decided yet. Who decides it makes it ready again.
#include "bitstreams/compiler/timing/stream_replay.h"

#include <algorithm>
#include <utility>

namespace tandem::timing {
namespace {

constexpr std::size_t kMostShown = 256;  // processes
constexpr std::size_t kMostShownInWaves = std::size_t{1} << 14;
constexpr double kRegisterDepth = 2;  // up to it a stream is made of registers

}  // namespace

int StreamReplay::add_stream(const ReplayedStream& stream) {
  Stream added;
  added.told = stream;
  added.bounded = bounded_;
  streams_.push_back(std::move(added));
  return static_cast<int>(streams_.size()) - 1;
}

int StreamReplay::add_process(const std::string& name, int parent, double advance, int region,
                              std::vector<int> behind) {
  Process process;
  process.name = name;
  process.parent = parent;
  process.region = region;
  process.behind = std::move(behind);
  if (!process.behind.empty()) ++num_behind_;
  processes_.push_back(std::move(process));
  const int number = static_cast<int>(processes_.size()) - 1;
  add(parent, Kind::kStart, number, advance);
  return number;
}

void StreamReplay::access(int process, int stream, bool writes, double advance) {
  add(process, writes ? Kind::kWrite : Kind::kRead, stream, advance);
}

void StreamReplay::join(int process, double advance) { add(process, Kind::kJoin, 0, advance); }

void StreamReplay::end(int process, double advance) { add(process, Kind::kEnd, 0, advance); }

void StreamReplay::add(int process, Kind kind, int number, double advance) {
  processes_[static_cast<size_t>(process)].events.push_back(
      {static_cast<float>(advance),
       static_cast<std::uint32_t>(number) * 8 + static_cast<std::uint32_t>(kind)});
  ++pending_;
}

StreamTimes StreamReplay::finish() {
  run(true);
  StreamTimes times;
  times.regions = regions_;
  times.processes = shown_;
  for (Stream& stream : streams_) {
    count_held(stream, true);
    times.streams.push_back(stream.told);
    if (records_waves_) times.waves.push_back(std::move(stream.wave));
  }
  times.waves_end = waves_end_;
  return times;
}

// What happens at `at` is the first that is left out of its kind; the others may be later.
bool StreamReplay::keeps_wave(double at) {
  if (!records_waves_) return false;
  if (num_waved_ < kMostWaved) {
    ++num_waved_;
    return true;
  }
  waves_end_ = std::min(waves_end_, at);
  return false;
}

void StreamReplay::note_wait(Process& process, double from, double to) {
  process.waits += to - from;
  if (keeps_wave(from)) process.waiting.push_back({from, to});
}

void StreamReplay::run(bool is_last) {
  while (true) {
    while (first_ < processes_.size() && processes_[first_].ended) ++first_;
    if (!processes_[0].events.empty()) ready_.push_back(0);
    for (size_t index = first_; index < processes_.size(); ++index) {
      if (!processes_[index].events.empty()) ready_.push_back(static_cast<int>(index));
    }
    while (!ready_.empty()) {
      const int index = ready_.back();
      ready_.pop_back();
      run_process(index);
    }
    if (pending_ == 0 || (!is_last && pending_ < most_pending_)) return;
    if (!unlock(is_last)) return;
  }
}

void StreamReplay::run_process(int index) {
  Process& process = processes_[static_cast<size_t>(index)];
  if (process.parent >= 0 && (!process.started || !may_begin(process))) return;
  while (!process.events.empty() && step(index, process.events.front())) {
    process.events.pop_front();
    --pending_;
  }
  if (process.ended && process.events.empty()) process.events.release();
}

void StreamReplay::EventQueue::pop_front() {
  constexpr std::size_t kFewEvents = 4096;
  ++head_;
  if (!empty() && (head_ < kFewEvents || head_ * 2 < events_.size())) return;
  events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
}

bool StreamReplay::may_begin(Process& process) {
  for (const int before : process.behind) {
    const Process& other = processes_[static_cast<size_t>(before)];
    if (!other.ended) return false;
    process.now = std::max(process.now, other.now);
    process.start = process.now;
  }
  if (!process.behind.empty()) --num_behind_;
  process.behind.clear();
  return true;
}

bool StreamReplay::step(int index, const Event& event) {
  Process& process = processes_[static_cast<size_t>(index)];
  const int number = static_cast<int>(event.what / 8);
  const double wanted = process.now + static_cast<double>(event.advance);
  switch (static_cast<Kind>(event.what % 8)) {
    case Kind::kRead:
      return read(process, index, streams_[static_cast<size_t>(number)], wanted);
    case Kind::kWrite:
      return write(process, index, streams_[static_cast<size_t>(number)], wanted);
    case Kind::kStart:
      begin(process, number, wanted);
      return true;
    case Kind::kJoin:
      if (process.live > 0) return false;
      process.now = std::max(wanted, process.children_end);
      if (process.opened >= 0) regions_[process.region] += process.now - process.opened;
      process.opened = -1;
      process.children_end = 0;
      return true;
    case Kind::kEnd:
      finish_process(process, wanted);
      return true;
  }
  return true;
}

bool StreamReplay::read(Process& process, int index, Stream& stream, double wanted) {
  if (stream.written.empty()) {
    stream.reader = index;
    return false;
  }
  const double passes = stream.told.depth <= kRegisterDepth ? 1 : 2;
  const double ready = stream.written.front() + passes;
  const double at = std::max({wanted, ready, stream.last_read + 1});
  if (ready > wanted) {
    stream.told.empty_cycles += ready - wanted;
    note_wait(process, wanted, ready);
  }
  stream.written.pop_front();
  process.now = stream.last_read = at;
  if (keeps_wave(at)) stream.wave.reads.push_back(at);
  ++stream.num_read;
  ++stream.told.values;
  if (stream.bounded) {
    stream.freed.push_back(at);
  } else if (!bounded_) {
    stream.reads_seen.push_back(at);
    count_held(stream, false);
  }
  if (stream.writer >= 0) ready_.push_back(std::exchange(stream.writer, -1));
  return true;
}

bool StreamReplay::write(Process& process, int index, Stream& stream, double wanted) {
  double space = wanted;
  const auto depth = static_cast<std::uint64_t>(stream.told.depth);
  if (stream.bounded && stream.num_written >= depth) {
    const std::uint64_t place = stream.num_written - depth;  // whose read frees this one
    if (place >= stream.num_read) {
      stream.writer = index;
      return false;
    }
    while (stream.num_read - stream.freed.size() < place) stream.freed.pop_front();
    space = stream.freed.front() + 1;
  }
  if (space > wanted) {
    stream.told.full_cycles += space - wanted;
    note_wait(process, wanted, space);
  }
  const double at = std::max({wanted, space, stream.last_write + 1});
  process.now = stream.last_write = at;
  if (keeps_wave(at)) stream.wave.writes.push_back(at);
  ++stream.num_written;
  stream.written.push_back(at);
  if (!bounded_) stream.writes_seen.push_back(at);
  if (stream.reader >= 0) ready_.push_back(std::exchange(stream.reader, -1));
  return true;
}

// Reads and writes in the order of their times; a read frees its place in the cycle after it.
void StreamReplay::count_held(Stream& stream, bool is_last) {
  while (!stream.writes_seen.empty() && (is_last || !stream.reads_seen.empty())) {
    const bool read_first =
        !stream.reads_seen.empty() && stream.reads_seen.front() + 1 <= stream.writes_seen.front();
    if (read_first) {
      stream.reads_seen.pop_front();
      --stream.held;
      continue;
    }
    stream.writes_seen.pop_front();
    stream.told.most = std::max(stream.told.most, ++stream.held);
  }
}

void StreamReplay::begin(Process& parent, int child, double at) {
  Process& process = processes_[static_cast<size_t>(child)];
  parent.now = at;
  ++parent.live;
  if (parent.parent < 0 && parent.opened < 0) {
    parent.opened = at;
    parent.region = process.region;
  }
  process.now = process.start = at;
  process.started = true;
  ready_.push_back(child);
}

void StreamReplay::finish_process(Process& process, double at) {
  process.now = at;
  process.ended = true;
  if (process.parent < 0) return;
  Process& parent = processes_[static_cast<size_t>(process.parent)];
  --parent.live;
  parent.children_end = std::max(parent.children_end, at);
  ready_.push_back(process.parent);
  for (size_t index = num_behind_ > 0 ? first_ : processes_.size(); index < processes_.size();
       ++index) {
    if (!processes_[index].behind.empty()) ready_.push_back(static_cast<int>(index));
  }
  if (shown_.size() < (records_waves_ ? kMostShownInWaves : kMostShown)) {
    shown_.push_back({process.name, process.start, at, process.waits, std::move(process.waiting)});
  }
}

// Nothing goes on: lets one process continue. False if there is none. Before the last access,
// readers may come that would have freed a place.
bool StreamReplay::unlock(bool is_last) {
  for (Process& process : processes_) {
    if (process.events.empty() || process.ended) continue;
    const Event event = process.events.front();
    const auto kind = static_cast<Kind>(event.what % 8);
    if (kind != Kind::kWrite || (process.parent >= 0 && !process.started)) continue;
    Stream& stream = streams_[event.what / 8];
    if (!stream.bounded || stream.writer < 0) continue;
    stream.bounded = false;
    (is_last ? stream.told.stuck : stream.told.uncounted) = true;
    stream.freed.clear();
    return true;
  }
  for (Process& process : processes_) {
    if (process.events.empty()) continue;
    if (!process.behind.empty() && process.started) {  // it began before them, as in the run
      process.behind.clear();
      --num_behind_;
      return true;
    }
  }
  for (Process& process : processes_) {  // a poll that found nothing, or a value from outside
    if (process.events.empty()) continue;
    if (static_cast<Kind>(process.events.front().what % 8) != Kind::kRead) continue;
    process.now += static_cast<double>(process.events.front().advance);
    process.events.pop_front();
    --pending_;
    return true;
  }
  return false;
}

}  // namespace tandem::timing
