// SPDX-License-Identifier: Apache-2.0
//
// Options and outputs of `tandem trace-comm`. PREFIX gets the endings .json, .csv, .prom, .svg,
// .log.svg, .html and, with --events, .events.csv.
#include "apps/trace_comm/trace_comm.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/command_words.h"
#include "apps/trace_comm/traced_run.h"
#include "apps/whole_file.h"
#include "common/error.h"
#include "trace/communication/event_file.h"
#include "trace/communication/import.h"
#include "trace/communication/traffic_report.h"

namespace tandem::apps {
namespace {

struct TraceCommOptions {
  std::string kind = "all", out, algorithm = "ring", title;
  double window_s = 0;
  bool count_transport = false, events = false;
  std::size_t most_events = 100'000;
  std::vector<std::string> imports, command;
};

void write_whole(const std::string& path, const std::string& text) {
  WholeFile file("trace-comm", path);
  file.write(text);
  file.keep();
}

void write_outputs(const trace::Traffic& traffic, const std::string& prefix,
                   const std::string& title) {
  using trace::HeatScale;
  write_whole(prefix + ".json", trace::traffic_json(traffic));
  write_whole(prefix + ".csv", trace::traffic_csv(traffic));
  write_whole(prefix + ".prom", trace::traffic_prometheus(traffic));
  write_whole(prefix + ".svg", trace::traffic_svg(traffic, title, HeatScale::kLinear));
  write_whole(prefix + ".log.svg", trace::traffic_svg(traffic, title, HeatScale::kLogarithmic));
  write_whole(prefix + ".html", trace::traffic_html(traffic, title));
}

void write_event_file(const trace::Traffic& traffic, const std::string& prefix) {
  WholeFile file("trace-comm", prefix + ".events.csv");
  trace::write_events(traffic, [&file](const std::string& text) { file.write(text); });
  file.keep();
  if (traffic.dropped_events() > 0) {
    std::fprintf(stderr,
                 "tandem: %llu events are not in %s.events.csv, but in all sums; --most-events "
                 "sets how many a process keeps\n",
                 static_cast<unsigned long long>(traffic.dropped_events()), prefix.c_str());
  }
}

void print_summary(const trace::Traffic& traffic, const std::string& prefix) {
  std::uint64_t bytes = 0, messages = 0;
  for (const auto& [key, volume] : traffic.cells()) {
    bytes += volume.bytes;
    messages += volume.messages;
  }
  std::printf("%d ranks or devices: %s in %llu messages; %s.html shows them\n", traffic.size(),
              trace::readable_bytes(bytes).c_str(), static_cast<unsigned long long>(messages),
              prefix.c_str());
  for (const std::string& kind : traffic.kinds()) {
    std::uint64_t of_kind = 0;
    for (const auto& [key, volume] : traffic.cells()) {
      if (key.kind == kind) of_kind += volume.bytes;
    }
    std::printf("  %-20s %s\n", kind.c_str(), trace::readable_bytes(of_kind).c_str());
  }
  for (const auto& [operation, calls] : traffic.unmodelled()) {
    std::printf("  not modelled: %llu calls of %s\n", static_cast<unsigned long long>(calls),
                operation.c_str());
  }
}

// The first ranks by number: there may be a thousand.
void warn_of_missing(const std::vector<int>& ranks) {
  constexpr std::size_t kMostNamed = 8;
  if (ranks.empty()) return;
  std::string names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kMostNamed); ++i) {
    names += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  }
  std::fprintf(stderr, "tandem: %zu ranks left no record, their traffic is missing: %s%s\n",
               ranks.size(), names.c_str(), ranks.size() > kMostNamed ? ", ..." : "");
}

void check_options(const TraceCommOptions& o) {
  if (o.imports.empty() == o.command.empty()) {
    throw Error("trace-comm", o.imports.empty()
                                  ? "name the program to trace after --, or files with --import"
                                  : "--import and a program exclude each other");
  }
  if (o.count_transport && !o.imports.empty()) {
    throw Error("trace-comm", "--count-transport needs a program to run");
  }
  const std::filesystem::path folder = std::filesystem::path(o.out).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    throw Error("trace-comm", "--out: there is no folder '" + folder.string() + "'");
  }
}

int run_trace_comm(const TraceCommOptions& o) {
  check_options(o);
  trace::CollectiveAlgorithm algorithm = trace::CollectiveAlgorithm::kRing;
  trace::parse_algorithm(o.algorithm, algorithm);  // the option has checked the word
  TracedRun run;
  if (o.imports.empty()) {
    run = run_traced({o.command, o.out, o.kind, algorithm, o.window_s, o.count_transport,
                      o.events ? o.most_events : 0});
  } else {
    run.traffic = trace::import_traffic(o.imports, {algorithm, o.window_s, o.events});
  }
  const std::string words = o.imports.empty() ? o.command.front() : o.imports.front();
  write_outputs(run.traffic, o.out, o.title.empty() ? words : o.title);
  if (o.events) write_event_file(run.traffic, o.out);
  print_summary(run.traffic, o.out);
  warn_of_missing(run.traffic.missing_ranks());
  return run.exit_code;
}

void add_event_options(CLI::App& command, TraceCommOptions& options) {
  command.add_flag("--events", options.events,
                   "also write the single events: time, source, destination, bytes, kind, phase");
  command
      .add_option("--most-events", options.most_events,
                  "with --events: how many each process keeps; later ones are in the sums only")
      ->check(in_range(1, 1e9))
      ->capture_default_str();
}

}  // namespace

void add_trace_comm(CLI::App& app, int& code) {
  CLI::App* command =
      app.add_subcommand("trace-comm", "Draw who sends how much to whom in a program");
  auto o = std::make_shared<TraceCommOptions>();
  std::vector<std::string> kinds = traced_kinds();
  kinds.emplace_back("all");
  command->add_option("--out", o->out, "beginning of the names of the files that are written")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--kind", o->kind,
                   "what to trace: calls of MPI, of NCCL, copies of GPUs (cuda), TCP of gloo, "
                   "messages of Tandem's transports, copies of emulated cards (xrt), or all")
      ->check(CLI::IsMember(kinds))
      ->capture_default_str();
  command
      ->add_option("--import", o->imports,
                   "read a file instead: NCCL Inspector JSON (one per process), an Nsight Systems "
                   "SQLite export, nvprof CSV, logs of Snoopie (one per process), or the "
                   ".events.csv of a traced run")
      ->check(CLI::ExistingFile);
  command
      ->add_option("--algorithm", o->algorithm,
                   "how collectives are modelled where the program does not tell")
      ->check(CLI::IsMember(trace::algorithm_names()))
      ->capture_default_str();
  command->add_option("--window", o->window_s, "seconds of a time window; 0: one for the whole run")
      ->check(in_range(0, 1e9))
      ->capture_default_str();
  command->add_flag("--count-transport", o->count_transport,
                    "Open MPI also counts what its transport sends, for comparison");
  add_event_options(*command, *o);
  command->add_option("--title", o->title, "title of the pictures");
  command->add_option("command", o->command, "the program and its arguments, after --");
  command->footer("tandem trace-comm --out run -- mpirun -n 4 ./app");
  command->callback([o, &code] { code = run_trace_comm(*o); });
}

}  // namespace tandem::apps
