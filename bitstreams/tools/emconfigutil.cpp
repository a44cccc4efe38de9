// SPDX-License-Identifier: Apache-2.0
//
// emconfigutil: writes emconfig.json, from which an emulated application learns its cards.
//
// Options as in the vendor's tool of this name. Exit status: 0, or 2 with one message.
#include <filesystem>

#include "bitstreams/tools/tool_main.h"
#include "bitstreams/xclbin/emconfig.h"
#include "bitstreams/xclbin/whole_file.h"

namespace {

struct Options {
  std::string platform;
  std::string folder = ".";
  uint32_t num_cards = 1;
  std::vector<std::string> properties;
  bool save_temps = false;
  bool quiet = false;
};

void add_options(CLI::App& app, Options& options) {
  app.add_option("-f,--platform", options.platform, "board, full platform name, .xpfm or JSON file")
      ->required();
  app.add_option("--nd", options.num_cards, "number of cards")
      ->capture_default_str()
      ->check(CLI::Range(1u, tandem::xclbin::kMaxEmulatedCards));
  app.add_option("--od", options.folder, "folder for emconfig.json")->capture_default_str();
  app.add_flag("-s,--save-temps", options.save_temps, "keep intermediate files (there are none)");
  app.add_option("--xp", options.properties, "property of the vendor's tools; named and ignored");
  app.add_flag("-q,--quiet", options.quiet, "print nothing but errors");
  app.set_version_flag("-v,--version", tandem::xclbin::kToolVersionText);
}

int write(const Options& options) {
  for (const std::string& property : options.properties) {
    std::fprintf(stderr, "emconfigutil: WARNING: --xp %s has no meaning here and is ignored\n",
                 property.c_str());
  }
  const auto& platform = tandem::xclbin::find_platform(options.platform);
  const std::string text = tandem::xclbin::write_emconfig(platform, options.num_cards);
  std::error_code code;  // if the folder cannot be made, writing the file reports the error
  std::filesystem::create_directories(options.folder, code);
  const std::string path = (std::filesystem::path(options.folder) / "emconfig.json").string();
  tandem::xclbin::write_text(path, text, true);
  if (!options.quiet) std::printf("emconfigutil: wrote %s\n", path.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Writes emconfig.json for emulated cards", "emconfigutil");
  Options options;
  add_options(app, options);
  return tandem::xclbin::run_tool(app, argc, argv, [&] { return write(options); });
}
