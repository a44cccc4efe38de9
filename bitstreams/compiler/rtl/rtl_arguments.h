// SPDX-License-Identifier: Apache-2.0
//
// Arguments and control protocol of an RTL kernel: from its kernel.xml, or else from the registers
// of its component.xml and the streams of its model.
//
// A register with ASSOCIATED_BUSIF is a pointer. The registers up to 0xC are the control registers.
// Errors: Error("v++", ...) naming the kernel object. Pure. Source: the vendor's user guide
// (UG1393), RTL kernel XML file; IP-XACT.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/rtl/rtl_archive.h"
#include "bitstreams/compiler/rtl/rtl_interface.h"

namespace tandem::rtl {

enum class ArgumentKind : uint8_t { kScalar = 0, kGlobal = 1, kStream = 4 };

struct RtlArgument {
  std::string name;
  std::string type;  // in C
  ArgumentKind kind = ArgumentKind::kScalar;
  uint32_t offset = 0;  // of its register
  uint32_t bytes = 0;   // in the register map; 0 for a stream
  std::string port;     // of a pointer or stream: the name of its interface
};

enum class RtlProtocol : uint8_t { kHandshake, kChain, kNone };

struct RtlDescription {
  std::string top;  // module
  RtlProtocol protocol = RtlProtocol::kHandshake;
  std::vector<RtlArgument> arguments;
};

// The module to compile: the component's model, or the kernel's name.
std::string top_module(const RtlArchive& archive);
RtlDescription describe_rtl(const RtlArchive& archive, const Interfaces& interfaces);

}  // namespace tandem::rtl
