// SPDX-License-Identifier: Apache-2.0
//
// `tandem card`: runs programs on emulated cards and reports the findings.
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "apps/card/card_coverage.h"
#include "apps/card/card_drawings.h"
#include "apps/card/card_in_gdb.h"
#include "apps/card/card_report.h"
#include "apps/card/card_times.h"
#include "apps/card/card_waves.h"
#include "apps/card/command.h"
#include "apps/card/command_on_cards.h"
#include "apps/card/depths.h"
#include "apps/card/watch.h"
#include "apps/exit_code.h"
#include "apps/json_text.h"
#include "common/counted.h"
#include "common/error.h"
#include "emulation/faults/fault_script.h"
#include "emulation/faults/storm.h"

namespace tandem::apps {
namespace {

constexpr int kBugsFound = 4;
constexpr int kNotStarted = 127;  // the program
constexpr const char* kChecks = "TANDEM_CHECKS";
constexpr const char* kReport = "TANDEM_CARD_REPORT";
constexpr const char* kTime = "TANDEM_TIME";
constexpr const char* kWaves = "TANDEM_WAVES";
constexpr const char* kRunsFile = "/runs";  // in the scratch folder
constexpr const char* kTimedRunsAreNotChecked =
    "memory checks are off in timed runs; run it again without TANDEM_TIME and --time to check it";

void write_sarif(const std::string& path, const std::vector<CardFinding>& findings) {
  std::ofstream out(path);
  out << json_text(findings_sarif(findings, TANDEM_VERSION)) << '\n';
  out.close();
  if (!out) throw Error("card", "--sarif: cannot write '" + path + "'");
}

void write_drawing(const char* option, const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) throw Error("card", std::string(option) + ": cannot write '" + path + "'");
}

void write_drawings(const std::string& timeline, const std::string& roofline,
                    const std::vector<nlohmann::ordered_json>& times) {
  if (timeline.empty() && roofline.empty()) return;
  if (times.empty()) {
    throw Error("card", "the report has no modelled times; run the program with --time model");
  }
  const std::vector<ScheduledItem> items = schedule_card_times(times);
  if (!timeline.empty()) {
    write_drawing("--timeline", timeline, json_text(card_timeline(items)) + "\n");
  }
  if (roofline.empty()) return;
  const std::string svg = card_roofline(items);
  if (svg.empty()) {
    throw Error("card", "--roofline: no run computes on bytes of device memory");
  }
  write_drawing("--roofline", roofline, svg);
}

// `times`, `waves`: of the same runs.
void write_waves(const std::string& path, const std::vector<nlohmann::ordered_json>& times,
                 const std::vector<nlohmann::ordered_json>& waves) {
  if (path.empty()) return;
  const std::string text = card_waves(schedule_card_times(times), waves);
  if (text.empty()) {
    throw Error("card",
                "--vcd: the report has no waveforms; run the program with --vcd, or with "
                "TANDEM_TIME=model and TANDEM_WAVES=on, and build its kernels with v++ and clang");
  }
  write_drawing("--vcd", path, text);
}

// A file that cannot be written is an error, but does not hide the program's own.
void write_after_run(int code, const std::function<void()>& write) {
  try {
    write();
  } catch (const Error& error) {
    if (code == 0) throw;
    fmt::print(stderr, "tandem: {}\n", error.what());
  }
}

// Words after -- that look like options belong to the command.
void takes_program(CLI::App* command, std::vector<std::string>& program) {
  command->add_option("program", program, "the program and its arguments, after --")->required();
}

struct RunOptions {
  std::vector<std::string> program;
  bool strict = false;
  std::string sarif;
  std::string faults, faults_log;
  std::string time;
  std::string vcd;
  std::string coverage;
  std::string gdb;
};

// A file that exists already keeps its lines; those of this run follow them.
struct ReportFile {
  explicit ReportFile(const std::string& scratch) {
    const char* const own = std::getenv(kReport);
    path = own == nullptr || *own == 0 ? scratch + "/report.jsonl"
                                       : std::filesystem::absolute(own).string();
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(path, none);
    if (!none) begin_bytes = size;
  }
  std::string path;
  std::uint64_t begin_bytes = 0;
};

// That no finding is told means nothing if nothing ran, or unchecked. The file is the one that
// TANDEM_CARD_RUNS named.
void print_no_findings(const std::string& runs_file) {
  std::int64_t cards = 0, runs = 0, unchecked = 0;
  std::ifstream in(runs_file);
  for (std::string line; std::getline(in, line);) {
    ++(line == "card" ? cards : runs);
    if (line == "unchecked run") ++unchecked;
  }
  if (cards == 0) {
    fmt::print(stderr, "tandem: the program opened no emulated card\n");
    return;
  }
  const std::string remark =
      unchecked == 0 ? "" : fmt::format(", {} of them without memory checks", unchecked);
  fmt::print(stderr, "tandem: the cards found no bugs in {}{}\n", counted(runs, "run"), remark);
}

void print_findings(const std::vector<CardFinding>& findings) {
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  const char* const workspace = std::getenv("GITHUB_WORKSPACE");
  for (const CardFinding& finding : findings) fmt::print(stderr, "{}", finding_text_here(finding));
  if (!findings.empty()) fmt::print(stderr, "tandem: the cards found {}\n", summary_text(findings));
  if (actions == nullptr || std::string(actions) != "true") return;
  for (const CardFinding& finding : findings) {
    fmt::print(stderr, "{}\n", github_annotation(finding, workspace == nullptr ? "" : workspace));
  }
}

CommandOnCards command_of(const RunOptions& options, const ReportFile& report,
                          const ScratchFolder& scratch) {
  // The findings are printed once, after the run.
  CommandOnCards command{options.program,
                         {{kReport, report.path},
                          {"TANDEM_CARD_FINDINGS", "report"},
                          {"TANDEM_CARD_RUNS", scratch.path() + kRunsFile}},
                         {}};
  use_own_cards(command, scratch);
  if (!options.faults.empty()) {
    command.environment["TANDEM_FAULTS"] = "@" + std::filesystem::absolute(options.faults).string();
  }
  if (!options.faults_log.empty()) {
    command.environment["TANDEM_FAULTS_LOG"] =
        std::filesystem::absolute(options.faults_log).string();
  }
  if (!options.gdb.empty()) {
    start_cards_in_gdb(command, options.gdb, scratch);
  } else if (std::getenv(kChecks) == nullptr) {
    command.environment[kChecks] = "depths";
  }
  if (!options.time.empty()) command.environment[kTime] = options.time;
  if (!options.vcd.empty()) {
    command.environment[kTime] = "model";
    command.environment[kWaves] = "on";
  }
  if (!options.coverage.empty()) count_coverage(command, options.coverage);
  return command;
}

void run_command(const RunOptions& options) {
  const ScratchFolder scratch("card", kCardFolder);
  const ReportFile report(scratch.path());
  const int code = run_on_cards(command_of(options, report, scratch));
  // A run without findings leaves an empty report.
  const std::ofstream touched(report.path, std::ios::app);
  const std::vector<CardFinding> findings =
      read_card_report(report.path, report.begin_bytes, false);
  print_findings(findings);
  const auto times = read_card_times(report.path, report.begin_bytes);
  fmt::print(stderr, "{}", times_text(times));
  if (!times.empty()) {
    fmt::print(stderr, "tandem: {}\n", kTimedRunsAreNotChecked);
  } else if (findings.empty() && code != kNotStarted) {
    print_no_findings(scratch.path() + kRunsFile);
  }
  if (!options.sarif.empty()) {
    write_after_run(code, [&] { write_sarif(options.sarif, findings); });
  }
  if (!options.vcd.empty()) {
    write_after_run(code, [&] {
      write_waves(options.vcd, times, read_card_waves(report.path, report.begin_bytes));
    });
  }
  if (!options.coverage.empty()) {
    write_after_run(code, [&] { fmt::print(stderr, "{}", gather_coverage(options.coverage)); });
  }
  if (code != 0) throw ExitStatus{code};
  if (options.strict && !findings.empty()) throw ExitStatus{kBugsFound};
}

// Empty if the file is a fault script.
std::string fault_script_problem(const std::string& path) {
  try {
    emulation::read_fault_script("@" + path);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

void add_run(CLI::App& parent) {
  CLI::App* command =
      parent.add_subcommand("run", "Run a program on emulated cards and tell what they find");
  auto o = std::make_shared<RunOptions>();
  command->add_flag("--strict", o->strict,
                    "end with 4 if the cards found a bug and the program ended with 0");
  command->add_option("--sarif", o->sarif, "write what was found in SARIF 2.1.0");
  command
      ->add_option("--faults", o->faults, "a script of faults that the cards have; see FAULTS.md")
      ->check(CLI::Validator(fault_script_problem, "FILE"));
  command->add_option("--faults-log", o->faults_log,
                      "add the faults that happened to a file; it is a script that repeats them");
  command
      ->add_option(
          "--time", o->time,
          "report the time that the runs would take on a real card; memory checks are off then")
      ->check(CLI::IsMember({"model"}));
  command->add_option("--vcd", o->vcd,
                      "write waveforms of the modelled runs for GTKWave; as --time model");
  command->add_option("--coverage", o->coverage,
                      "add to a folder which lines of the kernels ran, for gcov and lcov; they "
                      "are compiled with TANDEM_KERNEL_COVERAGE=on");
  command
      ->add_option("--gdb", o->gdb,
                   "start each card in gdb, which stops in this kernel (or FILE:LINE of one)")
      ->check(CLI::Validator(gdb_place_problem, "KERNEL"));
  takes_program(command, o->program);
  command->callback([o] { run_command(*o); });
}

void add_storm(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand(
      "storm", "Print a random script of faults for run --faults: the same for the same seed");
  struct Options {
    std::uint64_t seed = 1, events = 1000;
    std::uint32_t cards = 0;
  };
  auto o = std::make_shared<Options>();
  command->option_defaults()->always_capture_default();
  command->add_option("--seed", o->seed, "seed of the random faults");
  command->add_option("--events", o->events, "mean number of launches and syncs per fault")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  command
      ->add_option("--cards", o->cards,
                   "number of cards that get faults of their own (0: every card gets the same)")
      ->check(CLI::Range(0, 16));
  command->callback([o] { fmt::print("{}", emulation::make_storm(o->seed, o->events, o->cards)); });
}

void add_report(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand("report", "Show a file that TANDEM_CARD_REPORT named");
  struct Options {
    std::string path, sarif, timeline, roofline, vcd;
    bool as_json = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("file", o->path, "JSON lines of cards")->required();
  command->add_flag("--json", o->as_json, "print JSON");
  command->add_option("--sarif", o->sarif, "write it in SARIF 2.1.0 too");
  command->add_option("--timeline", o->timeline,
                      "write the modelled runs as trace events for ui.perfetto.dev");
  command->add_option("--roofline", o->roofline, "write an SVG of the kernels' roofline");
  command->add_option("--vcd", o->vcd,
                      "write the waveforms that TANDEM_WAVES=on kept, for GTKWave");
  command->callback([o] {
    const std::vector<CardFinding> findings = read_card_report(o->path, 0, true);
    const std::vector<nlohmann::ordered_json> times = read_card_times(o->path, 0);
    if (!o->sarif.empty()) write_sarif(o->sarif, findings);
    write_drawings(o->timeline, o->roofline, times);
    write_waves(o->vcd, times, read_card_waves(o->path, 0));
    if (o->as_json) {
      nlohmann::ordered_json report = findings_json(findings);
      add_times(times, report);
      fmt::print("{}\n", json_text(report));
      return;
    }
    fmt::print("{}", times_text(times));
    for (const CardFinding& finding : findings) fmt::print("{}", finding_text_here(finding));
    fmt::print("{}\n", summary_text(findings));
    if (!times.empty()) fmt::print("{}\n", kTimedRunsAreNotChecked);
  });
}

void add_depths(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand(
      "depths", "Find the least depths of streams with which a program passes, by runs of it");
  struct Options {
    std::vector<std::string> program;
    bool as_json = false;
  };
  auto o = std::make_shared<Options>();
  command->add_flag("--json", o->as_json, "print JSON");
  takes_program(command, o->program);
  command->callback([o] {
    const LeastDepths depths = find_depths_of(o->program);
    fmt::print("{}", o->as_json ? depths_json(depths) + "\n" : depths_text(depths));
  });
}

}  // namespace

void add_card(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("card", "Run programs on emulated cards; show what the cards find");
  command->require_subcommand(1);
  add_run(*command);
  add_storm(*command);
  add_report(*command);
  add_depths(*command);
  add_watch(*command);
}

}  // namespace tandem::apps
