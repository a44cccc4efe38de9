// SPDX-License-Identifier: Apache-2.0
//
// v++ -c: preprocess, scan, compile, make the kernel object.
#include <algorithm>
#include <filesystem>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/dataflow/dataflow.h"
#include "bitstreams/compiler/opencl_c/compile.h"
#include "bitstreams/compiler/vpp/checked_copies.h"
#include "bitstreams/compiler/vpp/inline_checks.h"
#include "bitstreams/compiler/vpp/kernel_checks.h"
#include "bitstreams/compiler/vpp/kernel_coverage.h"
#include "bitstreams/compiler/vpp/kernel_object.h"
#include "bitstreams/compiler/vpp/kernel_scan.h"
#include "bitstreams/compiler/vpp/kernel_source.h"
#include "bitstreams/compiler/vpp/pragma_check.h"
#include "bitstreams/compiler/vpp/source_macros.h"
#include "bitstreams/compiler/vpp/stages.h"
#include "bitstreams/compiler/vpp/timed_copy.h"
#include "bitstreams/compiler/vpp/timed_opencl.h"
#include "bitstreams/compiler/vpp/work_folder.h"
#include "bitstreams/xclbin/platform.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLocalArgument = 3;  // kind of a __local argument

// The processes of a region are generic lambdas, so the text is compiled as C++14 if the kernel is
// C++11.
std::string standard_of_regions(const std::vector<std::string>& flags) {
  std::string standard;
  for (const std::string& flag : flags) {
    if (flag.starts_with("-std=")) standard = flag;
  }
  if (standard == "-std=c++11" || standard == "-std=c++0x") return "-std=c++14";
  if (standard == "-std=gnu++11" || standard == "-std=gnu++0x") return "-std=gnu++14";
  return standard;
}

class KernelCompiler {
 public:
  KernelCompiler(const Options& options, const Toolchain& toolchain)
      : options_(options),
        toolchain_(toolchain),
        output_(output_name(options)),
        folder_(options.save_temps ? kept_folder(options.temp_dir, "compile", output_) : "") {}

  StageResult run() {
    // An unknown platform is an error now, not after a long compilation.
    if (!options_.platform.empty()) xclbin::find_platform(options_.platform);
    for (const std::string& source : options_.inputs) {
      if (!fs::is_regular_file(source)) throw Error("v++", "no such source: " + source);
    }
    const bool opencl = opencl_c::is_opencl_c(options_.inputs[0]);
    std::vector<std::string> objects = opencl ? compile_opencl() : compile_cpp();
    write_kernel_object(objects, kernels_, folder_.path(), output_, checked_, timed_);
    for (const KernelDescription& kernel : kernels_) result_.kernels.push_back(kernel.name);
    return std::move(result_);
  }

 private:
  // For the preprocessor and the compiler.
  std::vector<std::string> flags() const {
    std::vector<std::string> flags = {"-std=gnu++14",        "-fPIC",
                                      "-fvisibility=hidden", "-Wno-unknown-pragmas",
                                      "-Wno-unused-label",   "-O" + options_.optimization,
                                      "-march=native",       "-ffp-contract=off"};
    // Units load copies of one library, which must not share GCC's unique symbols. Clang makes
    // none, and would warn that preprocessed text needs no -isystem.
    const std::string not_unique = "-fno-gnu-unique";
    const bool is_gcc = xclbin::accepts_flag(toolchain_.compiler, not_unique);
    flags.push_back(is_gcc ? not_unique : "-Qunused-arguments");
    if (options_.debug) flags.push_back("-g");
    for (const char* macro : {"__VITIS_HLS__", "__HLS_CSIM__"}) {
      flags.push_back(std::string("-D") + macro);
    }
    // The registers of mailbox and restart counter precede the arguments of such a kernel.
    if (hls_.has_control_registers()) flags.push_back("-DTANDEM_FIRST_ARGUMENT_OFFSET=0x20");
    for (const std::string& define : options_.defines) flags.push_back("-D" + define);
    for (const std::string& dir : options_.include_dirs) flags.push_back("-I" + dir);
    flags.insert(flags.end(), {"-isystem", toolchain_.glue_folder});
    for (const std::string& dir : toolchain_.hls_includes) {
      flags.insert(flags.end(), {"-isystem", dir});
    }
    flags.insert(flags.end(), options_.kernel_flags.begin(), options_.kernel_flags.end());
    return flags;
  }

