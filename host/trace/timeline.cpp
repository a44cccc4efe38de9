// SPDX-License-Identifier: Apache-2.0
//
// Timeline: one JSON object per line inside one array.
#include "trace/timeline.h"

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "common/error.h"

namespace tandem::trace {
namespace {

using nlohmann::json;

double microseconds(Timeline::Clock::duration duration) {
  return static_cast<double>(
             std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count()) *
         1e-3;
}

json details_json(const SpanDetails& details) {
  json args = json::object();
  if (details.layer >= 0) args["layer"] = details.layer;
  if (details.sub_batch >= 0) args["sub_batch"] = details.sub_batch;
  if (details.rows >= 0) args["rows"] = details.rows;
  if (details.bytes >= 0) args["bytes"] = details.bytes;
  return args;
}

}  // namespace

Timeline::Timeline(const std::string& path, std::size_t max_bytes)
    : path_(path), max_bytes_(max_bytes), file_(path, std::ios::trunc) {
  file_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" << std::flush;
  if (!file_) {
    throw Error("trace", "cannot write '" + path + "': " + std::strerror(errno));
  }
}

Timeline::~Timeline() { close(); }

bool Timeline::close() {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) return complete_;
  file_ << "\n]}\n";
  file_.close();
  complete_ = !file_.fail();
  return complete_;
}

bool Timeline::is_full() const {
  const std::lock_guard lock(mutex_);
  return full_;
}

void Timeline::write(const std::string& event) {
  if (!file_.is_open() || full_) return;
  if (bytes_ + event.size() > max_bytes_) return end_at_limit();
  put(event);
}

void Timeline::put(const std::string& event) {
  if (!first_) file_ << ",\n";
  first_ = false;
  file_ << event;
  bytes_ += event.size() + 2;
}

void Timeline::end_at_limit() {
  full_ = true;
  put(json{{"ph", "i"},
           {"s", "g"},
           {"name", "the timeline ends here: " + std::to_string(max_bytes_ >> 20) +
                        " MiB are written, and later spans are dropped"},
           {"pid", 1},
           {"tid", 1},
           {"ts", microseconds(Clock::now() - start_)}}
          .dump());
  file_ << std::flush;
}

void Timeline::name_track(const char* what, TrackId id, const std::string& name) {
  write(json{{"ph", "M"},
             {"name", what},
             {"pid", id.device},
             {"tid", id.track},
             {"args", {{"name", name}}}}
            .dump(-1, ' ', false, json::error_handler_t::replace));
}

TrackId Timeline::track(const std::string& device, const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto found = tracks_.find(device);
  const bool is_new = found == tracks_.end();
  if (is_new) found = tracks_.try_emplace(device).first;
  auto& of_device = found->second;
  if (const auto known = of_device.find(name); known != of_device.end()) return known->second;
  TrackId id;
  id.device = is_new ? static_cast<int>(tracks_.size()) : of_device.begin()->second.device;
  id.track = static_cast<int>(of_device.size()) + 1;
  of_device[name] = id;
  if (is_new) name_track("process_name", {id.device, 0}, device);
  name_track("thread_name", id, name);
  return id;
}

void Timeline::span(TrackId track, std::string_view name, Clock::time_point begin,
                    Clock::time_point end, const SpanDetails& details) {
  json event = {{"ph", "X"},
                {"name", name},
                {"pid", track.device},
                {"tid", track.track},
                {"ts", microseconds(begin - start_)},
                {"dur", microseconds(end - begin)}};
  if (json args = details_json(details); !args.empty()) event["args"] = std::move(args);
  const std::string line = event.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::lock_guard lock(mutex_);
  write(line);
}

}  // namespace tandem::trace
