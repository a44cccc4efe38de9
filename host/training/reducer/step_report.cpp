// SPDX-License-Identifier: Apache-2.0
//
// The sums of the log line start at 0 after each line.
#include "training/reducer/step_report.h"

#include <array>

#include "common/log_event.h"

namespace tandem::training {

StepReport::StepReport(const ReducerOptions& options, int rank)
    : metrics_(options.metrics),
      timeline_(options.timeline),
      log_every_(options.log_every),
      rank_(rank) {
  if (timeline_ == nullptr) return;
  track_ = timeline_->track("reducer, rank " + std::to_string(rank), "calls");
}

void StepReport::count(const Call& call, const CallResult& result, const CallTimes& times) {
  trace::ReducerCall figures;
  figures.seconds = times.seconds;
  figures.hidden_seconds = times.hidden_seconds;
  figures.bytes_sent = call.bytes_sent;
  figures.skipped = result.skipped;
  figures.failed = call.failed;
  figures.sparsified = result.sparsified_values > 0;
  if (figures.sparsified) {
    const auto values = static_cast<double>(result.sparsified_values);
    figures.density_asked = result.asked / values;
    figures.density_sent = result.sent / values;
    figures.build_up = result.meant > 0 ? result.entries / result.meant : 1;
  }
  metrics_->observe_call(call.title, figures);
}

void StepReport::call(const Call& call, const CallResult& result, const CallTimes& times) {
  if (timeline_ != nullptr) {
    trace::SpanDetails details;
    details.rows = static_cast<std::int64_t>(call.num_values);
    details.bytes = static_cast<std::int64_t>(call.bytes_sent);
    timeline_->span(track_, call.title, times.begin, times.end, details);
  }
  if (metrics_ != nullptr) count(call, result, times);
  bytes_sent_ += call.bytes_sent;
  sparsified_values_ += result.sparsified_values;
  skipped_ += result.skipped;
  asked_ += result.asked;
  sent_ += result.sent * (result.sparsified_values > 0 ? 1 : 0);
  seconds_ += times.seconds;
  hidden_seconds_ += times.hidden_seconds;
  if (call.last) end_step(call.step);
}

void StepReport::end_step(std::uint64_t step) {
  if (metrics_ != nullptr) metrics_->count_step();
  if (log_every_ > 0 && ++steps_ >= log_every_) log_step(step);
}

void StepReport::log_step(std::uint64_t step) {
  const auto share = [this](double count) {
    return sparsified_values_ > 0 ? count / static_cast<double>(sparsified_values_) : 1.0;
  };
  const std::array<LogField, 8> fields = {{{"step", static_cast<std::int64_t>(step)},
                                           {"rank", static_cast<std::int64_t>(rank_)},
                                           {"density_asked", share(asked_)},
                                           {"density_sent", share(sent_)},
                                           {"bytes_sent", static_cast<std::int64_t>(bytes_sent_)},
                                           {"seconds", seconds_},
                                           {"hidden_seconds", hidden_seconds_},
                                           {"skipped", static_cast<std::int64_t>(skipped_)}}};
  log_event(LogLevel::kInfo, "[training] steps", fields);
  steps_ = bytes_sent_ = sparsified_values_ = skipped_ = 0;
  asked_ = sent_ = seconds_ = hidden_seconds_ = 0;
}

}  // namespace tandem::training