  std::vector<std::string> compile_cpp() {
    if (options_.kernels.empty()) {
      throw Error("v++", "-c needs the kernel's name: add -k and the name of the function");
    }
    if (options_.kernels.size() > 1) {
      throw Error("v++", "-c compiles one kernel at a time; -k is given " +
                             std::to_string(options_.kernels.size()) + " times");
    }
    for (const std::string& script : options_.hls_scripts) {
      read_hls_script(xclbin::read_text(script), script, hls_);
      result_.dependencies.push_back(script);
    }
    flags_ = flags();
    CheckedCopies copies(toolchain_, options_.kernels[0]);
    if (toolchain_.times) clang_ = find_timing_clang(toolchain_.clang);
    macros_ = take_macros(flags_);
    const size_t home = find_home();
    std::vector<std::string> objects;
    for (size_t index = 0; index < options_.inputs.size(); ++index) {
      objects.push_back(compile_source(index, index == home, copies));
    }
    checked_ = copies.objects();
    warn(copies.warnings());
    return objects;
  }

  // The index of the source that defines the kernel; 0 when there is one source only.
  size_t find_home() {
    if (options_.inputs.size() == 1) return 0;
    for (size_t index = 0; index < options_.inputs.size(); ++index) {
      const PreprocessedSource source = preprocess(job(index, false));
      for (const FunctionDefinition& function : find_functions(source.text)) {
        if (defines_kernel(function, options_.kernels[0])) return index;
      }
    }
    throw Error("v++", "no source defines kernel '" + options_.kernels[0] + "'");
  }

  PreprocessJob job(size_t index, bool with_export) const {
    const std::string& source = options_.inputs[index];
    return {toolchain_.compiler,
            flags_,
            macros_,
            source,
            with_export ? options_.kernels[0] : "",
            folder_.path(),
            fs::path(source).stem().string() + std::to_string(index)};
  }

  std::string compile_source(size_t index, bool has_kernel, CheckedCopies& copies) {
    const PreprocessJob work = job(index, has_kernel);
    PreprocessedSource source = preprocess(work);
    if (has_kernel) add_kernel(source, work.source);
    if (!source.messages.empty()) result_.messages.push_back(source.messages);
    warn(check_pragmas(source.text));
    const std::string stem = folder_.file(work.stem);
    xclbin::DataflowNotes notes{[&work] { return source_macros(work); }};
    const std::string text = xclbin::rewrite_dataflow(source.text, &notes);
    const bool dumps = toolchain_.coverage && has_kernel;
    xclbin::write_text(stem + ".ii", dumps ? text + coverage_text(options_.kernels[0]) : text);
    warn(notes.warnings);
    std::vector<std::string> command = {toolchain_.compiler};
    command.insert(command.end(), flags_.begin(), flags_.end());
    if (text != source.text) command.push_back(standard_of_regions(flags_));
    if (toolchain_.coverage) add_coverage(command, work.stem);
    command.insert(command.end(), {"-c", stem + ".ii", "-o", stem + ".o"});
    const std::string messages = xclbin::run_tool(command, work.source + " does not compile");
    if (!messages.empty()) result_.messages.push_back(messages);
    result_.dependencies.insert(result_.dependencies.end(), source.dependencies.begin(),
                                source.dependencies.end());
    command.resize(command.size() - 4);  // -c source -o object
    copies.compile(std::move(command), {text, stem, has_kernel});
    if (!clang_.empty()) compile_counting(work, has_kernel);
    return stem + ".o";
  }

  void add_coverage(std::vector<std::string>& command, const std::string& source_stem) const {
    const std::vector<std::string> more = coverage_flags(output_, source_stem);
    if (!xclbin::accepts_flags(toolchain_.compiler, more)) {
      throw Error("v++", "TANDEM_KERNEL_COVERAGE is on, but " + toolchain_.compiler +
                             " does not take the options of gcov; use g++ 11 or later");
    }
    command.insert(command.end(), more.begin(), more.end());
  }

  void compile_counting(const PreprocessJob& work, bool has_kernel) {
    TimedSource source{
        work,        clang_,    [](std::string text) { return text; }, options_.kernels[0],
        clock_mhz(), has_kernel};
    if (has_kernel) {
      source.complete = [this](std::string text) {
        return with_register_elements(std::move(text), elements_);
      };
    }
    try {
      timed_.push_back(compile_timed(source));
    } catch (const Error&) {
      clang_.clear();
      timed_.clear();
      warn({"kernel '" + options_.kernels[0] + "' gets no time model: " + source.clang +
            " cannot compile it"});
    }
  }

  double clock_mhz() const {
    if (options_.kernel_frequency_mhz != 0) return options_.kernel_frequency_mhz;
    return options_.platform.empty() ? 300
                                     : xclbin::find_platform(options_.platform).kernel_clock_mhz;
  }

