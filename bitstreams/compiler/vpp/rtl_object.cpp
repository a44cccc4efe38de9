// SPDX-License-Identifier: Apache-2.0
//
// Translates between the linker's words for kernels and those of rtl/.
#include "bitstreams/compiler/vpp/rtl_object.h"

#include <filesystem>

#include "bitstreams/compiler/rtl/rtl_build.h"
#include "bitstreams/compiler/vpp/kernel_checks.h"
#include "bitstreams/xclbin/platform.h"
#include "common/lower_case.h"

namespace tandem::vpp {
namespace {

xclbin::Control control_of(rtl::RtlProtocol protocol) {
  switch (protocol) {
    case rtl::RtlProtocol::kHandshake:
      return xclbin::Control::kHandshake;
    case rtl::RtlProtocol::kChain:
      return xclbin::Control::kChain;
    case rtl::RtlProtocol::kNone:
      return xclbin::Control::kNone;
  }
  return xclbin::Control::kHandshake;
}

// The bundle of the port m_axi_<bundle>; another port is named as a whole.
std::string bundle_of(const rtl::RtlArgument& argument) {
  constexpr const char* kPrefix = "m_axi_";
  if (argument.kind != rtl::ArgumentKind::kGlobal) return "";
  const bool usual = lower_case(argument.port).starts_with(kPrefix);
  return usual ? argument.port.substr(std::string_view(kPrefix).size()) : argument.port;
}

KernelDescription describe_rtl_kernel(const rtl::RtlArchive& archive, const rtl::RtlKernel& built) {
  KernelDescription kernel;
  kernel.name = archive.kernel;
  kernel.source = std::filesystem::absolute(built.source).lexically_normal().string();
  kernel.control = control_of(built.description.protocol);
  for (const rtl::RtlArgument& argument : built.description.arguments) {
    ArgumentDescription description;
    description.name = argument.name;
    description.bundle = bundle_of(argument);
    kernel.arguments.push_back(std::move(description));
  }
  return kernel;
}

}  // namespace

RtlObject build_rtl_object(const rtl::RtlArchive& archive, const Options& options,
                           const Toolchain& toolchain, const std::string& folder) {
  const std::string place = folder + "/" + archive.kernel;
  std::filesystem::create_directories(place);
  rtl::RtlToolchain tools;
  tools.verilator = toolchain.verilator;
  tools.compiler = toolchain.compiler;
  tools.glue_folder = toolchain.glue_folder;
  tools.hls_folder = toolchain.own_hls_folder;
  tools.macro_folder = toolchain.rtl_macros;
  tools.flags = options.kernel_flags;
  tools.stubs = check_stubs(false);
  tools.keep = plain_symbols({archive.kernel});
  for (const std::string& option : checked_symbols({archive.kernel})) tools.keep.push_back(option);
  tools.debug = options.debug;
  tools.clock_mhz = options.kernel_frequency_mhz != 0
                        ? options.kernel_frequency_mhz
                        : xclbin::find_platform(options.platform).kernel_clock_mhz;
  const rtl::RtlKernel built = rtl::build_rtl(archive, tools, place);
  return {built.object, describe_rtl_kernel(archive, built)};
}

}  // namespace tandem::vpp
