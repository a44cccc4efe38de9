// SPDX-License-Identifier: Apache-2.0
//
// Forms of a result. The table and the drawing show what the JSON has.
#include "apps/planner/simulate/simulate_report.h"

#include <spdlog/fmt/fmt.h>

#include "common/xml_text.h"

namespace tandem::apps {
namespace {

using nlohmann::json;
using simulation::DeviceReport;
using simulation::ServingResult;
using simulation::TimeHistogram;

json times_json(const TimeHistogram& times) {
  return {{"p50", 1e3 * times.quantile(0.5)},
          {"p99", 1e3 * times.quantile(0.99)},
          {"mean", 1e3 * times.mean()},
          {"max", 1e3 * times.most()}};
}

json device_json(const DeviceReport& device) {
  return {{"name", device.name},
          {"count", device.count},
          {"utilisation", device.utilisation},
          {"link_utilisation", device.link_utilisation},
          {"limit", device.limit},
          {"joules", device.joules},
          {"price_per_hour", device.price_per_hour}};
}

std::string times_line(const char* name, const TimeHistogram& times) {
  return fmt::format("{:<22} {:>12.2f} {:>12.2f} {:>12.2f} {:>12.2f}\n", name,
                     1e3 * times.quantile(0.5), 1e3 * times.quantile(0.99), 1e3 * times.mean(),
                     1e3 * times.most());
}

void add_csv(const std::string& prefix, const json& value, std::string& text) {
  if (value.is_structured()) {
    for (const auto& [key, inner] : value.items()) {
      add_csv(prefix.empty() ? key : prefix + "." + key, inner, text);
    }
    return;
  }
  text += prefix + "," + value.dump() + "\n";
}

// The 99th percentile, in the width of a histogram's bucket.
bool meets_target(const SimulatedCase& of, const ServingResult& result) {
  constexpr double kBucket = 1.005;
  const double between_ms = 1e3 * result.record.between_tokens.quantile(0.99);
  return of.target_itl_ms <= 0 || between_ms <= kBucket * of.target_itl_ms;
}

std::string target_line(const SimulatedCase& of, const ServingResult& result) {
  if (meets_target(of, result)) return {};
  return fmt::format(
      "99 % between tokens misses the target of {} ms: it is served as near as possible\n",
      of.target_itl_ms);
}

}  // namespace

json simulation_json(const SimulatedCase& of, const ServingResult& result) {
  json utilisation = json::object(), devices = json::array();
  for (const DeviceReport& device : result.devices) {
    utilisation[device.name] = device.utilisation;
    devices.push_back(device_json(device));
  }
  const simulation::ServingRecord& record = result.record;
  return {{"model", of.model},
          {"devices", of.devices},
          {"load", of.load},
          {"load_assumed", of.assumed},
          {"seed", of.seed},
          {"meets_target", meets_target(of, result)},
          {"seconds", result.seconds},
          {"requests", record.requests},
          {"prompt_tokens", record.prompt_tokens},
          {"generated_tokens", record.generated_tokens},
          {"tokens_per_s", result.tokens_per_s()},
          {"ttft_ms", times_json(record.first_token)},
          {"itl_ms", times_json(record.between_tokens)},
          {"latency_ms", times_json(record.whole)},
          {"joules_per_token", result.joules_per_token()},
          {"joules_per_token_above_idle", result.joules_above_idle_per_token()},
          {"utilisation", utilisation},
          {"limiting_device", result.limiting_device},
          {"price_per_million_tokens", result.price_per_million_tokens()},
          {"steps", record.steps},
          {"two_sub_batch_steps", record.two_sub_batch_steps},
          {"preemptions", record.preemptions},
          {"mean_running", record.mean_batch()},
          {"most_running", record.busiest_batch},
          {"by_device", devices}};
}

std::string simulation_table(const SimulatedCase& of, const ServingResult& result) {
  const simulation::ServingRecord& record = result.record;
  std::string text = fmt::format(
      "{} on {}, {}\n{} requests, {} tokens in {:.2f} s: {:.1f} tokens/s, {:.3f} J per token, "
      "{:.3f} USD per million tokens\n",
      of.model, of.devices, of.load, record.requests, record.generated_tokens, result.seconds,
      result.tokens_per_s(), result.joules_per_token(), result.price_per_million_tokens());
  if (!of.assumed.empty()) text += "assumed of the load: " + of.assumed + "\n";
  text +=
      fmt::format("{:<22} {:>12} {:>12} {:>12} {:>12}\n", "ms", "median", "99 %", "mean", "most");
  text += times_line("first token", record.first_token);
  text += times_line("between tokens", record.between_tokens);
  text += times_line("whole request", record.whole);
  text += target_line(of, result);
  text += fmt::format("{:<22} {:>12} {:>12} {:>12} {:>12}\n", "device", "count", "busy %", "link %",
                      "bound by");
  for (const DeviceReport& device : result.devices) {
    text += fmt::format("{:<22} {:>12} {:>12.1f} {:>12.1f} {:>12}\n", device.name, device.count,
                        100 * device.utilisation, 100 * device.link_utilisation, device.limit);
  }
  return text + fmt::format(
                    "{} limits; {} steps, {} of them in two sub-batches; {:.1f} sequences at once, "
                    "at most {:.0f}; {} preemptions\n",
                    result.limiting_device, record.steps, record.two_sub_batch_steps,
                    record.mean_batch(), record.busiest_batch, record.preemptions);
}

std::string csv_of(const json& object) {
  std::string text = "field,value\n";
  add_csv("", object, text);
  return text;
}

std::string simulation_svg(const SimulatedCase& of, const ServingResult& result) {
  constexpr int kWidth = 720, kBar = 420, kLine = 24;
  const int height = kLine * (static_cast<int>(result.devices.size()) + 7);
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      kWidth, height);
  int y = kLine;
  const auto line = [&](const std::string& words) {
    text += fmt::format("<text x=\"12\" y=\"{}\">{}</text>\n", y, xml_text(words));
    y += kLine;
  };
  line(fmt::format("{} on {}", of.model, of.devices));
  line(fmt::format("{}: {:.1f} tokens/s, {:.3f} J per token", of.load, result.tokens_per_s(),
                   result.joules_per_token()));
  for (const DeviceReport& device : result.devices) {
    text += fmt::format(
        "<rect x=\"150\" y=\"{}\" width=\"{}\" height=\"14\" fill=\"#ddd\"/>\n<rect x=\"150\" "
        "y=\"{}\" width=\"{:.1f}\" height=\"14\" fill=\"#36c\"/>\n<text x=\"{}\" "
        "y=\"{}\">{:.1f} % busy ({})</text>\n",
        y - 12, kBar, y - 12, kBar * device.utilisation, 160 + kBar, y, 100 * device.utilisation,
        device.limit);
    line(device.name);
  }
  const auto times = [&](const char* name, const TimeHistogram& of_times) {
    line(fmt::format("{}: median {:.2f} ms, 99 % {:.2f} ms", name, 1e3 * of_times.quantile(0.5),
                     1e3 * of_times.quantile(0.99)));
  };
  times("first token", result.record.first_token);
  times("between tokens", result.record.between_tokens);
  times("whole request", result.record.whole);
  return text + "</svg>\n";
}

}  // namespace tandem::apps
