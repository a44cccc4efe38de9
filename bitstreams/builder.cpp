// SPDX-License-Identifier: Apache-2.0
//
// Runs the compiler over kernels and their glue, and turns the result into a Design.
#include "bitstreams/builder.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "bitstreams/compiler_process.h"
#include "bitstreams/depfile.h"
#include "bitstreams/glue/kernel_entry.h"
#include "bitstreams/source_scan.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

namespace fs = std::filesystem;

// A folder removed with its contents at the end of the scope.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (fs::temp_directory_path() / "tandem-xclbin-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw Error("xclbin", "cannot make a folder in " + fs::temp_directory_path().string());
    }
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Error("xclbin", "cannot read " + path);
  return text.str();
}

// The folder `name` of the project's shared files: the source tree's, else the one beside the
// running program's installation, else the one the build was configured to install to.
std::string shared_folder(const char* source_tree, const std::string& name) {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  const fs::path relocated = program.parent_path().parent_path() / "share" / "tandem" / name;
  const fs::path installed = fs::path(TANDEM_SHARE_INSTALL_DIR) / name;
  for (const fs::path& candidate : {fs::path(source_tree), relocated, installed}) {
    if (fs::is_directory(candidate, ignored)) return candidate.string();
  }
  throw Error("xclbin", "the folder '" + name +
                            "' of Tandem's shared files is missing; looked in " + source_tree +
                            ", " + relocated.string() + " and " + installed.string());
}

class RecipeBuilder {
 public:
  RecipeBuilder(const Recipe& recipe, const BuildOptions& options)
      : recipe_(recipe), options_(options) {}

  std::string run() {
    Design design{recipe_.name, &find_platform(recipe_.platform), {}, {}, {}};
    const fs::path library = scratch_.path() / "kernels.so";
    compile(library);
    describe_kernels(library, design);
    name_units(design);
    const std::string elf = read_text(library.string());
    const auto* bytes = reinterpret_cast<const std::byte*>(elf.data());
    design.elf.assign(bytes, bytes + elf.size());
    const std::string output = options_.output.empty() ? recipe_.name + ".xclbin" : options_.output;
    if (fs::path(output).has_parent_path()) fs::create_directories(fs::path(output).parent_path());
    write_xclbin(design, output);
    if (!options_.depfile.empty()) write_depfile(output);
    return output;
  }

 private:
  std::vector<std::string> compile_flags() const {
    std::vector<std::string> flags = {"-std=c++17", "-fPIC", "-fvisibility=hidden",
                                      "-Wno-unknown-pragmas", "-Wno-unused-label"};
    // Units load copies of one library, which must not share GCC's unique symbols. Clang makes
    // none.
    const std::string not_unique = "-fno-gnu-unique";
    if (accepts_flag(options_.compiler, not_unique)) flags.push_back(not_unique);
    flags.insert(flags.end(), recipe_.optimisation.begin(), recipe_.optimisation.end());
    flags.insert(flags.end(), recipe_.flags.begin(), recipe_.flags.end());
    flags.push_back("-I" + shared_folder(TANDEM_GLUE_SOURCE_DIR, "glue"));
    for (const std::string& dir : recipe_.include_dirs) flags.push_back("-I" + dir);
    std::vector<std::string> hls = options_.hls_include_dirs;
    if (hls.empty()) hls.push_back(shared_folder(TANDEM_HLS_SOURCE_DIR, "hls"));
    for (const std::string& dir : hls) flags.push_back("-I" + dir);
    flags.insert(flags.end(), options_.extra_flags.begin(), options_.extra_flags.end());
    return flags;
  }

  void compile(const fs::path& library) {
    std::vector<std::string> link = {options_.compiler,    "-shared", "-Wl,--no-undefined",
                                     "-Wl,-z,noexecstack", "-o",      library.string()};
    for (size_t index = 0; index < recipe_.kernels.size(); ++index) {
      link.push_back(compile_kernel(recipe_.kernels[index], index));
    }
    run_compiler(link, options_.verbose);
  }

