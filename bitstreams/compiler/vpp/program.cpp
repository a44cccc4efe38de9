// SPDX-License-Identifier: Apache-2.0
//
// The program around the stages: toolchain, messages, dependency file.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bitstreams/compiler/depfile.h"
#include "bitstreams/compiler/vpp/option_table.h"
#include "bitstreams/compiler/vpp/run_log.h"
#include "bitstreams/compiler/vpp/settings.h"
#include "bitstreams/compiler/vpp/stages.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

std::string find_folder(const fs::path& folder, const char* what) {
  std::error_code ignored;
  if (fs::is_directory(folder, ignored)) return folder.lexically_normal().string();
  throw Error("v++", std::string(what) + " are missing in " + folder.lexically_normal().string() +
                         "; install Tandem's component fpga as a whole");
}

// `text`: of the variable `name`; empty: `otherwise`.
bool switched_on(const char* name, const std::string& text, bool otherwise) {
  if (text.empty()) return otherwise;
  if (text == "on" || text == "off") return text == "on";
  throw Error("v++", std::string(name) + " is '" + text + "'; set it to on or off");
}

// Empty: it was not built.
std::string find_plugin(const Environment& environment, const char* name) {
  const fs::path plugin = fs::path(environment.tree) / "lib" / name;
  return fs::is_regular_file(plugin) ? plugin.lexically_normal().string() : "";
}

Toolchain find_toolchain(const Options& options, const Environment& environment) {
  const fs::path vitis = fs::path(environment.tree) / "vitis";
  Toolchain toolchain;
  if (!environment.compiler.empty()) toolchain.compiler = environment.compiler;
  toolchain.clang = environment.clang;
  if (!environment.verilator.empty()) toolchain.verilator = environment.verilator;
  toolchain.rtl_macros = (vitis / "rtl/xpm").lexically_normal().string();
  toolchain.coverage = switched_on("TANDEM_KERNEL_COVERAGE", environment.coverage, false);
  const bool copies = !toolchain.coverage;
  toolchain.checks = switched_on("TANDEM_KERNEL_CHECKS", environment.checks, true) && copies;
  toolchain.times = switched_on("TANDEM_KERNEL_TIME", environment.times, true) && copies;
  toolchain.loop_checks = find_plugin(environment, "tandem_loop_checks.so");
  toolchain.opencl_loops = find_plugin(environment, "tandem_opencl_loops.so");
  toolchain.glue_folder = find_folder(vitis / "glue", "the kernels' glue headers");
  toolchain.hls_includes = options.hls_include_dirs;
  if (toolchain.hls_includes.empty()) {
    toolchain.hls_includes = split(environment.hls_includes, ":");
  }
  toolchain.own_hls_folder = find_folder(vitis / "include", "the HLS headers");
  if (toolchain.hls_includes.empty()) toolchain.hls_includes = {toolchain.own_hls_folder};
  return toolchain;
}

StageResult run_stage(const Options& options, const Environment& environment) {
  if (options.stage == Stage::kPackage) return package(options);
  const Toolchain toolchain = find_toolchain(options, environment);
  return options.stage == Stage::kCompile ? compile(options, toolchain) : link(options, toolchain);
}

void write_depfile(const Options& options, const StageResult& result) {
  std::string text = xclbin::escape_for_make(output_name(options)) + ":";
  for (const auto* list : {&options.config_files, &result.dependencies}) {
    for (const std::string& path : *list) {
      text += " \\\n  " + xclbin::escape_for_make(fs::absolute(path).lexically_normal().string());
    }
  }
  xclbin::write_text(options.depfile, text + "\n");
}

// Those of an earlier call too: a script that goes on would test an old kernel.
void remove_outputs(const Options& options) {
  const std::string output = output_name(options);
  std::error_code ignored;
  for (const char* more : {"", ".info"}) {
    const fs::path path = output + more;
    const bool is_input =
        std::any_of(options.inputs.begin(), options.inputs.end(),
                    [&](const std::string& input) { return fs::equivalent(input, path, ignored); });
    if (!is_input && fs::is_regular_file(path, ignored)) fs::remove(path, ignored);
  }
}

void run(const std::vector<std::string>& arguments, const Environment& environment, RunLog& log) {
  Options options = read_options(arguments);
  if (options.stage == Stage::kHelp) {
    std::printf("%s", usage().c_str());
    return;
  }
  if (options.stage == Stage::kVersion) {
    // Makefiles take the version from the first line.
    std::printf(
        "****** v++ v2022.1 (64-bit)\n"
        "  **** Tandem: software emulation with the command line of 2022.1\n");
    return;
  }
  log.open(options);
  for (const std::string& flag : split(environment.kernel_flags, " ")) {
    options.kernel_flags.push_back(flag);
  }
  for (const std::string& line : options.warnings) log.warning(line);
  for (const std::string& line : options.notes) log.info(line);
  try {
    const StageResult result = run_stage(options, environment);
    for (const std::string& line : result.warnings) log.warning(line);
    for (const std::string& text : result.messages) log.compiler_output(text);
    write_summary(options, result, arguments);
    if (!options.depfile.empty()) write_depfile(options, result);
  } catch (...) {
    remove_outputs(options);
    throw;
  }
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Environment& environment) {
  RunLog log(arguments);
  try {
    run(arguments, environment, log);
    return 0;
  } catch (const std::exception& error) {
    log.error(error.what());
    return 1;
  }
}

}  // namespace tandem::vpp
