// SPDX-License-Identifier: Apache-2.0
//
// The log is short and is kept in memory.
#include "bitstreams/compiler/vpp/run_log.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "bitstreams/xclbin/whole_file.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

std::string join(const std::vector<std::string>& arguments) {
  std::string line = "v++";
  for (const std::string& word : arguments) {
    line += word.find(' ') == std::string::npos ? " " + word : " '" + word + "'";
  }
  return line;
}

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::kCompile:
      return "compile";
    case Stage::kLink:
      return "link";
    case Stage::kPackage:
      return "package";
    case Stage::kHelp:
    case Stage::kVersion:
      break;
  }
  return "";
}

}  // namespace

RunLog::RunLog(const std::vector<std::string>& arguments) : text_(join(arguments) + "\n") {}

void RunLog::open(const Options& options) {
  const std::string stem =
      options.stage == Stage::kPackage ? "package" : fs::path(output_name(options)).stem().string();
  path_ = (fs::path(options.log_dir) / ("v++_" + stem + ".log")).string();
}

RunLog::~RunLog() {
  if (path_.empty()) return;
  std::error_code ignored;
  const fs::path folder = fs::path(path_).parent_path();
  if (!folder.empty()) fs::create_directories(folder, ignored);
  std::ofstream(path_, std::ios::binary | std::ios::trunc) << text_;
}

void RunLog::info(const std::string& line) {
  const std::string text = "INFO: [v++] " + line + "\n";
  std::fputs(text.c_str(), stdout);
  text_ += text;
}

void RunLog::warning(const std::string& line) {
  const std::string text = "WARNING: [v++] " + line + "\n";
  std::fputs(text.c_str(), stderr);
  text_ += text;
}

void RunLog::error(const std::string& line) {
  const std::string text = "ERROR: " + line + "\n";
  std::fputs(text.c_str(), stderr);
  text_ += text;
}

void RunLog::compiler_output(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  text_ += text;
}

void write_summary(const Options& options, const StageResult& result,
                   const std::vector<std::string>& arguments) {
  const std::string stage = stage_name(options.stage);
  const nlohmann::ordered_json summary = {
      {"tool", "v++"},
      {"stage", stage},
      {"target", options.target == Target::kSoftware ? "sw_emu" : "hw_emu"},
      {"platform", options.platform},
      {"output", output_name(options)},
      {"inputs", options.inputs},
      {"configuration", options.config_files},
      {"kernels", result.kernels},
      {"command_line", join(arguments)}};
  std::error_code ignored;
  if (!fs::is_regular_file(output_name(options), ignored)) return;  // a device has no neighbours
  xclbin::write_text(output_name(options) + "." + stage + "_summary", summary.dump(2) + "\n");
}

}  // namespace tandem::vpp
