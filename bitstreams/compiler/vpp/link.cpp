// SPDX-License-Identifier: Apache-2.0
//
// v++ -l: links kernel objects into the library that is the bitstream, reads the kernels' arguments
// from it, and writes the xclbin.
#include <dlfcn.h>
#include <stdlib.h>

#include <filesystem>
#include <map>

#include "bitstreams/compiler/compiler_process.h"
#include "bitstreams/compiler/glue/kernel_entry.h"
#include "bitstreams/compiler/vpp/connectivity.h"
#include "bitstreams/compiler/vpp/kernel_coverage.h"
#include "bitstreams/compiler/vpp/kernel_object.h"
#include "bitstreams/compiler/vpp/rtl_object.h"
#include "bitstreams/compiler/vpp/stages.h"
#include "bitstreams/compiler/vpp/work_folder.h"
#include "bitstreams/tools/xclbin_report.h"
#include "bitstreams/xclbin/whole_file.h"
#include "bitstreams/xclbin/xclbin_writer.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

namespace fs = std::filesystem;

constexpr uint32_t kLocalMemory = 3;

// Units at one end of a pipe, each with its argument for the pipe.
using Pipe = std::vector<std::pair<std::string, std::string>>;

const char* mailbox_name(Mailbox mailbox) {
  switch (mailbox) {
    case Mailbox::kNone:
      return "none";
    case Mailbox::kIn:
      return "in";
    case Mailbox::kOut:
      return "out";
    case Mailbox::kBoth:
      return "inout";
  }
  return "none";
}

class Linker {
 public:
  Linker(const Options& options, const Toolchain& toolchain)
      : options_(options),
        toolchain_(toolchain),
        output_(output_name(options)),
        folder_(options.save_temps ? kept_folder(options.temp_dir, "link", output_) : "") {}

  StageResult run() {
    if (options_.platform.empty()) throw Error("v++", "the platform is missing: add --platform");
    for (const std::string& path : options_.inputs) read_object(path);
    const std::string library = folder_.file("kernels.so");
    link_library(library);
    xclbin::Design design{
        fs::path(output_).stem().string(), &xclbin::find_platform(options_.platform), {}, {}, {}};
    describe(library, design);
    design.hardware_emulation = options_.target == Target::kHardware;
    design.kernel_clock_mhz = options_.kernel_frequency_mhz;
    result_.warnings = connect(options_.connectivity, design);
    link_pipes(design);
    const std::string elf = xclbin::read_text(library);
    const auto* bytes = reinterpret_cast<const std::byte*>(elf.data());
    design.elf.assign(bytes, bytes + elf.size());
    write(xclbin::encode(design));
    return std::move(result_);
  }

 private:
  // The report refuses everything that readers refuse, so it is made before anything is written.
  void write(const std::vector<std::byte>& image) const {
    const std::string report = xclbin::xclbin_report(image, output_);
    xclbin::write_bytes(output_, image);
    if (!fs::is_regular_file(output_)) return;
    try {
      xclbin::write_text(output_ + ".info", report);
    } catch (...) {
      fs::remove(output_);
      throw;
    }
  }

  void read_object(const std::string& path) {
    if (!fs::is_regular_file(path)) throw Error("v++", "no such kernel object: " + path);
    const std::string text = xclbin::read_text(path);
    if (rtl::is_rtl_archive(text)) {
      const rtl::RtlArchive archive = rtl::read_rtl_archive(text, path);
      check_home(archive.kernel, path);
      RtlObject built = build_rtl_object(archive, options_, toolchain_, folder_.path());
      objects_.push_back(built.path);
      add_kernel(std::move(built.kernel));
    } else {
      coverage_ = coverage_ || counts_coverage(text);
      const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
      for (KernelDescription& kernel : read_kernel_object(bytes, path)) {
        check_home(kernel.name, path);
        add_kernel(std::move(kernel));
      }
      objects_.push_back(path);
    }
    result_.dependencies.push_back(path);
  }

  void check_home(const std::string& kernel, const std::string& path) {
    const auto [known, is_new] = homes_.emplace(kernel, path);
    if (is_new) return;
    throw Error("v++", "kernel '" + kernel + "' is in " + known->second + " and in " + path +
                           "; link one of them");
  }

