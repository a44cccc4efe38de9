// SPDX-License-Identifier: Apache-2.0
//
// Sources are written with a `line directive, so that messages name the packaged files. The model,
// Verilator's runtime and the glue become one object, whose other symbols are local: a bitstream
// may have several.
#include "bitstreams/compiler/rtl/rtl_build.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/rtl/rtl_glue.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"
#include "common/lower_case.h"

namespace tandem::rtl {
namespace {

namespace fs = std::filesystem;

class RtlBuilder {
 public:
  RtlBuilder(const RtlArchive& archive, const RtlToolchain& toolchain, const std::string& folder)
      : archive_(archive), toolchain_(toolchain), folder_(folder) {}

  RtlKernel run() {
    find_verilator();
    write_sources();
    translate();
    const std::string header = folder_ + "/model/" + kModelClass + ".h";
    const Interfaces interfaces = find_interfaces(read_model_header(xclbin::read_text(header)));
    RtlKernel kernel;
    kernel.description = describe_rtl(archive_, interfaces);
    kernel.source = source_of(kernel.description.top);
    kernel.object = compile(rtl_glue(archive_.kernel, kernel.description, interfaces));
    return kernel;
  }

 private:
  void find_verilator() {
    try {
      root_ = xclbin::run_tool({toolchain_.verilator, "--getenv", "VERILATOR_ROOT"}, "");
    } catch (const Error&) {
      throw Error("v++", archive_.file +
                             " is an RTL kernel, which Verilator translates; install the "
                             "package verilator");
    }
    while (!root_.empty() && std::isspace(static_cast<unsigned char>(root_.back()))) {
      root_.pop_back();
    }
    // Before it, Perl may warn of the locale.
    root_.erase(0, root_.rfind('\n') + 1);
  }

  // Each in a folder of its own, since names may repeat. `line gives it a name without blanks, for
  // which messages get the packaged path.
  void write_sources() {
    for (const RtlSource& source : archive_.sources) {
      const std::string kind = lower_case(fs::path(source.path).extension().string());
      if (kind == ".vhd" || kind == ".vhdl") {
        throw Error("v++", "kernel '" + archive_.kernel + "' has VHDL: " + source.path +
                               "; Verilator translates Verilog and SystemVerilog only");
      }
      const std::string place = folder_ + "/source" + std::to_string(folders_.size());
      fs::create_directories(place);
      folders_.push_back(place);
      const std::string file = place + "/" + fs::path(source.path).filename().string();
      const bool is_included = kind == ".vh" || kind == ".svh";
      const bool is_code = is_included || kind == ".v" || kind == ".sv";
      refuse_encrypted(source);
      xclbin::write_text(file,
                         is_code ? "`line 1 \"" + mark(folders_.size() - 1) + "\" 0\n" + source.text
                                 : source.text);
      if (!is_code || is_included) continue;
      // Packages come before the modules that import them.
      const bool is_package = source.text.find("endpackage") != std::string::npos;
      files_.insert(is_package ? files_.begin() + num_packages_++ : files_.end(), file);
    }
  }

  static void refuse_encrypted(const RtlSource& source) {
    if (source.text.find("`pragma protect begin_protected") == std::string::npos) return;
    throw Error("v++", source.path + " is encrypted; only plain Verilog can be translated");
  }

  void translate() {
    std::vector<std::string> command = {
        toolchain_.verilator, "--cc",         "--no-timing",        "-O3",
        "--x-assign",         "fast",         "--x-initial",        "fast",
        "-Wno-fatal",         "-Wno-lint",    "-Wno-style",         "-Wno-TIMESCALEMOD",
        "-Wno-SYMRSVDWORD",   "--top-module", top_module(archive_), "--prefix",
        kModelClass,          "--Mdir",       folder_ + "/model"};
    // A source's own $error and $fatal, which -Wno-fatal would let pass.
    command.insert(command.end(), {"-Werror-USERERROR", "-Werror-USERFATAL"});
    for (const std::string& place : folders_) command.push_back("-I" + place);
    command.insert(command.end(), {"-y", toolchain_.macro_folder});
    command.insert(command.end(), files_.begin(), files_.end());
    try {
      xclbin::run_tool(command, "Verilator cannot translate kernel '" + archive_.kernel + "'");
    } catch (const Error& error) {
      throw Error("v++", with_advice(with_paths(error.what())));
    }
  }

  static std::string mark(size_t source) { return "tandem-source-" + std::to_string(source); }

  // In the order of their marks, as C++ texts.
  std::string paths() const {
    std::string text;
    for (const RtlSource& source : archive_.sources) text += "R\"=(" + source.path + ")=\", ";
    return text;
  }

