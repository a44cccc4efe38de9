// SPDX-License-Identifier: Apache-2.0
//
// Replaces what v++ does beyond C++ kernels in a build of the demo alone: OpenCL C, RTL, modelled
// times and reports.
#include "bitstreams/compiler/opencl_c/compile.h"
#include "bitstreams/compiler/vpp/csynth_report.h"
#include "bitstreams/compiler/vpp/rtl_object.h"
#include "bitstreams/compiler/vpp/timed_copy.h"
#include "bitstreams/compiler/vpp/timed_opencl.h"
#include "bitstreams/tools/xclbin_report.h"
#include "common/error.h"

namespace tandem {
namespace {

[[noreturn]] void refuse_in_demo(const std::string& what) {
  throw Error("v++", "the demo's build of v++ has no " + what +
                         "; build all: cmake --build --preset release");
}

}  // namespace

namespace opencl_c {

bool is_opencl_c(const std::string& path) { return path.ends_with(".cl"); }
CompileResult compile_opencl_c(const CompileOptions&) { refuse_in_demo("OpenCL C"); }

}  // namespace opencl_c

namespace xclbin {

std::string xclbin_report(std::span<const std::byte>, const std::string& path) {
  return "The demo's build of v++ does not describe " + path + ".\n";
}

}  // namespace xclbin

namespace vpp {

int print_csynth_report(const std::vector<std::string>&, const std::string&) {
  refuse_in_demo("reports of synthesis");
}

RtlObject build_rtl_object(const rtl::RtlArchive&, const Options&, const Toolchain&,
                           const std::string&) {
  refuse_in_demo("RTL kernels");
}

// Without a clang no copy is made.
std::string find_timing_clang(const std::string&) { return {}; }
opencl_c::TimedCopy timed_opencl(const std::string&, double) { return {}; }
std::string compile_timed(const TimedSource&) { refuse_in_demo("time model"); }
std::string join_timed(const std::vector<std::string>&, const std::vector<std::string>&,
                       const std::string&) {
  refuse_in_demo("time model");
}
std::vector<std::string> timed_symbols(const std::vector<std::string>&) { return {}; }

}  // namespace vpp
}  // namespace tandem
