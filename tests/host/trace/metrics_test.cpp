// SPDX-License-Identifier: Apache-2.0
//
// Metrics prints its values with their names and labels in the text exposition format.
#include "trace/metrics.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "trace/process_metrics.h"

namespace tandem::trace {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Metrics, CountsAnObservationInEveryBucketThatHoldsIt) {
  Metrics metrics;
  metrics.observe_time_to_first_token_seconds(0.02);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("# TYPE tandem_time_to_first_token_seconds histogram"));
  EXPECT_THAT(text, HasSubstr("tandem_time_to_first_token_seconds_bucket{le=\"0.01\"} 0"));
  EXPECT_THAT(text, HasSubstr("tandem_time_to_first_token_seconds_bucket{le=\"0.025\"} 1"));
  EXPECT_THAT(text, HasSubstr("tandem_time_to_first_token_seconds_bucket{le=\"+Inf\"} 1"));
  EXPECT_THAT(text, HasSubstr("tandem_time_to_first_token_seconds_count 1"));
}

TEST(Metrics, ShowsGaugesAsLastSet) {
  Metrics metrics;
  metrics.set_requests(3, 4);
  metrics.set_requests(1, 0);
  metrics.set_unit_pages("xrt:0", 7, 100);
  metrics.set_unit_alive("xrt:0", true);
  metrics.set_unit_alive("xrt:0", false);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("tandem_requests{state=\"running\"} 1"));
  EXPECT_THAT(text, HasSubstr("tandem_requests{state=\"waiting\"} 0"));
  EXPECT_THAT(text, HasSubstr("tandem_unit_kv_pages{state=\"used\",unit=\"xrt:0\"} 7"));
  EXPECT_THAT(text, HasSubstr("tandem_unit_kv_pages{state=\"total\",unit=\"xrt:0\"} 100"));
  EXPECT_THAT(text, HasSubstr("tandem_unit_alive{unit=\"xrt:0\"} 0"));
}

TEST(Metrics, CountersFollowAbsoluteTotalsAndNeverFall) {
  Metrics metrics;
  metrics.set_tokens_total(10, 2, 5);
  metrics.set_tokens_total(12, 2, 9);
  metrics.set_unit_totals("cpu", 5, 100, 200, 0.5);
  metrics.set_unit_totals("cpu", 4, 100, 250, 0.75);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("# TYPE tandem_tokens_total counter"));
  EXPECT_THAT(text, HasSubstr("tandem_tokens_total{kind=\"prompt\"} 12"));
  EXPECT_THAT(text, HasSubstr("tandem_tokens_total{kind=\"generated\"} 9"));
  EXPECT_THAT(text, HasSubstr("tandem_unit_launches_total{unit=\"cpu\"} 5"));
  EXPECT_THAT(text, HasSubstr("tandem_unit_bytes_total{direction=\"from\",unit=\"cpu\"} 250"));
  EXPECT_THAT(text, HasSubstr("tandem_unit_busy_seconds_total{unit=\"cpu\"} 0.75"));
}

TEST(Metrics, CountsMovedPagesAndRebuiltSequencesFromZero) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_moved_kv_pages_total 0"));
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_rebuilt_sequences_total 0"));
  metrics.set_moved_pages_total(17);
  metrics.set_rebuilt_sequences_total(3);
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_moved_kv_pages_total 17"));
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_rebuilt_sequences_total 3"));
}

TEST(Metrics, ShowThePlanOfTheLastStep) {
  Metrics metrics;
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_itl_target_missed 0"));
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_itl_target_missed_steps_total 0"));
  metrics.set_plan_part("dense", "cpu", 0.5, 0.25);
  metrics.set_plan_part("merge", "cpu", 0.125, -1);
  metrics.set_plan_steps_total("shares", 7);
  metrics.set_target_missed(true, 3);
  const std::string text = metrics.text();
  EXPECT_THAT(
      text, HasSubstr("tandem_plan_seconds{device=\"cpu\",kind=\"predicted\",part=\"dense\"} 0.5"));
  EXPECT_THAT(
      text, HasSubstr("tandem_plan_seconds{device=\"cpu\",kind=\"measured\",part=\"dense\"} 0.25"));
  EXPECT_THAT(text, HasSubstr("kind=\"predicted\",part=\"merge\"} 0.125"));
  EXPECT_THAT(text, Not(HasSubstr("kind=\"measured\",part=\"merge\"")));
  EXPECT_THAT(text, HasSubstr("tandem_plan_steps_total{mode=\"shares\"} 7"));
  EXPECT_THAT(text, HasSubstr("tandem_itl_target_missed 1"));
  EXPECT_THAT(text, HasSubstr("tandem_itl_target_missed_steps_total 3"));
}

