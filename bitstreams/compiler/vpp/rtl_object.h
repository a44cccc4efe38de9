// SPDX-License-Identifier: Apache-2.0
//
// RTL kernels among the inputs of v++ -l: they are built (rtl/rtl_build.h) when they are linked.
//
// Errors: Error("v++", ...). Threads: any.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/rtl/rtl_archive.h"
#include "bitstreams/compiler/vpp/kernel_object.h"
#include "bitstreams/compiler/vpp/stages.h"

namespace tandem::vpp {

struct RtlObject {
  std::string path;  // in `folder`
  KernelDescription kernel;
};

RtlObject build_rtl_object(const rtl::RtlArchive& archive, const Options& options,
                           const Toolchain& toolchain, const std::string& folder);

}  // namespace tandem::vpp
