// SPDX-License-Identifier: Apache-2.0
//
// The [connectivity] settings of a link: compute units (nk), memory banks (sp) and stream links
// (sc, stream_connect). Threads: any. Source: the vendor's user guide, linking kernels.
#pragma once

#include <string>
#include <vector>

#include "bitstreams/compiler/vpp/settings.h"
#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::vpp {

//   nk = kernel:count[:name.name... or name,name...]   default: one unit, kernel_1
//   sp = unit.port:memory        port: an argument, or m_axi_<bundle> for all arguments of a bundle
//        memory: HBM[3]  HBM[0:3]  HBM[0:3].2  DDR[0]  DDR  bank0  PLRAM[1]  HOST[0], or a bank's
//        tag
//   sc = unit.output:unit.input[:depth]                 depth in elements
//   slr = unit:region                                   checked, without effect
//   connect, region, noc.*                              without effect
// A placement within a range (".2", ".RAMA") has no effect.
enum class ConnectivityKey { kUsed, kWithoutEffect, kUnknown };
ConnectivityKey connectivity_key(const std::string& key);
// The known keys, for messages.
std::string connectivity_keys();

// Names the units of `design`'s kernels, and adds bank connections and stream links. `settings`
// holds only keys of kind kUsed, without the prefix "connectivity.". If two settings name banks for
// the same argument, the later one counts; settings of the command line precede those of files.
// Returns warnings. Throws Error("v++", ...) that names the place of the setting, the mistake, and
// the existing names.
std::vector<std::string> connect(const std::vector<Setting>& settings, xclbin::Design& design);

}  // namespace tandem::vpp