  // Without the module's name at the beginning, which the new error has again.
  std::string with_paths(std::string message) const {
    if (message.starts_with('[')) message.erase(0, message.find(']') + 2);
    for (size_t source = 0; source < archive_.sources.size(); ++source) {
      const std::string from = mark(source) + ":";
      const std::string to = archive_.sources[source].path + ":";
      for (size_t at = message.find(from); at != std::string::npos;
           at = message.find(from, at + to.size())) {
        message.replace(at, from.size(), to);
      }
    }
    return message;
  }

  // A module that is missing is mostly a core of the vendor's.
  static std::string with_advice(const std::string& message) {
    if (message.find("Cannot find file containing module") == std::string::npos) return message;
    return message +
           "\nA module has no source: cores and macros of the vendor's cannot be translated, but "
           "xpm_fifo_sync, xpm_fifo_async, xpm_cdc_single and xpm_cdc_array_single can";
  }

  std::string source_of(const std::string& top) const {
    for (const RtlSource& source : archive_.sources) {
      if (fs::path(source.path).stem() == top) return source.path;
    }
    return archive_.sources.empty() ? archive_.file : archive_.sources.front().path;
  }

  std::string compile(const std::string& glue) const {
    std::set<std::string> parts;  // sorted, for the same object each time
    for (const auto& entry : fs::directory_iterator(folder_ + "/model")) {
      if (entry.path().extension() == ".cpp") parts.insert(entry.path().filename().string());
    }
    std::string model;
    for (const std::string& part : parts) model += "#include \"" + part + "\"\n";
    const std::string joined = folder_ + "/rtl-joined.o";
    const std::string runtime = "#define TANDEM_RTL_KERNEL \"" + archive_.kernel +
                                "\"\n#define TANDEM_RTL_SOURCES " + paths() +
                                "\n#include \"rtl/verilator_runtime.h\"\n";
    // The runtime is first: what is made first is destroyed last.
    xclbin::join_objects({compile_text("rtl_runtime", runtime), compile_text("rtl_model", model),
                          compile_text("rtl_glue", glue + clock_text() + toolchain_.stubs)},
                         joined, "the parts of kernel '" + archive_.kernel + "' do not link");
    const std::string object = folder_ + "/" + archive_.kernel + ".rtl.o";
    std::vector<std::string> command = {"objcopy"};
    command.insert(command.end(), toolchain_.keep.begin(), toolchain_.keep.end());
    command.insert(command.end(), {"--keep-global-symbol=" + clock_symbol(), joined, object});
    xclbin::run_tool(command, "cannot finish kernel '" + archive_.kernel + "'");
    return object;
  }

  // The card reads it for the time of a run.
  std::string clock_symbol() const { return "tandem_rtl_clock_" + archive_.kernel; }
  std::string clock_text() const {
    return "extern \"C\" __attribute__((visibility(\"default\"), used)) const double " +
           clock_symbol() + " = " + std::to_string(toolchain_.clock_mhz) + ";\n";
  }

  std::string compile_text(const std::string& stem, const std::string& text) const {
    const std::string source = folder_ + "/" + stem + ".cpp";
    const std::string object = folder_ + "/" + stem + ".o";
    xclbin::write_text(source, text);
    std::vector<std::string> command = {toolchain_.compiler, "-std=c++17", "-O2", "-fPIC", "-w"};
    if (toolchain_.debug) command.push_back("-g");
    // Units and kernels have the runtime each for itself, so they must not share GCC's unique
    // symbols.
    const std::string not_unique = "-fno-gnu-unique";
    if (xclbin::accepts_flag(toolchain_.compiler, not_unique)) command.push_back(not_unique);
    for (const std::string& include :
         {toolchain_.glue_folder, toolchain_.hls_folder, folder_ + "/model", root_ + "/include",
          root_ + "/include/vltstd"}) {
      command.push_back("-I" + include);
    }
    command.insert(command.end(), toolchain_.flags.begin(), toolchain_.flags.end());
    command.insert(command.end(), {"-c", source, "-o", object});
    xclbin::run_tool(command, "the C++ of kernel '" + archive_.kernel + "' does not compile");
    return object;
  }

  const RtlArchive& archive_;
  const RtlToolchain& toolchain_;
  const std::string folder_;
  std::string root_;                  // Verilator's
  std::vector<std::string> folders_;  // of the sources
  std::vector<std::string> files_;    // to translate
  int num_packages_ = 0;              // of files_, at its beginning
};

}  // namespace

RtlKernel build_rtl(const RtlArchive& archive, const RtlToolchain& toolchain,
                    const std::string& folder) {
  return RtlBuilder(archive, toolchain, folder).run();
}

}  // namespace tandem::rtl
