// SPDX-License-Identifier: Apache-2.0
//
// The dashboard for Grafana and /metrics name the same figures: every metric of the dashboard
// exists with the labels that it uses, and every metric of the daemon is on the dashboard.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/tree.h"
#include "trace/metrics.h"

namespace tandem::trace {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

// Labels that Prometheus itself adds.
const Names kScraped = {"instance", "job"};

// Every figure has been set once, so its family and its labels are in the text.
std::string all_metrics() {
  Metrics metrics;
  for (const auto observe :
       {&Metrics::observe_queue_seconds, &Metrics::observe_prefill_seconds,
        &Metrics::observe_decode_seconds, &Metrics::observe_time_to_first_token_seconds,
        &Metrics::observe_inter_token_seconds}) {
    (metrics.*observe)(0.1);
  }
  metrics.set_requests(1, 1);
  metrics.set_tokens_total(1, 1, 1);
  for (const auto set : {&Metrics::set_preemptions_total, &Metrics::set_rebuilt_sequences_total,
                         &Metrics::set_moved_pages_total, &Metrics::set_refused_steps_total}) {
    (metrics.*set)(1);
  }
  metrics.set_parking_totals(1, 1);
  metrics.set_drafts_total(1, 1);
  metrics.count_finished("stop");
  metrics.set_unit_pages("cpu", 1, 2);
  metrics.set_unit_alive("cpu", true);
  metrics.set_unit_losses_total("cpu", 1);
  metrics.set_unit_totals("cpu", 1, 1, 1, 1);
  metrics.set_compute_totals("cpu", 1, 1, 1);
  metrics.set_plan_part("dense", "cpu", 1, 1);
  metrics.set_plan_steps_total("decode", 1);
  metrics.set_target_missed(true, 1);
  metrics.count_http("/status", 200);
  metrics.count_connection_opened();
  metrics.count_key_request("a", 200);
  metrics.count_key_tokens("a", 1, 1);
  return metrics.text();
}

// The labels of every series by its name, as a scrape has them.
std::map<std::string, Names> labels_by_name(const std::string& text) {
  std::map<std::string, Names> found;
  static const std::regex series("^([a-z_]+)(\\{(.*)\\})? "), label("([a-z_]+)=\"");
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch match;
    if (line.starts_with("#") || !std::regex_search(line, match, series)) continue;
    Names& labels = found[match[1]];
    const std::string inside = match[3];
    for (std::sregex_iterator at(inside.begin(), inside.end(), label), end; at != end; ++at) {
      labels.insert((*at)[1]);
    }
  }
  return found;
}

Names families(const std::string& text) {
  Names found;
  static const std::regex type("# TYPE ([a-z_]+) ");
  for (std::sregex_iterator at(text.begin(), text.end(), type), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

const json& dashboard() {
  static const json parsed =
      json::parse(std::ifstream(test::binary_dir() / "share/tandem/grafana.json"));
  return parsed;
}

std::vector<std::string> expressions() {
  std::vector<std::string> found;
  for (const json& panel : dashboard()["panels"]) {
    for (const json& target : panel.value("targets", json::array())) {
      found.push_back(target["expr"]);
    }
  }
  return found;
}

const std::regex kMetricName("\\b(tandem|process)_[a-z_]+");

TEST(GrafanaDashboard, EveryMetricAndItsLabelsExist) {
  const auto known = labels_by_name(all_metrics());
  static const std::regex selected("((?:tandem|process)_[a-z_]+)\\{([^}]*)\\}"),
      selector("([a-z_]+)[=!]"), grouped("by \\(([a-z_, ]+)\\)"), word("[a-z_]+");
  for (const std::string& text : expressions()) {
    Names usable = kScraped;
    for (std::sregex_iterator at(text.begin(), text.end(), kMetricName), end; at != end; ++at) {
      const auto metric = known.find(at->str());
      ASSERT_NE(metric, known.end()) << "/metrics has no " << at->str() << ": " << text;
      usable.insert(metric->second.begin(), metric->second.end());
    }
    std::smatch match;
    for (std::sregex_iterator at(text.begin(), text.end(), selected), end; at != end; ++at) {
      const std::string inside = (*at)[2];
      for (std::sregex_iterator s(inside.begin(), inside.end(), selector); s != end; ++s) {
        EXPECT_TRUE(known.at((*at)[1]).contains((*s)[1]) || kScraped.contains((*s)[1]))
            << (*s)[1] << " is no label: " << text;
      }
    }
    if (!std::regex_search(text, match, grouped)) continue;
    const std::string labels = match[1];
    for (std::sregex_iterator at(labels.begin(), labels.end(), word), end; at != end; ++at) {
      EXPECT_TRUE(usable.contains(at->str())) << at->str() << " is no label: " << text;
    }
  }
}

TEST(GrafanaDashboard, EveryMetricOfTheDaemonIsShown) {
  std::string all;
  for (const std::string& text : expressions()) all += text + "\n";
  for (const std::string& family : families(all_metrics())) {
    EXPECT_TRUE(std::regex_search(all, std::regex("\\b" + family + "(_bucket)?\\b")))
        << family << " is not on the dashboard";
  }
}

TEST(GrafanaDashboard, PanelsHaveNumbersOfTheirOwnAndDoNotOverlap) {
  std::set<int> numbers;
  std::map<std::pair<int, int>, std::string> owner;
  for (const json& panel : dashboard()["panels"]) {
    EXPECT_TRUE(numbers.insert(panel["id"].get<int>()).second) << panel["title"];
    const json& at = panel["gridPos"];
    EXPECT_LE(at["x"].get<int>() + at["w"].get<int>(), 24) << panel["title"];
    for (int x = at["x"]; x < at["x"].get<int>() + at["w"].get<int>(); ++x) {
      for (int y = at["y"]; y < at["y"].get<int>() + at["h"].get<int>(); ++y) {
        const auto [other, is_free] = owner.emplace(std::pair{x, y}, panel["title"]);
        ASSERT_TRUE(is_free) << panel["title"] << " lies on " << other->second;
      }
    }
  }
  EXPECT_GT(numbers.size(), 30u);
}

TEST(GrafanaDashboard, LegendsNameLabelsOfTheirExpressions) {
  static const std::regex label("\\{\\{([a-z_]+)\\}\\}");
  for (const json& panel : dashboard()["panels"]) {
    for (const json& target : panel.value("targets", json::array())) {
      const std::string legend = target["legendFormat"], text = target["expr"];
      for (std::sregex_iterator at(legend.begin(), legend.end(), label), end; at != end; ++at) {
        EXPECT_TRUE(
            std::regex_search(text, std::regex("\\(([a-z_]+, )*" + (*at)[1].str() + "[,)]")))
            << legend << " of " << text;
      }
    }
  }
}

}  // namespace
}  // namespace tandem::trace
