// SPDX-License-Identifier: Apache-2.0
//
// A sink of spdlog's that keeps what it gets under a lock.
#include "host/server/captured_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <mutex>
#include <sstream>
#include <stdexcept>

#include "host/server/server_fixture.h"

namespace tandem::test {
namespace {

class TextSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    text_.append(line.data(), line.size());
  }
  void flush_() override {}

  std::string text_;
};

}  // namespace

struct CapturedLog::State {
  std::shared_ptr<TextSink> sink = std::make_shared<TextSink>();
  std::shared_ptr<spdlog::logger> before = spdlog::default_logger();
};

CapturedLog::CapturedLog(LogFormat format, bool debug) : state_(std::make_unique<State>()) {
  const auto logger = std::make_shared<spdlog::logger>("captured", state_->sink);
  if (debug) logger->set_level(spdlog::level::debug);
  spdlog::set_default_logger(logger);
  use_log_format(format);
}

CapturedLog::~CapturedLog() {
  spdlog::set_default_logger(state_->before);
  use_log_format(LogFormat::kText);
}

std::string CapturedLog::text() const { return state_->sink->text(); }

std::vector<Json> CapturedLog::events(const std::string& message) const {
  std::vector<Json> result;
  std::istringstream lines(text());
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event["message"].text() == message) result.push_back(event);
  }
  return result;
}

std::vector<Json> CapturedLog::requests(std::size_t count) const {
  const std::string message = "[server] request";
  if (!eventually([&] { return events(message).size() >= count; })) {
    throw std::runtime_error("the log lacks lines of requests:\n" + text());
  }
  return events(message);
}

}  // namespace tandem::test
