// SPDX-License-Identifier: Apache-2.0
//
// Plan and result of a run are files in a folder; fpga_hls/runtime/depth_trial.h describes them.
#include "apps/card/depths.h"

#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/card/card_report.h"
#include "apps/card/command_on_cards.h"
#include "apps/exit_code.h"
#include "apps/json_text.h"
#include "common/counted.h"
#include "common/error.h"

namespace tandem::apps {
namespace {

void write_plan(const std::string& file, const StreamDepths& fixed) {
  std::ofstream plan(file);
  for (const auto& [place, depth] : fixed) {
    plan << depth << '\t' << place.line << '\t' << place.stream << '\t' << place.file << '\n';
  }
  plan.close();
  if (!plan) throw Error("card", "cannot write '" + file + "'");
}

void read_found(const std::string& file, DepthRun& run) {
  std::ifstream found(file);
  for (std::string line; std::getline(found, line);) {
    std::istringstream fields(line);
    std::string what;
    std::uint64_t depth = 0;
    StreamPlace place;
    fields >> what >> depth >> place.line;
    fields.get();
    std::getline(fields, place.stream, '\t');
    if (!std::getline(fields, place.file))
      throw Error("card", file + ": '" + line +
                              "' is no depth of a stream; link the kernels again with v++");
    std::uint64_t& value = (what == "needs" ? run.needs : run.streams)[place];
    value = std::max(value, depth);
  }
}

// The last lines of a program's output.
std::string end_of_output(const std::string& file) {
  constexpr std::size_t kLines = 10;
  std::ifstream in(file);
  std::deque<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
    if (lines.size() > kLines) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text;
}

DepthRun run_with_depths(const std::vector<std::string>& command, const StreamDepths& fixed) {
  const ScratchFolder folder("card", kCardFolder);
  write_plan(folder.path() + "/plan", fixed);
  CommandOnCards run_of{command, {}, folder.path() + "/output"};
  run_of.environment = {{"TANDEM_DEPTH_TRIAL", folder.path()},
                        {"TANDEM_CARD_REPORT", folder.path() + "/report"}};
  if (std::getenv("TANDEM_CHECKS") == nullptr) run_of.environment["TANDEM_CHECKS"] = "none";
  use_own_cards(run_of, folder);
  const int code = run_on_cards(run_of);
  // Who stops a run stops the search.
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    if (code == 128 + signal) throw ExitStatus{code};
  }
  DepthRun run;
  read_found(folder.path() + "/found", run);
  bool is_stuck = false;
  for (const CardFinding& finding : read_card_report(folder.path() + "/report", 0, false)) {
    if (finding.severity != "error" || (finding.kind != "deadlock" && finding.kind != "read_empty"))
      continue;
    is_stuck = true;
    run.problem = finding_text_here(finding);
  }
  run.passed = code == 0 && !is_stuck;
  if (!run.passed && !is_stuck) {
    run.problem =
        "it ended with exit code " + std::to_string(code) + end_of_output(run_of.output_file);
  }
  return run;
}

}  // namespace

LeastDepths find_depths_of(const std::vector<std::string>& command) {
  return find_least_depths(
      [&command](const StreamDepths& fixed) { return run_with_depths(command, fixed); });
}

std::string depths_text(const LeastDepths& depths) {
  std::string text;
  for (const LeastDepth& least : depths.streams) {
    text += least.place.file + ":" + std::to_string(least.place.line) + ": stream '" +
            least.place.stream + "': depth " + std::to_string(least.depth) + " suffices (" +
            (least.stated == 0 ? "none is stated" : std::to_string(least.stated) + " is stated") +
            ")\n";
  }
  if (depths.streams.empty()) {
    text =
        "no kernel of the command wrote to a stream inside it; kernels that an older v++ "
        "compiled must be compiled again\n";
  }
  return text + "found by " + counted(depths.runs, "run") + "\n";
}

std::string depths_json(const LeastDepths& depths) {
  nlohmann::ordered_json streams = nlohmann::ordered_json::array();
  for (const LeastDepth& least : depths.streams) {
    streams.push_back({{"file", least.place.file},
                       {"line", least.place.line},
                       {"stream", least.place.stream},
                       {"depth", least.depth},
                       {"stated", least.stated == 0 ? nlohmann::ordered_json(nullptr)
                                                    : nlohmann::ordered_json(least.stated)}});
  }
  return json_text(nlohmann::ordered_json{{"runs", depths.runs}, {"streams", std::move(streams)}});
}

}  // namespace tandem::apps
