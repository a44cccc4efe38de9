// SPDX-License-Identifier: Apache-2.0
//
// xbutil: shows and tests the emulated cards that applications started here find.
//
// Subcommands and options are those of the vendor's tool of this name: examine, validate, reset,
// program. Needs no environment: without XILINX_XRT it uses its own tree. Exit status: 0; 1 when a
// validation fails; 2 with one message.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "bitstreams/tools/tool_main.h"
#include "bitstreams/xclbin/whole_file.h"
#include "bitstreams/xclbin/xclbin_file.h"
#include "common/error.h"
#include "emulation/tools/device_report.h"
#include "emulation/tools/validation.h"

namespace {

using nlohmann::ordered_json;
using tandem::Error;
using tandem::emulation::ListedCard;

struct Options {
  std::vector<std::string> cards;
  std::vector<std::string> reports;
  std::string format = "text";
  std::string output;
  std::string xclbin;
  std::vector<std::string> tests;
  std::string reset_type;
  bool force = false;
  bool verbose = false;
};

// Subcommands of the vendor's older tools, and their successors.
const std::map<std::string, std::string> kOldCommands = {
    {"list", "xbutil examine"},
    {"scan", "xbutil examine"},
    {"query", "xbutil examine --device <card> --report all"},
    {"dump", "xbutil examine --device <card> --report all --format JSON --output <file>"},
    {"status", "xbutil examine --device <card> --report dynamic-regions"},
    {"top", "TANDEM_CARD_STATISTICS=<file> with the application"},
    {"mem", "xbutil examine --device <card> --report memory"},
    {"dmatest", "xbutil validate --device <card>"},
    {"flash", "nothing: an emulated card has no flash"},
    {"clock", "v++ --kernel_frequency"},
    {"p2p", "nothing: peer-to-peer buffers always work on emulated cards"},
    {"host_mem", "nothing: host memory always works on emulated cards"},
    {"configure", "nothing: an emulated card has no settings of this kind"}};

std::string tree_folder() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code).parent_path().parent_path().string();
}

std::vector<ListedCard> chosen_cards(const Options& options) {
  std::vector<ListedCard> cards;
  for (const std::string& name : options.cards) {
    if (name == "all") return tandem::emulation::list_cards();
    cards.push_back(tandem::emulation::find_card(name));
  }
  return cards;
}

std::vector<std::string> chosen_reports(const Options& options) {
  const std::vector<std::string>& known = tandem::emulation::report_names();
  std::vector<std::string> reports;
  for (const std::string& name : options.reports) {
    if (name == "all") return known;
    if (name == "host") continue;  // always there
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string all = "all, host";
      for (const std::string& other : known) all += ", " + other;
      throw Error("xbutil", "emulated cards have no report '" + name +
                                "' (they have no sensors or firmware); reports: " + all);
    }
    reports.push_back(name);
  }
  return reports.empty() ? known : reports;
}

bool wants_json(const std::string& format) {
  if (format.rfind("JSON", 0) == 0) return true;
  if (format == "text") return false;
  throw Error("xbutil", "format '" + format + "' is unknown; there are JSON and text");
}

void print(const std::string& text, const Options& options) {
  if (options.output.empty()) {
    std::fputs(text.c_str(), stdout);
  } else {
    tandem::xclbin::write_text(options.output, text, options.force);
    std::printf("Successfully wrote the report to %s\n", options.output.c_str());
  }
}

int examine(const Options& options) {
  const bool json = wants_json(options.format);
  const std::vector<std::string> reports = chosen_reports(options);
  const std::vector<ListedCard> cards = chosen_cards(options);
  const ordered_json host = tandem::emulation::host_report(tandem::emulation::list_cards());
  ordered_json devices = ordered_json::array();
  std::string text = cards.empty() ? tandem::emulation::host_text(host) : "";
  for (const ListedCard& card : cards) {
    devices.push_back(tandem::emulation::card_report(card, reports));
    text += tandem::emulation::card_text(devices.back());
  }
  if (json) {
    const ordered_json all = {{"schema_version", {{"schema", "JSON"}}},
                              {"system", {{"host", host}}},
                              {"devices", devices}};
    text = all.dump(4) + "\n";
  }
  print(text, options);
  return 0;
}

