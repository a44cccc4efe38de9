// SPDX-License-Identifier: Apache-2.0
//
// Metrics over prometheus-cpp: the families are made once, labelled series on first use.
//
// Totals come as absolute values, but a Prometheus counter takes increments. A series therefore
// keeps its last total and adds the difference. A total that has decreased (a unit was replaced)
// adds nothing. Threads: the metrics are atomic; the lock guards the table of totals.
#include "trace/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "trace/process_metrics.h"

namespace tandem::trace {
namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Histogram;
using Labels = std::map<std::string, std::string>;

// From half a millisecond to two minutes, about 1 : 2.2 apart.
const Histogram::BucketBoundaries kSeconds = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120};

// A counter that follows an absolute total.
void follow(Counter& counter, double total) {
  const double step = total - counter.Value();
  if (step > 0) counter.Increment(step);
}

prometheus::MetricFamily single_value(const char* name, const char* help,
                                      prometheus::MetricType type, double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.gauge.value = metric.counter.value = value;
  return family;
}

// Under the names that Prometheus' own clients use for a process.
void add_process(std::vector<prometheus::MetricFamily>& to) {
  const ProcessFigures figures = process_figures();
  const auto add = [&](const char* name, const char* help, const auto& value,
                       prometheus::MetricType type = prometheus::MetricType::Gauge) {
    if (value) to.push_back(single_value(name, help, type, static_cast<double>(*value)));
  };
  add("process_resident_memory_bytes", "Resident memory.", figures.resident_bytes);
  add("process_virtual_memory_bytes", "Virtual memory.", figures.virtual_bytes);
  add("process_open_fds", "Open file descriptors.", figures.open_fds);
  add("process_max_fds", "The most file descriptors.", figures.max_fds);
  add("process_threads", "Threads.", figures.threads);
  add("process_start_time_seconds", "Start, in Unix time.", figures.start_time_seconds);
  add("process_cpu_seconds_total", "User and system time.", figures.cpu_seconds,
      prometheus::MetricType::Counter);
  prometheus::MetricFamily build = single_value(
      "tandem_build_info", "1, with version and compiler.", prometheus::MetricType::Gauge, 1);
  build.metric.front().label = {{"version", TANDEM_VERSION}, {"compiler", __VERSION__}};
  to.push_back(std::move(build));
}

}  // namespace

struct Metrics::Registry {
  prometheus::Registry registry;
  std::mutex totals_mutex;  // follow() reads and then adds