  void add_kernel(KernelDescription kernel) {
    result_.kernels.push_back(kernel.name);
    kernels_.push_back(std::move(kernel));
  }

  void link_library(const std::string& library) {
    std::vector<std::string> command = {toolchain_.compiler,  "-shared", "-Wl,--no-undefined",
                                        "-Wl,-z,noexecstack", "-o",      library};
    command.insert(command.end(), objects_.begin(), objects_.end());
    command.push_back("-lm");
    if (coverage_) command.push_back("-lgcov");
    xclbin::run_tool(command, "the kernel objects do not link");
  }

  void describe(const std::string& library, xclbin::Design& design) const {
    // This load is no run: what it counts goes with the folder.
    if (coverage_) setenv("GCOV_PREFIX", folder_.path().c_str(), 1);
    void* handle = dlopen(fs::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw Error("v++", std::string("cannot load the kernels: ") + dlerror());
    for (const KernelDescription& kernel : kernels_) {
      using Getter = const tandem_glue::KernelEntry* (*)();
      const auto getter =
          reinterpret_cast<Getter>(dlsym(handle, ("tandem_kernel_" + kernel.name).c_str()));
      if (getter == nullptr)
        throw Error("v++", "kernel '" + kernel.name + "' is not in its object");
      design.kernels.push_back(describe_kernel(kernel, *getter()));
    }
    dlclose(handle);
  }

  xclbin::Kernel describe_kernel(const KernelDescription& description,
                                 const tandem_glue::KernelEntry& entry) const {
    if (entry.num_arguments != description.arguments.size()) {
      throw Error("v++", description.source + ": kernel '" + description.name + "' has " +
                             std::to_string(entry.num_arguments) + " arguments, " +
                             std::to_string(description.arguments.size()) +
                             " were found in its source");
    }
    xclbin::Kernel kernel{description.name, description.control, {}, {}};
    kernel.language = description.language;
    kernel.restart_counters = description.restart_counters;
    kernel.mailbox = mailbox_name(description.mailbox);
    kernel.software_reset = description.software_reset;
    kernel.required_group = description.required_group;
    kernel.maximum_group = description.maximum_group;
    for (uint32_t index = 0; index < entry.num_arguments; ++index) {
      const ArgumentDescription& known = description.arguments[index];
      const tandem_glue::ArgumentEntry& argument = entry.arguments[index];
      kernel.arguments.push_back({known.name, known.type.empty() ? argument.type : known.type,
                                  known.local ? kLocalMemory : argument.kind, argument.host_bytes,
                                  argument.register_bytes, argument.offset, known.bundle,
                                  known.hidden, argument.element_bytes});
    }
    return kernel;
  }

  // A program-scope pipe of OpenCL C links the unit that writes it with the one that reads it.
  void link_pipes(xclbin::Design& design) const {
    std::map<std::string, std::pair<Pipe, Pipe>> pipes;  // writer and reader by the pipe's name
    for (size_t index = 0; index < kernels_.size(); ++index) {
      for (const ArgumentDescription& argument : kernels_[index].arguments) {
        if (argument.pipe.empty()) continue;
        auto& [writer, reader] = pipes[argument.pipe];
        for (const std::string& unit : design.kernels[index].unit_names) {
          (argument.writes ? writer : reader).push_back({unit, argument.name});
        }
      }
    }
    for (const auto& [name, ends] : pipes) {
      if (ends.first.size() != 1 || ends.second.size() != 1) {
        throw Error("v++", "pipe '" + name + "' has " + std::to_string(ends.first.size()) +
                               " writing and " + std::to_string(ends.second.size()) +
                               " reading units; it needs one of each");
      }
      design.links.push_back({ends.first[0].first, ends.first[0].second, ends.second[0].first,
                              ends.second[0].second, 0});
    }
  }

  const Options& options_;
  const Toolchain& toolchain_;
  std::string output_;
  WorkFolder folder_;
  bool coverage_ = false;                     // an object counts for gcov
  std::map<std::string, std::string> homes_;  // kernel to object
  std::vector<std::string> objects_;          // to link
  std::vector<KernelDescription> kernels_;
  StageResult result_;
};

}  // namespace

StageResult link(const Options& options, const Toolchain& toolchain) {
  return Linker(options, toolchain).run();
}

}  // namespace tandem::vpp
