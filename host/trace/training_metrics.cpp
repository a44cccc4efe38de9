// SPDX-License-Identifier: Apache-2.0
//
// Families are made once, series of a bucket on first use.
#include "trace/training_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <set>

namespace tandem::trace {
namespace {

using TrainingCounters = prometheus::Family<prometheus::Counter>;
using TrainingGauges = prometheus::Family<prometheus::Gauge>;

}  // namespace

struct TrainingMetrics::Registry {
  prometheus::Registry registry;
  std::mutex mutex;
  std::set<std::string> buckets;

  TrainingCounters& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  TrainingGauges& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  std::string label(const std::string& bucket) {
    const std::lock_guard lock(mutex);
    if (!buckets.contains(bucket) && buckets.size() >= kMaxBuckets) return "other";
    buckets.insert(bucket);
    return bucket;
  }

  TrainingCounters& steps = counters("tandem_training_steps_total", "Steps whose last call ended.");
  TrainingCounters& calls = counters("tandem_training_calls_total", "Calls by bucket and result.");
  TrainingCounters& bytes =
      counters("tandem_training_sent_bytes_total", "Bytes sent to all ranks.");
  TrainingCounters& seconds =
      counters("tandem_training_call_seconds_total", "Time of calls by bucket, hidden or exposed.");
  TrainingGauges& density =
      gauges("tandem_training_density", "Of the last call: the density asked for, and sent.");
  TrainingGauges& build_up =
      gauges("tandem_training_build_up", "Of the last call: entries of the mean over those meant.");
  TrainingGauges& residual =
      gauges("tandem_training_residual_norm", "Of all residuals, when statistics were last read.");
};

TrainingMetrics::TrainingMetrics() : registry_(std::make_unique<Registry>()) {}
TrainingMetrics::~TrainingMetrics() = default;

void TrainingMetrics::observe_call(const std::string& bucket, const ReducerCall& call) {
  const std::string label = registry_->label(bucket);
  const char* result = call.failed ? "failed" : call.skipped ? "skipped" : "done";
  registry_->calls.Add({{"bucket", label}, {"result", result}}).Increment();
  registry_->bytes.Add({{"bucket", label}}).Increment(static_cast<double>(call.bytes_sent));
  registry_->seconds.Add({{"bucket", label}, {"kind", "hidden"}}).Increment(call.hidden_seconds);
  registry_->seconds.Add({{"bucket", label}, {"kind", "exposed"}})
      .Increment(call.seconds - call.hidden_seconds);
  if (!call.sparsified) return;
  registry_->density.Add({{"bucket", label}, {"kind", "asked"}}).Set(call.density_asked);
  registry_->density.Add({{"bucket", label}, {"kind", "sent"}}).Set(call.density_sent);
  registry_->build_up.Add({{"bucket", label}}).Set(call.build_up);
}

void TrainingMetrics::count_step() { registry_->steps.Add({}).Increment(); }

void TrainingMetrics::set_residual_norm(double norm) { registry_->residual.Add({}).Set(norm); }

std::string TrainingMetrics::text() const {
  return prometheus::TextSerializer().Serialize(registry_->registry.Collect());
}

}  // namespace tandem::trace