int validate(const Options& options) {
  std::vector<ListedCard> cards = chosen_cards(options);
  if (cards.empty()) cards = tandem::emulation::list_cards();
  if (cards.empty()) throw Error("xbutil", "there is no card to validate; see TANDEM_CARDS");
  bool passed = true;
  for (const ListedCard& card : cards) {
    std::printf("Validate card %u [%s] %s\n", card.index, card.address.c_str(),
                card.platform.c_str());
    for (const auto& step : tandem::emulation::validate_card(card, tree_folder())) {
      std::printf("  %-28s: [%s]%s%s\n", step.name.c_str(),
                  step.problem.empty() ? "PASSED" : "FAILED", step.problem.empty() ? "" : " ",
                  step.problem.c_str());
      passed = passed && step.problem.empty();
    }
  }
  std::puts(passed ? "Validation completed" : "Validation failed");
  return passed ? 0 : 1;
}

int reset(const Options& options) {
  for (const ListedCard& card : chosen_cards(options)) {
    std::printf(
        "Card %u [%s]: nothing to reset, an emulated card starts afresh when the last "
        "application leaves it\n",
        card.index, card.address.c_str());
  }
  return 0;
}

int program(const Options& options) {
  // Our own check comes first: XRT reads beyond the end of a truncated file.
  const auto bytes = tandem::xclbin::read_bytes(options.xclbin);
  tandem::xclbin::XclbinFile::parse(bytes, options.xclbin).emulation_elf();
  for (const ListedCard& card : chosen_cards(options)) {
    xrt::device device(card.index);
    device.load_xclbin(options.xclbin);
    std::printf("Card %u [%s]: %s can be loaded; a card keeps it while an application uses it\n",
                card.index, card.address.c_str(), options.xclbin.c_str());
  }
  return 0;
}

CLI::App* add_command(CLI::App& app, Options& options, const char* name, const char* what) {
  CLI::App* command = app.add_subcommand(name, what);
  command->add_option("-d,--device", options.cards, "card: its index, its address, or all");
  command->add_flag("--verbose", options.verbose, "accepted");
  return command;
}

}  // namespace

int main(int argc, char** argv) {
  setenv("XILINX_XRT", tree_folder().c_str(), 0);
  if (argc > 1 && kOldCommands.count(argv[1]) > 0) {
    std::fprintf(stderr, "xbutil: ERROR: '%s' is a command of older tools; use: %s\n", argv[1],
                 kOldCommands.at(argv[1]).c_str());
    return 2;
  }
  const std::set<std::string> commands = {"examine", "validate", "reset", "program"};
  if (argc > 1 && argv[1][0] != '-' && commands.count(argv[1]) == 0) {
    std::fprintf(stderr,
                 "xbutil: ERROR: '%s' is not a command; use examine, validate, reset or program\n",
                 argv[1]);
    return 2;
  }
  CLI::App app("Looks at and tries emulated cards", "xbutil");
  Options options;
  app.set_version_flag("--version", tandem::xclbin::kToolVersionText);
  app.require_subcommand(1);
  CLI::App* examined = add_command(app, options, "examine", "describe the machine and its cards");
  examined->add_option("-r,--report", options.reports,
                       "platform, memory, dynamic-regions, host, all");
  examined->add_option("-f,--format", options.format, "text or JSON");
  examined->add_option("-o,--output", options.output, "file to write");
  examined->add_flag("--force", options.force, "replace an existing output file");
  CLI::App* validated = add_command(app, options, "validate", "compile and run a kernel on cards");
  validated->add_option("-r,--run", options.tests, "accepted: every test runs");
  CLI::App* resetted = add_command(app, options, "reset", "accepted for emulated cards");
  resetted->add_option("-t,--type", options.reset_type, "accepted");
  resetted->add_flag("--force", options.force, "accepted");
  CLI::App* programmed = add_command(app, options, "program", "try to load an xclbin");
  programmed->add_option("-u,--user", options.xclbin, "the xclbin")->required();
  return tandem::xclbin::run_tool(app, argc, argv, [&] {
    if (validated->parsed()) return validate(options);
    if (resetted->parsed()) return reset(options);
    if (programmed->parsed()) return program(options);
    return examine(options);
  });
}