  std::string compile_kernel(const KernelRecipe& kernel, size_t index) {
    const std::string stem = (scratch_.path() / ("kernel" + std::to_string(index))).string();
    std::ofstream glue(stem + ".cpp");
    glue << "#include \"" << kernel.source
         << "\"\n#include \"kernel_glue.h\"\nTANDEM_EXPORT_KERNEL(" << kernel.name << ")\n";
    glue.close();
    std::vector<std::string> command = {options_.compiler};
    for (const std::string& flag : compile_flags()) command.push_back(flag);
    for (const char* flag : {"-MMD", "-MF"}) command.push_back(flag);
    command.push_back(stem + ".d");
    command.insert(command.end(), {"-c", stem + ".cpp", "-o", stem + ".o"});
    run_compiler(command, options_.verbose);
    collect_dependencies(stem + ".d");
    return stem + ".o";
  }

  void collect_dependencies(const std::string& depfile) {
    const std::string scratch = scratch_.path().string();
    for (const std::string& path : parse_depfile(read_text(depfile))) {
      if (path.compare(0, scratch.size(), scratch) != 0) dependencies_.push_back(path);
    }
  }

  void write_depfile(const std::string& output) const {
    std::ofstream out(options_.depfile);
    out << escape_for_make(output) << ": " << escape_for_make(recipe_.path);
    if (!recipe_.connectivity_path.empty())
      out << " " << escape_for_make(recipe_.connectivity_path);
    for (const std::string& path : dependencies_) out << " \\\n  " << escape_for_make(path);
    out << "\n";
    if (!out) throw Error("xclbin", "cannot write " + options_.depfile);
  }

  // Loads the library to ask each kernel for its argument list.
  void describe_kernels(const fs::path& library, Design& design) const {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
      throw Error("xclbin", std::string("cannot load the kernels: ") + dlerror());
    for (const KernelRecipe& wanted : recipe_.kernels) {
      using Getter = const tandem_glue::KernelEntry* (*)();
      const auto getter =
          reinterpret_cast<Getter>(dlsym(handle, ("tandem_kernel_" + wanted.name).c_str()));
      if (getter == nullptr)
        throw Error("xclbin", "kernel '" + wanted.name + "' is not in the library");
      design.kernels.push_back(describe_kernel(wanted, *getter()));
    }
    dlclose(handle);
  }

  Kernel describe_kernel(const KernelRecipe& wanted, const tandem_glue::KernelEntry& entry) const {
    Kernel kernel{wanted.name, Control::kChain, {}, {}};
    std::vector<std::string> names = wanted.arguments;
    if (names.empty()) {
      const auto source = scan_kernel_source(read_text(wanted.source), wanted.name, wanted.source);
      names = source.argument_names;
      kernel.control = source.control;
    }
    if (names.size() != entry.num_arguments) {
      throw Error("xclbin", recipe_.path + ": kernel '" + wanted.name + "' has " +
                                std::to_string(entry.num_arguments) + " arguments, " +
                                std::to_string(names.size()) +
                                " names are known; list them in the recipe");
    }
    for (uint32_t index = 0; index < entry.num_arguments; ++index) {
      const tandem_glue::ArgumentEntry& argument = entry.arguments[index];
      kernel.arguments.push_back({names[index], argument.type, argument.kind, argument.host_bytes,
                                  argument.register_bytes, argument.offset});
    }
    return kernel;
  }

  void name_units(Design& design) const {
    design.connections = recipe_.connectivity.connections;
    for (Kernel& kernel : design.kernels) {
      for (const UnitCount& units : recipe_.connectivity.units) {
        if (units.kernel == kernel.name) kernel.unit_names = units.unit_names;
      }
      if (kernel.unit_names.empty()) kernel.unit_names = {kernel.name + "_1"};
    }
    for (const UnitCount& units : recipe_.connectivity.units) {
      bool known = false;
      for (const Kernel& kernel : design.kernels) known |= kernel.name == units.kernel;
      if (!known) {
        throw Error("xclbin", recipe_.connectivity_path + ": nk names kernel '" + units.kernel +
                                  "', which the recipe does not have");
      }
    }
  }

  const Recipe& recipe_;
  const BuildOptions& options_;
  ScratchFolder scratch_;
  std::vector<std::string> dependencies_;
};

}  // namespace

std::string build(const Recipe& recipe, const BuildOptions& options) {
  return RecipeBuilder(recipe, options).run();
}

}  // namespace tandem::xclbin
