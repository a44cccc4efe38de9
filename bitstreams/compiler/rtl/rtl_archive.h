// SPDX-License-Identifier: Apache-2.0
//
// The kernel object of an RTL kernel, as package_xo of our vivado writes it: sources and
// descriptions, not compiled.
//
// A line "tandem-rtl-kernel 1", then per entry a line "<kind> <bytes> <name>", the bytes, and a
// line feed. Kinds: kernel and protocol (texts), component (component.xml of the IP), kernel_xml
// (optional), source. Errors: Error("v++", ...) naming the file. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tandem::rtl {

struct RtlSource {
  std::string path;  // as packaged, for messages
  std::string text;
};

struct RtlArchive {
  std::string file;      // the archive
  std::string kernel;    // name
  std::string protocol;  // ap_ctrl_hs, ap_ctrl_chain, ap_ctrl_none, user_managed; empty: not stated
  std::string component;
  std::string kernel_xml;  // empty: none
  std::vector<RtlSource> sources;
};

bool is_rtl_archive(std::string_view bytes);
RtlArchive read_rtl_archive(std::string_view bytes, const std::string& file_name);

}  // namespace tandem::rtl
