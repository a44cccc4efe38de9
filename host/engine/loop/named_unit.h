// SPDX-License-Identifier: Apache-2.0
//
// NamedUnit: an attention unit with the name that listings, metrics and errors use.
//
// Ownership: owns the unit.
#pragma once

#include <memory>
#include <string>

#include "device/attention_unit.h"

namespace tandem::engine {

struct NamedUnit {
  std::string id;  // "xrt:0"
  std::unique_ptr<device::AttentionUnit> unit;
  double share = 0;  // share of sequences or pages, see KvCache::add_unit()
};

}  // namespace tandem::engine
