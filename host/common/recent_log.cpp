// SPDX-License-Identifier: Apache-2.0
//
// A further sink of the default logger.
#include "common/recent_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <deque>
#include <memory>
#include <mutex>

namespace tandem {
namespace {

// A line is formatted when it is logged: its fields belong to the thread that logs.
class RecentLines final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit RecentLines(std::size_t most) : most_(most) {}

  std::vector<std::string> lines() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return {lines_.begin(), lines_.end()};
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t text;
    formatter_->format(message, text);
    if (lines_.size() == most_) lines_.pop_front();
    lines_.emplace_back(text.data(), text.size());
  }
  void flush_() override {}

  const std::size_t most_;
  std::deque<std::string> lines_;
};

std::shared_ptr<RecentLines> recent_lines;

}  // namespace

void keep_recent_log(std::size_t lines) {
  recent_lines = std::make_shared<RecentLines>(lines);
  spdlog::default_logger()->sinks().push_back(recent_lines);
}

std::vector<std::string> recent_log() {
  if (!recent_lines) return {};
  std::vector<std::string> lines = recent_lines->lines();
  for (std::string& line : lines) {
    while (!line.empty() && line.back() == '\n') line.pop_back();
  }
  return lines;
}

}  // namespace tandem