TEST(Metrics, CountsEventsByLabel) {
  Metrics metrics;
  metrics.count_finished("stop");
  metrics.count_finished("stop");
  metrics.count_http("/v1/models", 200);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("tandem_requests_finished_total{reason=\"stop\"} 2"));
  EXPECT_THAT(text, Not(HasSubstr("reason=\"length\"")));
  EXPECT_THAT(text, HasSubstr("tandem_http_requests_total{route=\"/v1/models\",status=\"200\"} 1"));
}

TEST(Metrics, LosesNoCountUnderThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&metrics] {
      for (int n = 0; n < 500; ++n) {
        metrics.count_finished("stop");
        metrics.set_preemptions_total(static_cast<std::uint64_t>(n));
        if (n % 100 == 0) {
          EXPECT_FALSE(metrics.text().empty());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("tandem_requests_finished_total{reason=\"stop\"} 2000"));
  EXPECT_THAT(text, HasSubstr("tandem_preemptions_total 499"));
}

TEST(Metrics, TellsProcessAndBuild) {
  Metrics metrics;
  const std::string text = metrics.text();
  const auto value = [&](const std::string& name) {
    const std::size_t at = text.find("\n" + name + " ");
    return at == std::string::npos ? -1.0 : std::stod(text.substr(at + name.size() + 2));
  };
  EXPECT_GT(value("process_resident_memory_bytes"), 1e5);
  EXPECT_GT(value("process_virtual_memory_bytes"), value("process_resident_memory_bytes"));
  EXPECT_GE(value("process_open_fds"), 3);
  EXPECT_GT(value("process_max_fds"), value("process_open_fds"));
  // The sanitizer of threads has one of its own.
  const std::filesystem::directory_iterator threads("/proc/self/task");
  EXPECT_EQ(value("process_threads"), std::distance(begin(threads), end(threads)));
  EXPECT_GE(value("process_cpu_seconds_total"), 0);
  const auto now = static_cast<double>(std::time(nullptr));
  EXPECT_GT(value("process_start_time_seconds"), now - 86400);
  EXPECT_LT(value("process_start_time_seconds"), now + 60);
  EXPECT_THAT(text, HasSubstr("# TYPE process_cpu_seconds_total counter"));
  EXPECT_THAT(text, HasSubstr("tandem_build_info{version=\""));
}

TEST(Metrics, ADescriptorMoreIsSeen) {
  const auto open_fds = process_figures().open_fds;
  std::FILE* file = std::fopen("/dev/null", "r");
  EXPECT_EQ(process_figures().open_fds, *open_fds + 1);
  std::fclose(file);
}

TEST(Metrics, KeysBeyondTheMostAreCountedTogether) {
  Metrics metrics;
  for (std::size_t i = 0; i < Metrics::kMaxKeys + 7; ++i) {
    metrics.count_key_request("key" + std::to_string(i), 200);
    metrics.count_key_tokens("key" + std::to_string(i), 2, 3);
  }
  metrics.count_key_request("key0", 429);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("tandem_key_requests_total{key=\"key0\",status=\"4xx\"} 1"));
  EXPECT_THAT(text, HasSubstr("tandem_key_requests_total{key=\"other\",status=\"2xx\"} 7"));
  EXPECT_THAT(text, HasSubstr("tandem_key_tokens_total{key=\"other\",kind=\"generated\"} 21"));
  EXPECT_THAT(text, Not(HasSubstr("key=\"key" + std::to_string(Metrics::kMaxKeys) + "\"")));
}

TEST(Metrics, CountsOpenConnections) {
  Metrics metrics;
  metrics.count_connection_opened();
  metrics.count_connection_opened();
  metrics.count_connection_closed();
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_http_connections 1"));
  EXPECT_THAT(metrics.text(), HasSubstr("tandem_http_connections_total 2"));
}

}  // namespace
}  // namespace tandem::trace
