// SPDX-License-Identifier: Apache-2.0
//
// The options of one run of v++: the settings, checked and typed.
//
// Errors: Error("v++", ...) naming the option or the configuration file's line. Threads: any.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/hls_settings.h"
#include "bitstreams/compiler/vpp/settings.h"

namespace tandem::vpp {

enum class Stage { kCompile, kLink, kPackage, kHelp, kVersion };
enum class Target { kSoftware, kHardware };  // sw_emu, hw_emu

struct Options {
  Stage stage = Stage::kHelp;
  Target target = Target::kSoftware;
  std::string platform;  // a name, the path of an .xpfm or of a platform's JSON
  std::vector<std::string> kernels;
  std::string output;
  std::vector<std::string> inputs;
  std::vector<std::string> include_dirs;
  std::vector<std::string> defines;
  std::vector<std::string> hls_include_dirs;  // replace Tandem's HLS headers
  std::vector<std::string> kernel_flags;      // compiler flags of the user
  std::string optimization = "2";
  bool debug = false;
  bool save_temps = false;
  std::string temp_dir = "_x";
  std::string log_dir;
  std::string depfile;
  uint32_t kernel_frequency_mhz = 0;     // 0: the platform's clock
  std::vector<Setting> connectivity;     // the keys lack the prefix "connectivity."
  std::vector<std::string> hls_scripts;  // Tcl files read before synthesis (hls.pre_tcl)
  HlsSettings hls;
  std::string package_dir;
  std::vector<std::string> package_files;
  std::vector<std::string> config_files;
  std::vector<std::string> notes;     // settings without effect, a line per section
  std::vector<std::string> warnings;  // unknown options
};

// The output of the stage: -o, or the stage's default (-c: the kernel's name, or the source's, with
// .xo; else a.xclbin).
std::string output_name(const Options& options);

// Reads the arguments, without the program's name. The program, not this function, reads
// TANDEM_HLS_INCLUDE and TANDEM_KERNEL_FLAGS.
Options read_options(const std::vector<std::string>& arguments);

}  // namespace tandem::vpp
