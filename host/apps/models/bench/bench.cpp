// SPDX-License-Identifier: Apache-2.0
//
// `tandem bench`: how fast a model runs here, and how much of what the machine allows that is.
//
// Verifies the results first. Then it prints the load time, and a row per prompt length and per
// batch and context. It measures the executor: no HTTP, no scheduler, no sampling.
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>

#include "apps/command_words.h"
#include "apps/models/bench/measure.h"
#include "apps/models/bench/report.h"
#include "apps/models/bench/rig.h"
#include "apps/models/command.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

using bench::Row;

struct BenchOptions {
  RuntimeOptions runtime;
  std::vector<int> prefill = {512};
  std::vector<std::string> decode = {"1@32", "32@128", "32@4096", "8@4096"};
  bench::MeasureOptions measure;
  int loads = 5;
  bool no_prefill = false, no_decode = false;
  bool quick = false;
  bool as_json = false;
};

constexpr int kQuickSamples = 3;
constexpr double kQuickSeconds = 2;

std::vector<Row> rows_of(const BenchOptions& options) {
  std::vector<Row> rows;
  if (!options.no_prefill) {
    for (const int tokens : options.prefill) rows.push_back(bench::prefill_row(tokens));
  }
  if (!options.no_decode) {
    for (const std::string& word : options.decode) rows.push_back(bench::parse_decode(word));
  }
  if (rows.empty()) throw Error("bench", "--no-prefill and --no-decode leave nothing to measure");
  return rows;
}

// Sets KV pages and rows per step for the largest row, regardless of the general options.
void make_room(RuntimeOptions& runtime, const std::vector<Row>& rows) {
  runtime.max_running = 4;  // the check's
  runtime.context_length = 64;
  runtime.clips_context = true;
  for (const Row& row : rows) {
    runtime.max_running = std::max(runtime.max_running, row.batch);
    runtime.max_step_tokens = std::max(runtime.max_step_tokens, row.batch);
    runtime.context_length = std::max(runtime.context_length, row.tokens);
  }
}

// As it was started, in words for a shell: by `tandem`, which is beside this program.
std::string command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::string line, word;
  while (std::getline(file, word, '\0')) {
    if (line.empty()) {
      word = std::filesystem::read_symlink("/proc/self/exe").replace_filename("tandem").string();
    }
    constexpr std::string_view kPlain = "_-+=./:,@%";
    const bool is_plain = !word.empty() && std::ranges::all_of(word, [&](unsigned char c) {
      return std::isalnum(c) != 0 || kPlain.find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    line += (line.empty() ? "" : " ") + (is_plain ? word : quoted + "'");
  }
  return line;
}

bench::RunFacts facts_of(const BenchOptions& options, Assembly& parts, const bench::Rig& rig) {
  bench::RunFacts facts;
  facts.model = &parts.model().config();
  facts.weights = dtype_name(rig.weights().main_type());
  facts.weight_bytes = rig.weights().bytes;
  facts.compute = parts.compute_device().info().id;
  for (const ListedDevice& choice : bench::measured_devices(parts)) {
    facts.attention += (facts.attention.empty() ? "" : ",") + choice.id;
    if (choice.share > 0) facts.attention += fmt::format("={}", choice.share);
  }
  facts.kv_dtype = options.runtime.kv_dtype;
  facts.command = command_line();
  facts.threads = options.runtime.threads;
  facts.samples_wanted = options.measure.samples;
  return facts;
}

std::vector<bench::LoadTime> measure_loads(bench::Rig& rig, int count) {
  std::vector<bench::LoadTime> times;
  for (int i = 0; i < count; ++i) times.push_back(rig.load_again());
  return times;
}

void run(BenchOptions options) {
  if (spdlog::get_level() == spdlog::level::info) spdlog::set_level(spdlog::level::warn);
  if (options.measure.turns && !options.as_json) throw Error("bench", "--turns needs --json");
  std::vector<Row> rows = rows_of(options);
  make_room(options.runtime, rows);
  Assembly parts(options.runtime);
  bench::Rig rig(parts);
  rig.verify();
  bench::Report report(facts_of(options, parts, rig), options.as_json);
  report.begin();
  report.load(measure_loads(rig, options.loads));
  const auto on_sample = [&](const bench::RowResult& result) { report.turn(result); };
  for (const Row& row : rows) {
    const Row fitting = bench::clipped(row, parts.model().config().context_length);
    report.row(bench::measure(rig, fitting, parts.model(), options.measure, on_sample));
  }
  report.end();
}

void add_row_options(CLI::App& command, BenchOptions& options) {
  command.add_option("--prefill", options.prefill, "prompt lengths, separated by commas")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str()
      ->group("Rows");
  command
      .add_option("--decode", options.decode, "decode steps as BATCH@CONTEXT, separated by commas")
      ->delimiter(',')
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->capture_default_str()
      ->group("Rows");
  command.add_flag("--no-prefill", options.no_prefill, "no rows of prefill")->group("Rows");
  command.add_flag("--no-decode", options.no_decode, "no rows of decode")->group("Rows");
}

}  // namespace

void add_bench(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "bench", "Measure prefill and decode of a model against the limits of the machine");
  auto o = std::make_shared<BenchOptions>();
  add_runtime_options(*command, o->runtime);
  // The options that depend on the rows.
  for (const char* name :
       {"--context", "--max-running", "--max-waiting", "--no-prefix-cache", "--kv-moves"}) {
    command->remove_option(command->get_option(name));
  }
  add_row_options(*command, *o);
  const auto* samples = command->add_option("--samples", o->measure.samples, "samples per row")
                            ->check(CLI::Range(1, 100000))
                            ->capture_default_str()
                            ->group("Rows");
  const auto* seconds =
      command->add_option("--seconds", o->measure.seconds, "time per row, after which samples end")
          ->check(positive())
          ->capture_default_str()
          ->group("Rows");
  command->add_option("--loads", o->loads, "times the file is loaded")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str()
      ->group("Rows");
  command->add_flag("--quick", o->quick, "3 samples and 2 seconds per row, for a short check");
  command->add_flag("--turns", o->measure.turns,
                    "wait for a line on standard input before every sample (with --json)");
  command->add_flag("--json", o->as_json, "print one JSON object per line and figure");
  command->callback([o, samples, seconds] {
    if (o->quick && samples->count() == 0) o->measure.samples = kQuickSamples;
    if (o->quick && seconds->count() == 0) o->measure.seconds = kQuickSeconds;
    run(*o);
  });
}

}  // namespace tandem::apps
