// SPDX-License-Identifier: Apache-2.0
//
// Preprocesses, rewrites, asks clang for the signatures, compiles both halves, and links them into
// one object.
#include "bitstreams/compiler/opencl_c/compile.h"

#include <algorithm>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/depfile.h"
#include "bitstreams/compiler/opencl_c/access_marks.h"
#include "bitstreams/compiler/opencl_c/entry_writer.h"
#include "bitstreams/compiler/opencl_c/signature.h"
#include "bitstreams/compiler/opencl_c/source_rewriter.h"
#include "bitstreams/compiler/opencl_c/value_marks.h"
#include "bitstreams/xclbin/whole_file.h"
#include "common/error.h"

namespace tandem::opencl_c {
namespace {

constexpr const char* kTypesHeader = "opencl-c-base.h";  // clang's own
constexpr std::uint32_t kLocal = 3;
constexpr std::uint32_t kStream = 4;

bool starts(const std::string& program) {
  try {
    xclbin::run_tool({program, "--version"}, "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

// The requested clang, else the first that exists.
std::string find_clang(const std::string& wanted) {
  if (!wanted.empty()) {
    if (starts(wanted)) return wanted;
    throw Error("opencl_c", "TANDEM_CLANG names '" + wanted + "', which does not start");
  }
  for (const char* name :
       {"clang", "clang-14", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19"}) {
    if (starts(name)) return name;
  }
  throw Error("opencl_c",
              "OpenCL C kernels are compiled by clang, which is not installed: install the package "
              "clang, or name a clang in TANDEM_CLANG");
}

// Flags for the preprocessor only; the second word of a flag is its next argument.
bool is_preprocessor_flag(const std::string& flag) {
  return flag.starts_with("-D") || flag.starts_with("-I") || flag.starts_with("-U") ||
         flag.starts_with("-include") || flag.starts_with("-isystem") ||
         flag.starts_with("-iquote");
}
bool takes_a_word(const std::string& flag) {
  return flag == "-D" || flag == "-I" || flag == "-U" || flag == "-include" || flag == "-isystem" ||
         flag == "-iquote";
}

// A kernel that neither asks for its place nor runs as one item is called for each item all the
// same, so it needs the group's size.
void complete(KernelSignature& kernel) {
  if (kernel.required_group != std::array<std::uint32_t, 3>{1, 1, 1}) kernel.uses_work_items = true;
}

class Compiler {
 public:
  explicit Compiler(const CompileOptions& options)
      : options_(options),
        clang_(find_clang(options.clang)),
        stem_(options.scratch + "/opencl_c") {}

  CompileResult run() {
    preprocess();
    ModuleDescription module = describe();
    for (KernelSignature& kernel : module.kernels) complete(kernel);
    const std::vector<KernelSignature> kernels = wanted(module);
    compile_halves(kernels, module.pipe_bytes);
    for (const KernelSignature& kernel : kernels) result_.kernels.push_back(describe(kernel));
    return std::move(result_);
  }

 private:
  std::vector<std::string> clang_command() const {
    std::string standard = "-cl-std=CL2.0";
    for (const std::string& flag : options_.flags) {
      if (flag.starts_with("-cl-std=")) standard = flag;
    }
    return {clang_,    "-x",           "cl",       standard,    "-cl-no-stdinc",
            "-Xclang", "-cl-ext=+all", "-include", kTypesHeader};
  }

  std::string tool(const std::vector<std::string>& command) const {
    if (options_.verbose) {
      std::string line;
      for (const std::string& word : command) line += word + " ";
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    return xclbin::run_tool(command, options_.source + " does not compile");
  }

  void preprocess() {
    std::vector<std::string> command = clang_command();
    for (size_t index = 0; index < options_.flags.size(); ++index) {
      const std::string& flag = options_.flags[index];
      if (!is_preprocessor_flag(flag)) continue;
      command.push_back(flag);
      if (takes_a_word(flag) && index + 1 < options_.flags.size()) {
        command.push_back(options_.flags[++index]);
      }
    }
    command.insert(command.end(),
                   {"-E", "-MMD", "-MF", stem_ + ".d", "-o", stem_ + ".i", options_.source});
    note(tool(command));
    for (const std::string& path : xclbin::parse_depfile(xclbin::read_text(stem_ + ".d"))) {
      result_.dependencies.push_back(path);
    }
    source_ = rewrite_source(without_header(xclbin::read_text(stem_ + ".i"), kTypesHeader),
                             options_.source);
    xclbin::write_text(stem_ + ".conversions.h",
                       define_conversions(source_.conversions, options_.source));
  }

  // The command that compiles rewritten text, without input and output.
  std::vector<std::string> compile_command() const {
    std::vector<std::string> command = clang_command();
    command.insert(command.end(),
                   {"-I" + options_.glue_folder, "-include", "opencl_c/builtins.h", "-include",
                    stem_ + ".conversions.h", "-fPIC", "-fno-builtin-printf", "-ffp-contract=off",
                    "-Wno-unknown-attributes", "-Wno-format", "-Wno-psabi", "-cl-kernel-arg-info"});
    for (size_t index = 0; index < options_.flags.size(); ++index) {
      const std::string& flag = options_.flags[index];
      if (is_preprocessor_flag(flag)) {
        if (takes_a_word(flag)) ++index;
      } else if (!flag.starts_with("-cl-std=")) {
        command.push_back(flag);
      }
    }
    return command;
  }

  ModuleDescription describe() {
    xclbin::write_text(stem_ + ".cl", source_.text);
    std::vector<std::string> command = compile_command();
    command.insert(command.end(), {"-Xclang", "-disable-llvm-passes", "-g0", "-S", "-emit-llvm",
                                   "-o", stem_ + ".ll", stem_ + ".cl"});
    note(tool(command));
    return describe_module(xclbin::read_text(stem_ + ".ll"), options_.source);
  }

  std::vector<KernelSignature> wanted(const ModuleDescription& module) const {
    if (module.kernels.empty()) {
      throw Error("opencl_c", options_.source + " defines no kernel (__kernel void name(...))");
    }
    if (options_.kernels.empty()) return module.kernels;
    std::vector<KernelSignature> found;
    for (const std::string& name : options_.kernels) {
      const auto kernel =
          std::find_if(module.kernels.begin(), module.kernels.end(),
                       [&](const KernelSignature& each) { return each.name == name; });
      if (kernel == module.kernels.end()) {
        std::string names;
        for (const KernelSignature& each : module.kernels) names += " " + each.name;
        throw Error("opencl_c",
                    options_.source + " defines no kernel '" + name + "'; it has" + names);
      }
      found.push_back(*kernel);
    }
    return found;
  }

  void compile_halves(const std::vector<KernelSignature>& kernels,
                      const std::vector<std::uint32_t>& pipe_bytes) {
    xclbin::write_text(stem_ + ".cl", source_.text + opencl_half(kernels));
    std::vector<std::string> opencl = compile_command();
    opencl.insert(opencl.end(), {"-w", "-c", "-o", stem_ + ".kernel.o", stem_ + ".cl"});
    tool(opencl);
    const std::string entries = cpp_half(kernels, source_.pipes, pipe_bytes);
    join_halves(kernels, stem_, entries, options_.object);
    if (options_.timed.wanted) compile_timed(kernels, pipe_bytes);
    if (options_.checked.object.empty()) return;
    std::string checked = entries + options_.checked.functions;
    result_.follows_values = follows_values(kernels);
    if (result_.follows_values) {
      checked = "#define TANDEM_CL_CHECKED\n" + checked;
    } else if (!compiles_checked()) {
      return;
    }
    join_halves(kernels, stem_ + ".checked", checked, options_.checked.object);
    result_.has_checked_copy = true;
  }

  void compile_timed(const std::vector<KernelSignature>& kernels,
                     const std::vector<std::uint32_t>& pipe_bytes) {
    const std::string path = stem_ + ".timed.ll";
    std::vector<std::string> read = compile_command();
    read.insert(read.end(),
                {"-O1", "-g", "-w", "-fno-builtin", "-fno-discard-value-names", "-Xclang",
                 "-disable-llvm-passes", "-S", "-emit-llvm", "-o", path, stem_ + ".cl"});
    tool(read);
    for (const KernelSignature& kernel : kernels) {
      std::vector<std::string> pointers;
      for (const SourceArgument& argument : kernel.arguments) {
        const bool in_device =
            argument.space == AddressSpace::kGlobal || argument.space == AddressSpace::kConstant;
        if (in_device) pointers.push_back(argument.name);
      }
      const std::string stem = stem_ + ".timed." + kernel.name;
      try {
        const std::string made = options_.timed.compile(path, kernel.name, source_.hints, pointers);
        xclbin::write_text(stem + ".kernel.o", xclbin::read_text(made));
        join_halves({kernel}, stem,
                    cpp_half({kernel}, source_.pipes, pipe_bytes) + options_.timed.functions,
                    stem + ".o");
        result_.timed.push_back(stem + ".o");
      } catch (const Error& error) {
        note("kernel '" + kernel.name + "' gets no time model: " + error.what());
      }
    }
  }

  // Version 4 of DWARF: addr2line takes the wrong file of version 5.
  // The copy that also follows values goes through clang as IR: the source, the optimiser, the pass
  // of MemorySanitizer, that of AddressSanitizer.
  bool follows_values(const std::vector<KernelSignature>& kernels) {
    const LoopFlags& loops = options_.checked.loops;
    if (loops.plugin.empty()) return follows_values(kernels, {});
    if (follows_values(kernels, loops)) return true;
    if (!follows_values(kernels, {})) return false;
    note("the loops of " + options_.source + " keep their checks, so checked runs take longer: " +
         clang_ + " does not load the plugin " + loops.plugin.front() + "\n");
    return true;
  }

  bool follows_values(const std::vector<KernelSignature>& kernels, const LoopFlags& loops) const {
    const std::string stem = stem_ + ".checked";
    std::vector<std::string> names;
    for (const KernelSignature& kernel : kernels) names.push_back(kernel.name);
    std::vector<std::string> read = compile_command();
    read.insert(read.end(), options_.checked.source_flags.begin(),
                options_.checked.source_flags.end());
    read.insert(read.end(), {"-O1", "-g1", "-gdwarf-4", "-fsanitize=memory", "-w", "-Xclang",
                             "-disable-llvm-passes", "-S", "-emit-llvm", "-o", stem + ".raw.ll",
                             stem_ + ".cl"});
    std::vector<std::string> optimise = ir_command("-O1", loops.plugin);
    optimise.insert(optimise.end(), {"-emit-llvm", "-o", stem + ".flat.ll", stem + ".begun.ll"});
    std::vector<std::string> values = ir_command("-O0", value_flags());
    values.insert(values.end(), {"-emit-llvm", "-o", stem + ".values.ll", stem + ".chosen.ll"});
    std::vector<std::string> addresses = ir_command("-O1", options_.checked.flags);
    // Guards of variables only: access_marks.h has made the calls.
    for (const char* off : {"-asan-instrument-reads=0", "-asan-instrument-writes=0"}) {
      addresses.insert(addresses.end(), {"-mllvm", off});
    }
    addresses.insert(addresses.end(), loops.code.begin(), loops.code.end());
    addresses.insert(addresses.end(), {"-o", stem + ".s", stem + ".marked.ll"});
    try {
      tool(read);
      xclbin::write_text(stem + ".begun.ll",
                         begin_without_values(xclbin::read_text(stem + ".raw.ll"), names));
      tool(optimise);
      xclbin::write_text(stem + ".chosen.ll",
                         expand_absolute_values(xclbin::read_text(stem + ".flat.ll")));
      tool(values);
      xclbin::write_text(stem + ".marked.ll",
                         mark_accesses(xclbin::read_text(stem + ".values.ll")));
      tool(addresses);
      assemble(stem);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  std::vector<std::string> ir_command(const char* level,
                                      const std::vector<std::string>& flags) const {
    std::vector<std::string> command = {clang_, "-x", "ir", level, "-fPIC", "-ffp-contract=off"};
    command.insert(command.end(), flags.begin(), flags.end());
    command.insert(command.end(), {"-w", "-S"});
    return command;
  }

  bool compiles_checked() const {
    const std::string stem = stem_ + ".checked";
    std::vector<std::string> command = compile_command();
    command.insert(command.end(), options_.checked.source_flags.begin(),
                   options_.checked.source_flags.end());
    command.insert(command.end(), options_.checked.flags.begin(), options_.checked.flags.end());
    command.insert(command.end(),
                   {"-O1", "-g1", "-gdwarf-4", "-w", "-S", "-o", stem + ".s", stem_ + ".cl"});
    try {
      tool(command);
      assemble(stem);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  void assemble(const std::string& stem) const {
    const std::string assembly = stem + ".s";
    xclbin::write_text(assembly, options_.checked.change_assembly(xclbin::read_text(assembly)));
    tool({clang_, "-c", assembly, "-o", stem + ".kernel.o"});
  }

  // `stem`.kernel.o is what clang compiled; `entries` is the other half.
  void join_halves(const std::vector<KernelSignature>& kernels, const std::string& stem,
                   const std::string& entries, const std::string& object) const {
    // The kernel's own functions must not replace those of the C library.
    std::vector<std::string> hide = {"objcopy", "--redefine-sym", "printf=tandem_cl_printf"};
    for (const KernelSignature& kernel : kernels) {
      for (const char* kept : {"tandem_cl_invoke_", "tandem_cl_sizes_", "tandem_cl_locals_"}) {
        hide.insert(hide.end(), {"--keep-global-symbol", kept + kernel.name});
      }
      for (const std::string& kept : options_.timed.symbols) {
        hide.insert(hide.end(), {"--keep-global-symbol", kept + kernel.name});
      }
    }
    hide.push_back(stem + ".kernel.o");
    tool(hide);
    xclbin::write_text(stem + ".cpp", entries);
    std::vector<std::string> entry = {options_.cxx_compiler,
                                      "-std=c++14",
                                      "-O1",
                                      "-fPIC",
                                      "-fvisibility=hidden",
                                      "-I" + options_.glue_folder,
                                      "-I" + options_.hls_folder};
    // GCC's unique symbols would be shared by kernel objects, and by units.
    const std::string not_unique = "-fno-gnu-unique";
    if (xclbin::accepts_flag(options_.cxx_compiler, not_unique)) entry.push_back(not_unique);
    entry.insert(entry.end(), {"-c", stem + ".cpp", "-o", stem + ".entry.o"});
    tool(entry);
    tool({options_.cxx_compiler, "-r", "-nostdlib", stem + ".kernel.o", stem + ".entry.o", "-o",
          object});
  }

  Kernel describe(const KernelSignature& signature) const {
    Kernel kernel;
    kernel.name = signature.name;
    kernel.required_group = signature.required_group;
    const auto maximum = source_.maximum_groups.find(signature.name);
    if (maximum != source_.maximum_groups.end()) kernel.maximum_group = maximum->second;
    for (const SourceArgument& argument : signature.arguments) {
      const bool local = argument.space == AddressSpace::kLocal;
      const bool scalar = argument.space == AddressSpace::kPrivate;
      kernel.arguments.push_back({argument.name, argument.type, local ? kLocal : scalar ? 0U : 1U});
    }
    if (signature.uses_work_items) {
      kernel.arguments.push_back({"work_dim", "size_t", 0, true});
      for (const char* name : {"group_id", "global_offset", "global_size", "local_size"}) {
        for (int dimension = 0; dimension < 3; ++dimension) {
          kernel.arguments.push_back({name, "size_t", 0, true});
        }
      }
    }
    for (const auto& [pipe, writes] : signature.pipes) {
      const std::string& name = source_.pipes[pipe].name;
      kernel.arguments.push_back({name, "pipe", kStream, true, name, writes});
    }
    return kernel;
  }

  void note(const std::string& messages) {
    if (!messages.empty()) result_.messages.push_back(messages);
  }

  const CompileOptions& options_;
  std::string clang_;
  std::string stem_;
  RewrittenSource source_;
  CompileResult result_;
};

}  // namespace

bool is_opencl_c(const std::string& path) { return path.ends_with(".cl"); }

CompileResult compile_opencl_c(const CompileOptions& options) { return Compiler(options).run(); }

}  // namespace tandem::opencl_c
