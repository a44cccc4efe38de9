// SPDX-License-Identifier: Apache-2.0
//
// Timeline: writes when each activity ran to a file for Perfetto and chrome://tracing.
//
// The format is Chrome's trace events: a process per device, a thread per track, complete events
// ("X") in microseconds since the construction. A span is written when it ends, through a buffer of
// fixed size, so memory does not grow. A file that ends early still opens. At `max_bytes` one last
// event reports it, and later spans are dropped. Spans of a track must nest or be disjoint; the
// callers ensure that. A Span on a null timeline costs one branch. Threads: any. Errors:
// Error("trace", ...) when the file cannot be made. When a write fails, later spans are dropped and
// close() returns false.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace tandem::trace {

struct TrackId {
  int device = 0, track = 0;
};

// Shown with a span; negative values are left out.
struct SpanDetails {
  int layer = -1;
  int sub_batch = -1;
  std::int64_t rows = -1;
  std::int64_t bytes = -1;
};

class Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  // Minutes of decoding, and about the largest file that viewers open.
  static constexpr std::size_t kMostBytes = std::size_t{512} << 20;

  explicit Timeline(const std::string& path, std::size_t max_bytes = kMostBytes);
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  // The track of this name of this device; made when it is new.
  TrackId track(const std::string& device, const std::string& name);

  void span(TrackId track, std::string_view name, Clock::time_point begin, Clock::time_point end,
            const SpanDetails& details = {});

  // Ends the file; false when a write has failed. Later spans are dropped.
  bool close();
  const std::string& path() const { return path_; }
  // Whether spans were dropped because the file has reached max_bytes.
  bool is_full() const;

 private:
  void name_track(const char* what, TrackId id, const std::string& name);
  void write(const std::string& event);
  void put(const std::string& event);
  void end_at_limit();

  const std::string path_;
  const std::size_t max_bytes_;
  const Clock::time_point start_ = Clock::now();
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  bool full_ = false;
  std::ofstream file_;
  bool first_ = true, complete_ = true;
  std::map<std::string, std::map<std::string, TrackId>> tracks_;  // by device, then by name
};

// A span of the timeline from the object's construction to its destruction.
class Span {
 public:
  Span(Timeline* timeline, TrackId track, std::string_view name, const SpanDetails& details = {})
      : timeline_(timeline) {
    if (timeline_ == nullptr) return;
    track_ = track;
    name_ = name;
    details_ = details;
    begin_ = Timeline::Clock::now();
  }
  // Does not throw: without memory for its text the span is dropped.
  ~Span() {
    if (timeline_ == nullptr) return;
    try {
      timeline_->span(track_, name_, begin_, Timeline::Clock::now(), details_);
    } catch (const std::exception&) {
      return;
    }
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

 private:
  Timeline* const timeline_;
  TrackId track_;
  std::string_view name_;  // outlives the span
  SpanDetails details_;
  Timeline::Clock::time_point begin_;
};

}  // namespace tandem::trace
