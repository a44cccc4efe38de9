// SPDX-License-Identifier: Apache-2.0
//
// The events of all servers in the order of time, and the sums afterwards.
#include "simulation/serving/simulate.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <queue>

namespace tandem::simulation {
namespace {

constexpr double kSecondsPerHour = 3600;
constexpr std::uint64_t kStepsBetweenReports = 1024;  // steps between two looks at the real clock

class Run {
 public:
  Run(const ServerModel& model, const MachineSpec& machine, const ServingOptions& options,
      Load load)
      : load_(std::move(load)) {
    for (int i = 0; i < machine.num_servers; ++i) {
      servers_.push_back(std::make_unique<Server>(model, options, record));
    }
    num_requests_.resize(servers_.size());
  }

  void all(const SimulationProgress& progress) {
    next_ = load_.next();
    for (int i = 0; i < load_.in_flight(); ++i) submit_now(0);
    const bool arrive = load_.in_flight() == 0;
    while (true) {
      if (arrive && next_ && (busy_.empty() || next_->arrival_s <= busy_.top().time)) {
        submit_now(next_->arrival_s);
      } else if (!busy_.empty()) {
        step_first(!arrive);
      } else {
        break;
      }
      if (progress && record.steps % kStepsBetweenReports == 0) report_progress(progress);
    }
  }

  double end() const {
    double end = 0;
    for (const auto& server : servers_) end = std::max(end, server->now());
    return end;
  }
  const std::vector<std::unique_ptr<Server>>& servers() const { return servers_; }

  ServingRecord record;

 private:
  struct Busy {
    double time = 0;
    std::size_t server = 0;
    bool operator>(const Busy& other) const {
      return time != other.time ? time > other.time : server > other.server;
    }
  };

  void submit_now(double time) {
    if (!next_) return;
    next_->arrival_s = time;
    const auto least =
        static_cast<std::size_t>(std::ranges::min_element(num_requests_) - num_requests_.begin());
    ++num_requests_[least];
    Server& server = *servers_[least];
    const bool was_idle = server.idle();
    server.submit(*next_);
    if (was_idle && stepping_ != least) {
      server.wait_until(time);
      busy_.push({server.now(), least});
    }
    next_ = load_.next();
  }

  void step_first(bool replace_ended) {
    stepping_ = busy_.top().server;
    busy_.pop();
    Server& server = *servers_[stepping_];
    const int num_ended = server.step(until(replace_ended));
    num_requests_[stepping_] -= num_ended;
    for (int i = 0; replace_ended && i < num_ended; ++i) submit_now(server.now());
    if (!server.idle()) busy_.push({server.now(), stepping_});
    stepping_ = kNone;
  }

  // The time before which no request can reach the server that steps. A request that replaces an
  // ended one goes to the same server, because that one has the fewest then.
  double until(bool replace_ended) const {
    const bool may_arrive = !replace_ended && next_;
    return may_arrive ? next_->arrival_s : std::numeric_limits<double>::infinity();
  }

  void report_progress(const SimulationProgress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (now - progress_at_ < std::chrono::milliseconds(200)) return;
    progress_at_ = now;
    progress(record.requests, load_.num_requests());
  }

  static constexpr std::size_t kNone = ~std::size_t{0};
  Load load_;
  std::optional<SimulatedRequest> next_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<int> num_requests_;                                      // [servers]
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;  // one entry per busy server
  std::size_t stepping_ = kNone;
  std::chrono::steady_clock::time_point progress_at_ = std::chrono::steady_clock::now();
};

// `uses`: of the devices of one kind.
DeviceReport report_of(const std::string& name, const planner::DeviceSheet& sheet,
                       const std::vector<DeviceUse>& uses, int per_use, double seconds) {
  DeviceUse sum;
  for (const DeviceUse& use : uses) {
    sum.busy += use.busy, sum.link += use.link;
    sum.memory_bound += use.memory_bound, sum.arithmetic_bound += use.arithmetic_bound;
  }
  const auto num_uses = static_cast<double>(uses.size());
  DeviceReport report;
  report.name = name;
  report.count = static_cast<int>(uses.size()) * per_use;
  if (seconds > 0) {
    report.utilisation = std::min(1.0, sum.busy / num_uses / seconds);
    report.link_utilisation = sum.link / num_uses / seconds;
  }
  report.limit = sum.arithmetic_bound > sum.memory_bound ? "arithmetic" : "memory";
  report.joules_above_idle = per_use * sum.busy * (sheet.busy_w - sheet.idle_w);
  report.joules = report.joules_above_idle + report.count * sheet.idle_w * seconds;
  report.price_per_hour = report.count * sheet.price_per_hour;
  return report;
}

}  // namespace

double ServingResult::tokens_per_s() const {
  return seconds > 0 ? static_cast<double>(record.generated_tokens) / seconds : 0;
}

double ServingResult::joules_per_token() const {
  double joules = 0;
  for (const DeviceReport& device : devices) joules += device.joules;
  return joules / std::max(1.0, static_cast<double>(record.generated_tokens));
}

double ServingResult::joules_above_idle_per_token() const {
  double joules = 0;
  for (const DeviceReport& device : devices) joules += device.joules_above_idle;
  return joules / std::max(1.0, static_cast<double>(record.generated_tokens));
}

double ServingResult::price_per_million_tokens() const {
  double per_hour = 0;
  for (const DeviceReport& device : devices) per_hour += device.price_per_hour;
  const double rate = tokens_per_s();
  return rate > 0 ? per_hour / kSecondsPerHour / rate * 1e6 : 0;
}

ServingResult simulate_serving(const MachineSpec& machine, const ServingOptions& options, Load load,
                               const SimulationProgress& progress) {
  const ServerModel model = model_server(machine, options);
  Run run(model, machine, options, std::move(load));
  run.all(progress);
  ServingResult result;
  result.record = std::move(run.record);
  result.seconds = run.end();
  std::vector<DeviceUse> compute;
  std::vector<std::vector<DeviceUse>> units(model.names.size());
  for (const auto& server : run.servers()) {
    compute.push_back(server->compute_use());
    for (std::size_t u = 0; u < units.size(); ++u) units[u].push_back(server->unit_use()[u]);
  }
  const planner::DeviceSheet& sheet = machine.compute.sheet;
  result.devices.push_back(
      report_of(sheet.name, sheet, compute, machine.compute.count, result.seconds));
  for (std::size_t u = 0; u < units.size(); ++u) {
    if (static_cast<int>(u) == model.own_unit) continue;
    result.devices.push_back(
        report_of(model.names[u], model.sheets[u], units[u], 1, result.seconds));
  }
  result.limiting_device =
      std::ranges::max_element(result.devices, {}, &DeviceReport::utilisation)->name;
  return result;
}

}  // namespace tandem::simulation