  Histogram& histogram(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, kSeconds);
  }
  Family<Gauge>& gauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
  }
  Family<Counter>& counters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
  }
  void set_total(Family<Counter>& family, const Labels& labels, double total) {
    const std::lock_guard lock(totals_mutex);
    follow(family.Add(labels), total);
  }

  Histogram& queue = histogram("tandem_queue_seconds", "From arrival to the first scheduled step.");
  Histogram& prefill =
      histogram("tandem_prefill_seconds", "From the first scheduled step to the first token.");
  Histogram& decode = histogram("tandem_decode_seconds", "From the first token to the last.");
  Histogram& first_token =
      histogram("tandem_time_to_first_token_seconds", "From arrival to the first token.");
  Histogram& inter_token =
      histogram("tandem_inter_token_seconds", "Between two tokens of a request.");

  Family<Gauge>& requests = gauges("tandem_requests", "Requests by state.");
  Family<Gauge>& unit_pages = gauges("tandem_unit_kv_pages", "KV pages of an attention unit.");
  Family<Gauge>& unit_alive =
      gauges("tandem_unit_alive", "1 while the attention unit answers, 0 once it is lost.");
  Family<Counter>& tokens = counters("tandem_tokens_total", "Tokens by kind.");
  Family<Counter>& preemptions =
      counters("tandem_preemptions_total", "Sequences that gave up their pages for older ones.");
  Family<Counter>& rebuilt =
      counters("tandem_rebuilt_sequences_total", "Sequences whose unit was lost, computed again.");
  Family<Counter>& moved =
      counters("tandem_moved_kv_pages_total", "KV pages that went from one unit to another.");
  Family<Counter>& refused =
      counters("tandem_refused_steps_total", "Steps that were refused and ran again item by item.");
  Family<Counter>& parked = counters("tandem_parked_sequences_total",
                                     "Preempted sequences whose KV went to host memory.");
  Family<Counter>& restored =
      counters("tandem_restored_tokens_total", "Tokens whose KV came back from host memory.");
  Family<Counter>& drafts =
      counters("tandem_draft_tokens_total", "Guessed tokens: all, and those that were right.");
  Family<Counter>& unit_losses =
      counters("tandem_unit_losses_total", "How often an attention unit was lost.");
  Family<Counter>& finished = counters("tandem_requests_finished_total", "Requests by reason.");
  Family<Counter>& launches =
      counters("tandem_unit_launches_total", "Descriptors submitted to an attention unit.");
  Family<Counter>& unit_bytes =
      counters("tandem_unit_bytes_total", "Bytes between host and attention unit by direction.");
  Family<Counter>& unit_busy =
      counters("tandem_unit_busy_seconds_total", "Time from submit to completion.");
  Family<Counter>& compute_ops =
      counters("tandem_compute_ops_total", "Operations the compute device ran.");
  Family<Counter>& compute_bytes =
      counters("tandem_compute_weight_bytes_total", "Weight bytes the compute device read.");
  Family<Counter>& compute_busy =
      counters("tandem_compute_busy_seconds_total", "Time the compute device was busy.");
  Family<Gauge>& plan_parts =
      gauges("tandem_plan_seconds", "Parts of the last step, predicted and measured.");
  Family<Counter>& plan_steps = counters("tandem_plan_steps_total", "Steps by mode.");
  Family<Gauge>& target_missed =
      gauges("tandem_itl_target_missed", "1 while decode alone takes longer than --target-itl-ms.");
  Family<Counter>& target_missed_steps =
      counters("tandem_itl_target_missed_steps_total", "Steps that could not meet the target.");
  Family<Counter>& http = counters("tandem_http_requests_total", "HTTP answers by route, status.");

  Family<Gauge>& connections = gauges("tandem_http_connections", "Open connections of clients.");
  Family<Counter>& accepted =
      counters("tandem_http_connections_total", "Connections that clients opened.");
  Family<Counter>& key_requests =
      counters("tandem_key_requests_total", "Requests by API key and class of status.");
  Family<Counter>& key_tokens =
      counters("tandem_key_tokens_total", "Tokens of ended requests by API key and kind.");
  std::mutex keys_mutex;
  std::set<std::string> keys;

  // The name, or "other" once there are too many.
  std::string key_label(const std::string& key) {
    const std::lock_guard lock(keys_mutex);
    if (keys.contains(key)) return key;
    if (keys.size() >= kMaxKeys) return "other";
    keys.insert(key);
    return key;
  }

  // Series without labels and with fixed labels exist from the start, so that rates begin at zero.
  Registry() {
    for (const char* state : {"running", "waiting"}) requests.Add({{"state", state}});
    for (const char* kind : {"prompt", "cached", "generated"}) tokens.Add({{"kind", kind}});
    for (Family<Counter>* family :
         {&preemptions, &rebuilt, &moved, &accepted, &refused, &target_missed_steps}) {
      family->Add({});
    }
    connections.Add({});
    target_missed.Add({});
  }
};

Metrics::Metrics() : registry_(std::make_unique<Registry>()) {}
Metrics::~Metrics() = default;

void Metrics::observe_queue_seconds(double seconds) { registry_->queue.Observe(seconds); }
void Metrics::observe_prefill_seconds(double seconds) { registry_->prefill.Observe(seconds); }
void Metrics::observe_decode_seconds(double seconds) { registry_->decode.Observe(seconds); }
void Metrics::observe_time_to_first_token_seconds(double seconds) {
  registry_->first_token.Observe(seconds);
}
void Metrics::observe_inter_token_seconds(double seconds) {
  registry_->inter_token.Observe(seconds);
}

void Metrics::set_requests(int running, int waiting) {
  registry_->requests.Add({{"state", "running"}}).Set(running);
  registry_->requests.Add({{"state", "waiting"}}).Set(waiting);
}

void Metrics::set_tokens_total(std::uint64_t prompt, std::uint64_t cached,
                               std::uint64_t generated) {
  registry_->set_total(registry_->tokens, {{"kind", "prompt"}}, static_cast<double>(prompt));
  registry_->set_total(registry_->tokens, {{"kind", "cached"}}, static_cast<double>(cached));
  registry_->set_total(registry_->tokens, {{"kind", "generated"}}, static_cast<double>(generated));
}

void Metrics::set_preemptions_total(std::uint64_t count) {
  registry_->set_total(registry_->preemptions, {}, static_cast<double>(count));
}

void Metrics::set_rebuilt_sequences_total(std::uint64_t count) {
  registry_->set_total(registry_->rebuilt, {}, static_cast<double>(count));
}

void Metrics::set_moved_pages_total(std::uint64_t count) {
  registry_->set_total(registry_->moved, {}, static_cast<double>(count));
}

