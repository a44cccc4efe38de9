// SPDX-License-Identifier: Apache-2.0
//
// Compute units are found in the xclbin, so any number of them works.
#include "xrt/kernel_image.h"

#include <experimental/xrt_xclbin.h>

#include <filesystem>

#include "common/error.h"
#include "xrt/xclbin_check.h"

namespace tandem::device::xrt_card {
namespace {

constexpr const char* kKernelName = "attention_decode";
constexpr std::uint64_t kBytesPerKb = 1024;

PoolMemory memory_of(const xrt::xclbin::ip& unit, int argument) {
  PoolMemory memory;
  for (const auto& bank : unit.get_arg(argument).get_mems()) {
    if (memory.bank < 0) memory.bank = bank.get_index();
    memory.size_bytes += bank.get_size_kb() * kBytesPerKb;
  }
  return memory;
}

xrt::xclbin read_xclbin(const std::string& path) {
  if (path.empty()) {
    throw Error("xrt", "no kernel image for the card: name the attention xclbin (--xclbin)");
  }
  if (!std::filesystem::is_regular_file(path)) {
    throw Error("xrt", "the kernel image " + path + " is not a file");
  }
  check_xclbin_bounds(path);
  try {
    return xrt::xclbin(path);
  } catch (const std::exception& e) {
    throw Error("xrt", "the kernel image " + path + " is not an xclbin: " + e.what());
  }
}

// "kernel:unit" -> "kernel:{unit}", the way XRT selects one compute unit.
std::string selector(const std::string& unit_name) {
  const std::size_t colon = unit_name.find(':');
  return std::string(kKernelName) + ":{" + unit_name.substr(colon + 1) + "}";
}

// One descriptor serves every unit, so all must reach the memory it is in.
void check_shared_memory(const std::vector<ComputeUnitHandle>& units, const std::string& path) {
  const int first = units[0].kernel.group_id(kDescriptor);
  for (const ComputeUnitHandle& unit : units) {
    const int own = unit.kernel.group_id(kDescriptor);
    if (own == first) continue;
    throw Error("xrt", "the kernel image " + path + " connects the descriptor ports of " +
                           units[0].name + " and " + unit.name + " to different memories (" +
                           std::to_string(first) + ", " + std::to_string(own) +
                           "): link all of them to one (sp= in attention_decode.cfg)");
  }
}

}  // namespace

std::vector<ComputeUnitHandle> load_kernel_image(xrt::device& device, const std::string& path) {
  const xrt::xclbin image = read_xclbin(path);
  std::vector<ComputeUnitHandle> units;
  try {
    const xrt::uuid id = device.load_xclbin(image);
    for (const auto& kernel : image.get_kernels()) {
      if (kernel.get_name() != kKernelName) continue;
      for (const auto& unit : kernel.get_cus()) {
        units.push_back({unit.get_name(), xrt::kernel(device, id, selector(unit.get_name())),
                         memory_of(unit, kKeyPool), memory_of(unit, kValuePool)});
      }
    }
  } catch (const std::exception& e) {
    throw Error("xrt", "the card refuses the kernel image " + path + ": " + e.what());
  }
  if (units.empty()) {
    throw Error("xrt", "the kernel image " + path + " has no kernel " + kKernelName +
                           ": build it from bitstreams/attention_decode");
  }
  check_shared_memory(units, path);
  return units;
}

}  // namespace tandem::device::xrt_card
