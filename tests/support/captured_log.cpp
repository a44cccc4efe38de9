// SPDX-License-Identifier: Apache-2.0
//
// The program has one default logger from its start to its end: spdlog gives threads a bare pointer
// to it, so one that is replaced may end while a thread writes to it. Only where it writes changes.
#include "support/captured_log.h"

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tandem::test {
namespace {

class CaptureSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit CaptureSink(std::vector<spdlog::sink_ptr> usual) : usual_(std::move(usual)) {}

  void capture(bool on) {
    const std::lock_guard lock(mutex_);
    capturing_ = on;
    text_.clear();
  }
  std::string text() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (!capturing_) {
      for (const auto& sink : usual_) sink->log(message);
      return;
    }
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    text_.append(line.data(), line.size());
  }
  void flush_() override {
    for (const auto& sink : usual_) sink->flush();
  }
  void set_formatter_(std::unique_ptr<spdlog::formatter> formatter) override {
    for (const auto& sink : usual_) sink->set_formatter(formatter->clone());
    formatter_ = std::move(formatter);
  }

  const std::vector<spdlog::sink_ptr> usual_;
  bool capturing_ = false;
  std::string text_;
};

std::shared_ptr<CaptureSink> replace_default_logger() {
  auto sink = std::make_shared<CaptureSink>(spdlog::default_logger()->sinks());
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  return sink;
}

const std::shared_ptr<CaptureSink> the_sink = replace_default_logger();  // before threads begin

}  // namespace

CapturedLog::CapturedLog(LogFormat format, bool debug) {
  use_log_format(format);
  spdlog::default_logger()->set_level(debug ? spdlog::level::debug : spdlog::level::info);
  the_sink->capture(true);
}

CapturedLog::~CapturedLog() {
  spdlog::default_logger()->set_level(spdlog::level::info);
  the_sink->capture(false);
  use_log_format(LogFormat::kText);
}

std::string CapturedLog::text() const { return the_sink->text(); }

}  // namespace tandem::test