void Metrics::set_refused_steps_total(std::uint64_t count) {
  registry_->set_total(registry_->refused, {}, static_cast<double>(count));
}

void Metrics::set_parking_totals(std::uint64_t sequences, std::uint64_t tokens) {
  registry_->set_total(registry_->parked, {}, static_cast<double>(sequences));
  registry_->set_total(registry_->restored, {}, static_cast<double>(tokens));
}

void Metrics::set_drafts_total(std::uint64_t drafted, std::uint64_t accepted) {
  registry_->set_total(registry_->drafts, {{"kind", "drafted"}}, static_cast<double>(drafted));
  registry_->set_total(registry_->drafts, {{"kind", "accepted"}}, static_cast<double>(accepted));
}

void Metrics::set_unit_losses_total(const std::string& unit, std::uint64_t count) {
  registry_->set_total(registry_->unit_losses, {{"unit", unit}}, static_cast<double>(count));
}

void Metrics::count_finished(const std::string& reason) {
  registry_->finished.Add({{"reason", reason}}).Increment();
}

void Metrics::set_unit_pages(const std::string& unit, std::uint32_t used, std::uint32_t total) {
  registry_->unit_pages.Add({{"unit", unit}, {"state", "used"}}).Set(used);
  registry_->unit_pages.Add({{"unit", unit}, {"state", "total"}}).Set(total);
}

void Metrics::set_unit_alive(const std::string& unit, bool alive) {
  registry_->unit_alive.Add({{"unit", unit}}).Set(alive ? 1 : 0);
}

void Metrics::set_unit_totals(const std::string& unit, std::uint64_t launches,
                              std::uint64_t bytes_to_unit, std::uint64_t bytes_from_unit,
                              double busy_seconds) {
  Registry& r = *registry_;
  r.set_total(r.launches, {{"unit", unit}}, static_cast<double>(launches));
  r.set_total(r.unit_bytes, {{"unit", unit}, {"direction", "to"}},
              static_cast<double>(bytes_to_unit));
  r.set_total(r.unit_bytes, {{"unit", unit}, {"direction", "from"}},
              static_cast<double>(bytes_from_unit));
  r.set_total(r.unit_busy, {{"unit", unit}}, busy_seconds);
}

void Metrics::set_compute_totals(const std::string& device, std::uint64_t ops,
                                 std::uint64_t weight_bytes, double busy_seconds) {
  Registry& r = *registry_;
  r.set_total(r.compute_ops, {{"device", device}}, static_cast<double>(ops));
  r.set_total(r.compute_bytes, {{"device", device}}, static_cast<double>(weight_bytes));
  r.set_total(r.compute_busy, {{"device", device}}, busy_seconds);
}

void Metrics::set_plan_part(const std::string& part, const std::string& device, double predicted_s,
                            double measured_s) {
  const auto set = [&](const char* kind, double seconds) {
    if (seconds < 0) return;
    registry_->plan_parts.Add({{"part", part}, {"device", device}, {"kind", kind}}).Set(seconds);
  };
  set("predicted", predicted_s);
  set("measured", measured_s);
}

void Metrics::set_plan_steps_total(const std::string& mode, std::uint64_t count) {
  registry_->set_total(registry_->plan_steps, {{"mode", mode}}, static_cast<double>(count));
}

void Metrics::set_target_missed(bool missed, std::uint64_t steps) {
  registry_->target_missed.Add({}).Set(missed ? 1 : 0);
  registry_->set_total(registry_->target_missed_steps, {}, static_cast<double>(steps));
}

void Metrics::count_http(const std::string& route, int status) {
  registry_->http.Add({{"route", route}, {"status", std::to_string(status)}}).Increment();
}

void Metrics::count_connection_opened() {
  registry_->connections.Add({}).Increment();
  registry_->accepted.Add({}).Increment();
}

void Metrics::count_connection_closed() { registry_->connections.Add({}).Decrement(); }

void Metrics::count_key_request(const std::string& key, int status) {
  const std::string status_class = std::to_string(status / 100) + "xx";  // 0xx: no answer
  registry_->key_requests.Add({{"key", registry_->key_label(key)}, {"status", status_class}})
      .Increment();
}

void Metrics::count_key_tokens(const std::string& key, int prompt, int completion) {
  const std::string label = registry_->key_label(key);
  registry_->key_tokens.Add({{"key", label}, {"kind", "prompt"}}).Increment(prompt);
  registry_->key_tokens.Add({{"key", label}, {"kind", "generated"}}).Increment(completion);
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = registry_->registry.Collect();
  add_process(families);
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace tandem::trace
