// SPDX-License-Identifier: Apache-2.0
//
// Text and JSON of a bench run.
#include "apps/models/bench/report.h"

#include <spdlog/fmt/fmt.h>

#include <cstdio>

namespace tandem::apps::bench {
namespace {

using Json = nlohmann::ordered_json;

// The roofline of memory does not apply to weights that stay in a cache.
constexpr double kCacheBytes = 256e6;

Json speeds_json(const Speeds& speeds) {
  return {{"read_gb_per_s", speeds.weight_bytes_per_s * 1e-9},
          {"kv_read_gb_per_s", speeds.kv_bytes_per_s * 1e-9},
          {"f32_gop_per_s", speeds.ops_per_s.f32 * 1e-9},
          {"bf16_gop_per_s", speeds.ops_per_s.bf16 * 1e-9},
          {"int8_gop_per_s", speeds.ops_per_s.int8 * 1e-9}};
}

}  // namespace

Report::Report(RunFacts facts, bool as_json) : facts_(std::move(facts)), as_json_(as_json) {}

void Report::print(const Json& line) const {
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

Json Report::figure(const std::string& name, const std::vector<double>& values,
                    const std::string& unit) const {
  return {{"name", "bench/" + name},
          {"median", quantile(values, 0.5)},
          {"p10", quantile(values, 0.1)},
          {"p90", quantile(values, 0.9)},
          {"unit", unit},
          {"samples", values.size()}};
}

void Report::begin() {
  if (as_json_) return;
  fmt::print("{}, {}, {:.1f} M parameters, {:.1f} MiB of weights; KV {}\n", facts_.model->name,
             facts_.weights, static_cast<double>(facts_.model->parameters) / 1e6,
             static_cast<double>(facts_.weight_bytes) / (1 << 20), facts_.kv_dtype);
  fmt::print("compute {}, attention {}, {}\n", facts_.compute, facts_.attention,
             facts_.threads > 0 ? std::to_string(facts_.threads) + " threads" : "all cores");
  fmt::print("a prompt's tokens are the same whole, cut and beside others\n");
}

void Report::load(const std::vector<LoadTime>& times) {
  std::vector<double> all, open, weights;
  for (const LoadTime& time : times) {
    open.push_back(time.open_seconds);
    weights.push_back(time.weights_seconds);
    all.push_back(time.open_seconds + time.weights_seconds);
  }
  if (!as_json_) {
    fmt::print("loads in {:.3f} s: {:.3f} s to open the file, {:.3f} s to take the weights\n\n",
               quantile(all, 0.5), quantile(open, 0.5), quantile(weights, 0.5));
    fmt::print("{:<40} {:>10} {:>21} {:>11} {:>11} {:>10} {:>8}\n", "", "tokens/s", "p10 .. p90",
               "ms a step", "limit", "of limit", "samples");
    return;
  }
  Json line = figure("load", all, "s");
  line["open_seconds"] = quantile(open, 0.5);
  line["weights_seconds"] = quantile(weights, 0.5);
  line["bytes"] = facts_.weight_bytes;
  line["command"] = facts_.command;
  print(line);
}

void Report::turn(const RowResult& result) {
  Json line = {{"turn", row_name(result.row)}, {"samples", result.tokens_per_s.size()}};
  if (!result.tokens_per_s.empty()) line["tokens_per_s"] = result.tokens_per_s.back();
  print(line);
}

void Report::text_row(const RowResult& result) const {
  std::string title = row_title(result.row);
  if (result.row.tokens != result.row.asked_tokens) {
    title += " (of " + std::to_string(result.row.asked_tokens) + ")";
  }
  if (!result.skipped.empty()) {
    fmt::print("{:<40} skipped: {}\n", title, result.skipped);
    return;
  }
  const double median = quantile(result.tokens_per_s, 0.5);
  const double tokens = result.row.kind == RowKind::kPrefill ? result.row.tokens : result.row.batch;
  const bool known = !result.fractions.empty();
  const bool few = static_cast<int>(result.tokens_per_s.size()) < facts_.samples_wanted;
  fmt::print("{:<40} {:>10.1f} {:>21} {:>11.2f} {:>11} {:>10} {:>7}{}\n", title, median,
             fmt::format("{:.1f} .. {:.1f}", quantile(result.tokens_per_s, 0.1),
                         quantile(result.tokens_per_s, 0.9)),
             tokens / median * 1e3,
             known ? fmt::format("{:.2f} {}", result.limit.seconds * 1e3,
                                 result.limit.by_memory ? "mem" : "ops")
                   : "unknown",
             known ? fmt::format("{:.2f}{}", quantile(result.fractions, 0.5),
                                 result.work.weight_bytes < kCacheBytes ? "*" : "")
                   : "-",
             result.tokens_per_s.size(), few ? "!" : "");
  std::fflush(stdout);
}

void Report::end() {
  if (as_json_) return;
  fmt::print(
      "limit: the least ms a step, by memory (mem) or arithmetic (ops); of limit: 1.00 reaches it; "
      "*: weights fit a cache, which may beat memory; !: fewer samples than wanted\n");
}

void Report::row(const RowResult& result) {
  if (!as_json_) return text_row(result);
  if (result.tokens_per_s.empty()) {
    const std::string why = result.skipped.empty() ? "ended before a sample" : result.skipped;
    print({{"name", "bench/" + row_name(result.row)}, {"skipped", why}});
    return;
  }
  Json line = figure(row_name(result.row), result.tokens_per_s, "tokens/s");
  line["steps_per_sample"] = result.steps_per_sample;
  line["batch"] = result.row.batch;
  line["context"] = result.row.tokens;
  if (result.row.tokens != result.row.asked_tokens) {
    line["asked_context"] = result.row.asked_tokens;
  }
  line["weight_bytes"] = result.work.weight_bytes;
  line["kv_bytes"] = result.work.kv_bytes;
  line["ops"] = result.work.total_ops();
  if (!result.fractions.empty()) {
    line["roofline_fraction"] = quantile(result.fractions, 0.5);
    line["roofline_seconds"] = result.limit.seconds;
    line["limited_by"] = result.limit.by_memory ? "memory" : "arithmetic";
    line["weights_fit_a_cache"] = result.work.weight_bytes < kCacheBytes;
  }
  line["speeds"] = speeds_json(median_speeds(result.speeds));
  line["model"] = facts_.model->name;
  line["weights"] = facts_.weights;
  line["parameters"] = facts_.model->parameters;
  line["kv_dtype"] = facts_.kv_dtype;
  line["compute"] = facts_.compute;
  line["attention"] = facts_.attention;
  line["threads"] = facts_.threads;
  line["command"] = facts_.command;
  print(line);
}

}  // namespace tandem::apps::bench
