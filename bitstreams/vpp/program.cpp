// SPDX-License-Identifier: Apache-2.0
//
// The program around the stages: toolchain, messages, dependency file.
#include <cstdio>
#include <filesystem>

#include "bitstreams/depfile.h"
#include "bitstreams/vpp/files.h"
#include "bitstreams/vpp/option_table.h"
#include "bitstreams/vpp/run_log.h"
#include "bitstreams/vpp/stages.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// The first of the folders that exists: beside the installed program, or in the source tree.
std::string find_folder(const std::vector<fs::path>& candidates, const char* what) {
  std::error_code ignored;
  std::string looked;
  for (const fs::path& candidate : candidates) {
    if (fs::is_directory(candidate, ignored)) return candidate.lexically_normal().string();
    looked += " " + candidate.lexically_normal().string();
  }
  throw Error("v++", std::string(what) + " are missing; looked in" + looked);
}

Toolchain find_toolchain(const Options& options, const Environment& environment) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path tree = program.parent_path().parent_path();
  Toolchain toolchain;
  if (!environment.compiler.empty()) toolchain.compiler = environment.compiler;
  toolchain.clang = environment.clang;
  toolchain.glue_folder =
      find_folder({tree / "vitis" / "glue", TANDEM_GLUE_SOURCE_DIR}, "the kernels' glue headers");
  toolchain.hls_includes = options.hls_include_dirs;
  if (toolchain.hls_includes.empty()) {
    toolchain.hls_includes = split(environment.hls_includes, ':');
  }
  toolchain.own_hls_folder =
      find_folder({tree / "vitis" / "include", TANDEM_HLS_SOURCE_DIR}, "the HLS headers");
  if (toolchain.hls_includes.empty()) toolchain.hls_includes = {toolchain.own_hls_folder};
  return toolchain;
}

StageResult run_stage(const Options& options, const Environment& environment) {
  if (options.stage == Stage::kPackage) return package(options);
  const Toolchain toolchain = find_toolchain(options, environment);
  return options.stage == Stage::kCompile ? compile(options, toolchain) : link(options, toolchain);
}

void write_depfile(const Options& options, const StageResult& result) {
  std::string text = xclbin::escape_for_make(options.output) + ":";
  for (const auto* list : {&options.config_files, &result.dependencies}) {
    for (const std::string& path : *list) {
      text += " \\\n  " + xclbin::escape_for_make(fs::absolute(path).lexically_normal().string());
    }
  }
  write_text(options.depfile, text + "\n");
}

void run(const std::vector<std::string>& arguments, const Environment& environment, RunLog& log) {
  Options options = read_options(arguments);
  if (options.stage == Stage::kHelp) {
    std::printf("%s", usage().c_str());
    return;
  }
  if (options.stage == Stage::kVersion) {
    std::printf("v++ of Tandem: software emulation, command line of 2022.1\n");
    return;
  }
  log.open(options);
  for (const std::string& flag : split(environment.kernel_flags, ' ')) {
    options.kernel_flags.push_back(flag);
  }
  for (const std::string& line : options.warnings) log.warning(line);
  for (const std::string& line : options.notes) log.info(line);
  const StageResult result = run_stage(options, environment);
  for (const std::string& line : result.warnings) log.warning(line);
  for (const std::string& text : result.messages) log.compiler_output(text);
  write_summary(options, result, arguments);
  if (!options.depfile.empty()) write_depfile(options, result);
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