  // A header that several sources include gives one warning.
  void warn(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
      if (std::find(result_.warnings.begin(), result_.warnings.end(), line) ==
          result_.warnings.end()) {
        result_.warnings.push_back(line);
      }
    }
  }

  // All share the port "gmem" by default.
  std::string bundle_of(const ScannedArgument& argument, uint32_t& num_ports) const {
    if (!argument.bundle.empty()) return argument.bundle;
    if (!hls_.separate_ports || !argument.global) return "gmem";
    return "gmem" + std::to_string(num_ports++);
  }

  void add_kernel(PreprocessedSource& source, const std::string& path) {
    const ScannedKernel scanned = scan_kernel(source.text, options_.kernels[0], path);
    KernelDescription kernel;
    kernel.name = options_.kernels[0];
    kernel.source = fs::absolute(path).lexically_normal().string();
    kernel.control = scanned.control;
    kernel.restart_counters = hls_.restart_counters;
    kernel.mailbox = hls_.mailbox;
    kernel.software_reset = hls_.software_reset;
    uint32_t num_ports = 0;
    for (const ScannedArgument& argument : scanned.arguments) {
      ArgumentDescription description;
      description.name = argument.name;
      description.bundle = bundle_of(argument, num_ports);
      kernel.arguments.push_back(description);
      elements_.push_back(argument.register_elements);
    }
    source.text = with_register_elements(std::move(source.text), elements_);
    kernels_.push_back(std::move(kernel));
  }

  // One object with all wanted kernels.
  std::vector<std::string> compile_opencl() {
    if (options_.inputs.size() > 1) {
      throw Error("v++", "-c takes one OpenCL C source at a time, not " + options_.inputs[0] +
                             " and " + options_.inputs[1]);
    }
    if (toolchain_.coverage) warn({"kernels of OpenCL C have no coverage: " + options_.inputs[0]});
    const std::string object = folder_.file("kernels.o");
    opencl_c::CompileOptions wanted;
    wanted.source = options_.inputs[0];
    wanted.kernels = options_.kernels;
    wanted.flags = opencl_flags();
    wanted.object = object;
    wanted.scratch = folder_.path();
    wanted.glue_folder = toolchain_.glue_folder;
    wanted.hls_folder = toolchain_.own_hls_folder;
    wanted.cxx_compiler = toolchain_.compiler;
    wanted.clang = toolchain_.clang;
    if (toolchain_.checks) {
      wanted.checked = {folder_.file("checked.o"), opencl_check_flags(),
                        opencl_source_flags(),     inline_checks,
                        check_stubs(false),        opencl_loop_flags(toolchain_.opencl_loops)};
    }
    if (toolchain_.times) wanted.timed = timed_opencl(toolchain_.clang, clock_mhz());
    const opencl_c::CompileResult compiled = opencl_c::compile_opencl_c(wanted);
    if (compiled.has_checked_copy) {
      checked_.push_back(wanted.checked.object);
      if (!compiled.follows_values) {
        warn({"kernels of " + options_.inputs[0] +
              " get checks of their addresses only, not of work-items that race and of variables "
              "without a value: clang cannot compile them with these"});
      }
    } else if (toolchain_.checks) {
      warn({"kernels of " + options_.inputs[0] +
            " get no checks of their memory accesses: clang cannot compile them with them"});
    }
    for (const opencl_c::Kernel& kernel : compiled.kernels) kernels_.push_back(describe(kernel));
    timed_ = compiled.timed;
    result_.dependencies = compiled.dependencies;
    result_.messages = compiled.messages;
    return {object};
  }

  std::vector<std::string> opencl_flags() const {
    std::vector<std::string> flags = {"-O" + options_.optimization};
    if (options_.debug) flags.push_back("-g");
    for (const std::string& define : options_.defines) flags.push_back("-D" + define);
    for (const std::string& dir : options_.include_dirs) flags.push_back("-I" + dir);
    for (const std::string& flag : options_.kernel_flags) {
      // TANDEM_KERNEL_FLAGS is for all kernels of a project; clang refuses C++ standards here.
      if (!flag.starts_with("-std=") || flag.find("++") == std::string::npos) flags.push_back(flag);
    }
    return flags;
  }

  KernelDescription describe(const opencl_c::Kernel& kernel) const {
    KernelDescription description;
    description.name = kernel.name;
    description.source = fs::absolute(options_.inputs[0]).lexically_normal().string();
    description.language = "clc";
    description.required_group = kernel.required_group;
    description.maximum_group = kernel.maximum_group;
    for (const opencl_c::Argument& argument : kernel.arguments) {
      description.arguments.push_back({argument.name, "gmem", argument.type,
                                       argument.kind == kLocalArgument, argument.hidden,
                                       argument.pipe, argument.writes});
    }
    return description;
  }

  const Options& options_;
  const Toolchain& toolchain_;
  std::string output_;
  WorkFolder folder_;
  HlsSettings hls_ = options_.hls;
  std::vector<std::string> flags_;
  std::vector<std::string> macros_;
  std::vector<std::string> checked_;   // objects of checked copies, one per source
  std::string clang_;                  // makes copies that count; empty: none
  std::vector<std::string> timed_;     // their objects
  std::vector<std::string> elements_;  // for each argument in registers
  std::vector<KernelDescription> kernels_;
  StageResult result_;
};

}  // namespace

StageResult compile(const Options& options, const Toolchain& toolchain) {
  return KernelCompiler(options, toolchain).run();
}

}  // namespace tandem::vpp
