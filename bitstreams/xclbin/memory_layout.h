// SPDX-License-Identifier: Apache-2.0
//
// The memory sections of a design: banks, stream links, bank ranges, and which argument reaches
// which.
//
// Both tables start with the platform's banks, then one entry per stream link; `groups` adds one
// entry per connected range of banks. Errors: Error when a connection or link names something that
// the design does not have. Threads: any.
#pragma once

#include <xclbin.h>

#include <vector>

#include "bitstreams/xclbin/xclbin_writer.h"

namespace tandem::xclbin {

struct Topology {
  std::vector<mem_data> banks;
  std::vector<mem_data> groups;
  std::vector<connection> bank_connections;
  std::vector<connection> group_connections;
};

Topology make_topology(const Design& design);

}  // namespace tandem::xclbin
