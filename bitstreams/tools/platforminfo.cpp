// SPDX-License-Identifier: Apache-2.0
//
// platforminfo: describes a platform of an emulated card, as text or as JSON.
//
// The options are those of the vendor's tool of this name; the platform may also be given without
// an option. Exit status: 0, or 2 with one message.
#include <nlohmann/json.hpp>

#include "bitstreams/tools/platform_report.h"
#include "bitstreams/tools/tool_main.h"
#include "bitstreams/xclbin/platform.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace {

using nlohmann::ordered_json;

struct Options {
  std::string platform;
  std::string hardware;
  std::string software;
  std::string positional;
  std::string output;
  std::string json_path;
  bool list = false;
  bool extended = false;
  bool keys = false;
  bool force = false;
};

CLI::Option* add_options(CLI::App& app, Options& options) {
  app.add_option("-p,--platform", options.platform,
                 "board, full platform name, .xpfm or JSON file");
  app.add_option("-d,--hw", options.hardware, "the same as --platform");
  app.add_option("-s,--sw", options.software, "software platform: there is none")->group("");
  app.add_option("name", options.positional, "the same as --platform");
  app.add_option("-o,--output", options.output, "file to write instead of standard output");
  app.add_flag("-f,--force", options.force, "replace an existing output file");
  app.add_flag("-k,--keys", options.keys, "list the paths of the JSON");
  app.add_flag("-l,--list", options.list, "list the platforms");
  app.add_flag("-e,--extended", options.extended, "with --list: everything about each");
  app.set_version_flag("-v,--version", tandem::xclbin::kToolVersionText);
  return app
      .add_option("-j,--json", options.json_path, "as JSON; with a path, only the value there")
      ->expected(0, 1);
}

std::string list_platforms(bool extended) {
  ordered_json platforms = ordered_json::array();
  for (const std::string& name : tandem::xclbin::platform_names()) {
    const auto& platform = tandem::xclbin::find_platform(name);
    if (extended) {
      platforms.push_back(tandem::xclbin::platform_json(platform));
    } else {
      platforms.push_back({{"baseName", platform.vbnv},
                           {"board", platform.name},
                           {"dataCenter", "true"},
                           {"embedded", "false"}});
    }
  }
  return ordered_json{{"platforms", platforms}}.dump(2) + "\n";
}

const tandem::xclbin::Platform& wanted_platform(const Options& options) {
  std::string name;
  for (const std::string* given : {&options.platform, &options.hardware, &options.positional}) {
    if (given->empty()) continue;
    if (!name.empty()) {
      throw tandem::Error("platform",
                          "two platforms are given, '" + name + "' and '" + *given + "'; name one");
    }
    name = *given;
  }
  if (!options.software.empty()) {
    throw tandem::Error("platform",
                        "--sw names a software platform; emulated cards have none, use --platform");
  }
  if (name.empty()) {
    throw tandem::Error("platform", "no platform is given: use --platform <name>, or --list");
  }
  return tandem::xclbin::find_platform(name);
}

std::string report(const Options& options, bool json) {
  if (options.list) return list_platforms(options.extended);
  const auto& platform = wanted_platform(options);
  if (!json && !options.keys) return tandem::xclbin::platform_text(platform);
  const ordered_json description = tandem::xclbin::platform_json(platform);
  if (options.keys) {
    std::string text;
    for (const std::string& path : tandem::xclbin::json_paths(description)) text += path + "\n";
    return text;
  }
  if (options.json_path.empty()) return description.dump(2) + "\n";
  return tandem::xclbin::value_at(description, options.json_path) + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Describes the platforms of emulated cards", "platforminfo");
  Options options;
  const CLI::Option* json = add_options(app, options);
  return tandem::xclbin::run_tool(app, argc, argv, [&] {
    const std::string text = report(options, json->count() > 0);
    if (options.output.empty()) {
      std::fputs(text.c_str(), stdout);
    } else {
      tandem::xclbin::write_text(options.output, text, options.force);
    }
    return 0;
  });
}
