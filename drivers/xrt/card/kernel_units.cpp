// SPDX-License-Identifier: Apache-2.0
//
// The xclbin lists the compute units, so any number of them works.
#include "xrt/card/kernel_units.h"

#include <filesystem>

#include "common/error.h"
#include "xrt/card/xclbin_bounds.h"

namespace tandem::device::xrt_card {
namespace {

constexpr std::uint64_t kBytesPerKb = 1024;

xrt::xclbin read_xclbin(const KernelImage& image) {
  const std::string& path = image.path;
  if (path.empty()) throw Error("xrt", "no kernel image for the card: " + image.advice);
  check_xclbin_file(path);
  try {
    return xrt::xclbin(path);
  } catch (const std::exception& e) {
    throw Error("xrt", "the kernel image " + path + " is not an xclbin: " + e.what());
  }
}

// "kernel:unit" -> "kernel:{unit}", the way XRT selects one compute unit.
std::string selector(const std::string& kernel_name, const std::string& unit_name) {
  const std::size_t colon = unit_name.find(':');
  return kernel_name + ":{" + unit_name.substr(colon + 1) + "}";
}

}  // namespace

ArgumentMemory KernelUnit::memory_of(int argument) const {
  ArgumentMemory memory;
  for (const auto& bank : ip.get_arg(argument).get_mems()) {
    if (memory.bank < 0) memory.bank = bank.get_index();
    memory.size_bytes += bank.get_size_kb() * kBytesPerKb;
  }
  return memory;
}

std::vector<KernelUnit> load_kernel_units(xrt::device& device, const KernelImage& image) {
  const xrt::xclbin xclbin = read_xclbin(image);
  std::vector<KernelUnit> units;
  try {
    const xrt::uuid id = device.load_xclbin(xclbin);
    for (const auto& kernel : xclbin.get_kernels()) {
      if (kernel.get_name() != image.kernel_name) continue;
      for (const auto& unit : kernel.get_cus()) {
        const std::string name = unit.get_name();
        units.push_back({name, xrt::kernel(device, id, selector(image.kernel_name, name)), unit});
      }
    }
  } catch (const std::exception& e) {
    throw Error("xrt", "the card refuses the kernel image " + image.path + ": " + e.what());
  }
  if (units.empty()) {
    throw Error("xrt", "the kernel image " + image.path + " has no kernel " + image.kernel_name +
                           ": build it from bitstreams/recipes/" + image.kernel_name);
  }
  return units;
}

std::vector<KernelUnit> load_own_kernel(xrt::device& device, const std::string& kernel_name,
                                        const std::string& path, const SharedPorts& shared) {
  const KernelImage image = {path.empty() ? find_kernel_image(kernel_name) : path, kernel_name,
                             kernel_name +
                                 ".xclbin is neither beside the program nor installed; build the "
                                 "target xclbin_" +
                                 kernel_name};
  std::vector<KernelUnit> units = load_kernel_units(device, image);
  for (const KernelUnit& unit : units) {
    const int memory = unit.kernel.group_id(shared.arguments.front());
    for (const int argument : shared.arguments) {
      if (unit.kernel.group_id(argument) == memory) continue;
      throw Error("xrt", "the kernel image " + image.path + " connects the " + shared.kind +
                             " ports of " + unit.name + " to different memories: link " +
                             shared.names + " to one (sp= in " + kernel_name + ".cfg)");
    }
  }
  return units;
}

std::string find_kernel_image(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path file = fs::path("bitstreams") / (name + ".xclbin");
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  for (const fs::path& share :
       {self.parent_path().parent_path() / "share" / "tandem", fs::path(TANDEM_SHARE_DIR)}) {
    if (fs::is_regular_file(share / file, error)) return (share / file).string();
  }
  return {};
}

}  // namespace tandem::device::xrt_card
