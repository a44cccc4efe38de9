// SPDX-License-Identifier: Apache-2.0
//
// `tandem card`: runs programs on emulated cards and tells what the cards found.
#include <spdlog/fmt/fmt.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/card/card_report.h"
#include "apps/card/command_on_cards.h"
#include "apps/card/depths.h"
#include "apps/command.h"
#include "apps/exit_code.h"
#include "apps/json_text.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

constexpr int kBugsFound = 4;
constexpr const char* kReport = "TANDEM_CARD_REPORT";
constexpr const char* kChecks = "TANDEM_CHECKS";

void write_sarif(const std::string& path, const std::vector<CardFinding>& findings) {
  std::ofstream out(path);
  out << json_text(findings_sarif(findings, TANDEM_VERSION)) << '\n';
  out.close();
  if (!out) throw Error("card", "--sarif: cannot write '" + path + "'");
}

// Words that look like options of this program stand after --.
void takes_program(CLI::App* command, std::vector<std::string>& program) {
  command->add_option("program", program, "the program and its arguments, after --")->required();
}

struct RunOptions {
  std::vector<std::string> program;
  bool strict = false;
  std::string sarif;
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

void print_findings(const std::vector<CardFinding>& findings) {
  const char* const actions = std::getenv("GITHUB_ACTIONS");
  const char* const workspace = std::getenv("GITHUB_WORKSPACE");
  for (const CardFinding& finding : findings) fmt::print(stderr, "{}", finding_text(finding));
  if (!findings.empty()) fmt::print(stderr, "tandem: the cards found {}\n", summary_text(findings));
  if (actions == nullptr || std::string(actions) != "true") return;
  for (const CardFinding& finding : findings) {
    fmt::print(stderr, "{}\n", github_annotation(finding, workspace == nullptr ? "" : workspace));
  }
}

void run_command(const RunOptions& options) {
  const ScratchFolder scratch;
  const ReportFile report(scratch.path());
  CommandOnCards command{options.program, {{kReport, report.path}}, {}};
  use_own_cards(command, scratch);
  if (std::getenv(kChecks) == nullptr) command.environment[kChecks] = "depths";
  const int code = run_on_cards(command);
  const std::vector<CardFinding> findings =
      read_card_report(report.path, report.begin_bytes, false);
  print_findings(findings);
  if (!options.sarif.empty()) write_sarif(options.sarif, findings);
  if (code != 0) throw ExitStatus{code};
  if (options.strict && !findings.empty()) throw ExitStatus{kBugsFound};
}

void add_run(CLI::App& parent) {
  CLI::App* command =
      parent.add_subcommand("run", "Run a program on emulated cards and tell what they find");
  auto o = std::make_shared<RunOptions>();
  command->add_flag("--strict", o->strict,
                    "end with 4 if the cards found a bug and the program ended with 0");
  command->add_option("--sarif", o->sarif, "write what was found in SARIF 2.1.0");
  takes_program(command, o->program);
  command->callback([o] { run_command(*o); });
}

void add_report(CLI::App& parent) {
  CLI::App* command = parent.add_subcommand("report", "Show a file that TANDEM_CARD_REPORT named");
  struct Options {
    std::string path, sarif;
    bool as_json = false;
  };
  auto o = std::make_shared<Options>();
  command->add_option("file", o->path, "JSON lines of cards")->required();
  command->add_flag("--json", o->as_json, "print JSON");
  command->add_option("--sarif", o->sarif, "write it in SARIF 2.1.0 too");
  command->callback([o] {
    const std::vector<CardFinding> findings = read_card_report(o->path, 0, true);
    if (!o->sarif.empty()) write_sarif(o->sarif, findings);
    if (o->as_json) {
      fmt::print("{}\n", json_text(findings_json(findings)));
      return;
    }
    for (const CardFinding& finding : findings) fmt::print("{}", finding_text(finding));
    fmt::print("{}\n", summary_text(findings));
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
  add_report(*command);
  add_depths(*command);
}

}  // namespace tandem::apps
