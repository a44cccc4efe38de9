// SPDX-License-Identifier: Apache-2.0
//
// Writes the C++ text that connects a verilated model with the emulated card: a KernelEntry whose
// call runs a tandem_rtl::Unit (glue/rtl/rtl_unit.h).
//
// Pure.
#pragma once

#include <string>

#include "bitstreams/compiler/rtl/rtl_arguments.h"
#include "bitstreams/compiler/rtl/rtl_interface.h"

namespace tandem::rtl {

constexpr const char* kModelClass = "Vtandem_kernel";

std::string rtl_glue(const std::string& kernel, const RtlDescription& description,
                     const Interfaces& interfaces);

}  // namespace tandem::rtl
