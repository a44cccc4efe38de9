// SPDX-License-Identifier: Apache-2.0
//
// What v++ and the card of the demo's build say when they are asked for what that build leaves out.
#include <gmock/gmock.h>

#include "bitstreams/compiler/opencl_c/compile.h"
#include "bitstreams/compiler/timing/kernel_model.h"
#include "bitstreams/compiler/vpp/csynth_report.h"
#include "bitstreams/compiler/vpp/rtl_object.h"
#include "bitstreams/compiler/vpp/timed_copy.h"
#include "bitstreams/compiler/vpp/timed_opencl.h"
#include "bitstreams/tools/xclbin_report.h"
#include "common/error.h"

namespace tandem::vpp {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;

auto Refuses(const std::string& what) {
  return ThrowsMessage<Error>(
      AllOf(HasSubstr(what), HasSubstr("build all: cmake --build --preset release")));
}

TEST(CppOnly, OtherKernelsAndReportsAreRefusedByName) {
  EXPECT_TRUE(opencl_c::is_opencl_c("vadd.cl"));
  EXPECT_FALSE(opencl_c::is_opencl_c("vadd.cpp"));
  EXPECT_THAT([] { opencl_c::compile_opencl_c({}); }, Refuses("OpenCL C"));
  EXPECT_THAT([] { build_rtl_object({}, {}, {}, ""); }, Refuses("RTL kernels"));
  EXPECT_THAT([] { print_csynth_report({}, ""); }, Refuses("reports of synthesis"));
  EXPECT_THAT(xclbin::xclbin_report({}, "vadd.xclbin"), HasSubstr("not describe vadd.xclbin"));
}

TEST(CppOnly, AKernelGetsNoTimedCopy) {
  EXPECT_THAT(find_timing_clang("clang"), IsEmpty()) << "so v++ asks for no copy";
  EXPECT_THAT([] { compile_timed({}); }, Refuses("time model"));
  EXPECT_FALSE(timed_opencl("clang", 300).wanted);
}

TEST(CppOnly, ACardRefusesTheCopyThatAnotherBuildMade) {
  EXPECT_THAT([] { timing::read_model("{}"); }, Refuses("time model"));
}

}  // namespace
}  // namespace tandem::vpp
