// SPDX-License-Identifier: Apache-2.0
//
// CUPTI's kinds of copies by their number: the direction of the data. Exports of Nsight Systems
// have the same numbers. Source: CUPTI's documentation, CUpti_ActivityMemcpyKind. Pure.
#pragma once

#include <array>
#include <cstdint>

namespace tandem::trace {

struct CopyKind {
  const char* kind;
  const char* operation;
  bool from_host, to_host;
};

// Null: there is no such kind.
inline const CopyKind* copy_kind(std::int64_t number) {
  static constexpr std::array<CopyKind, 13> kKinds = {{
      {"host_to_device", "HtoD", true, false},
      {"device_to_host", "DtoH", false, true},
      {"host_to_device", "HtoA", true, false},
      {"device_to_host", "AtoH", false, true},
      {"device_copy", "AtoA", false, false},
      {"device_copy", "AtoD", false, false},
      {"device_copy", "DtoA", false, false},
      {"device_copy", "DtoD", false, false},
      {"host_copy", "HtoH", true, true},
      {"peer_copy", "PtoP", false, false},
      {"unified_memory", "HtoD", true, false},
      {"unified_memory", "DtoH", false, true},
      {"unified_memory", "DtoD", false, false},
  }};
  const bool is_known = number >= 1 && number <= static_cast<std::int64_t>(kKinds.size());
  return is_known ? &kKinds[static_cast<std::size_t>(number - 1)] : nullptr;
}

}  // namespace tandem::trace
