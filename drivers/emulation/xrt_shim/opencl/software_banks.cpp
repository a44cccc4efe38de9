// SPDX-License-Identifier: Apache-2.0
//
// XRT returns its tables as constants, but they are its own vectors, so the cast is defined.
#include "emulation/xrt_shim/opencl/software_banks.h"

#include <algorithm>

namespace tandem::emulation {
namespace {

bool is_stream(const mem_data& memory) {
  return memory.m_type == MEM_STREAMING || memory.m_type == MEM_STREAMING_CONNECTION;
}

template <typename Table>
Table* table(const xrt_core::device& device, axlf_section_kind kind) {
  return reinterpret_cast<Table*>(const_cast<char*>(device.get_axlf_section(kind, {}).first));
}

}  // namespace

void join_topology(mem_topology& topology) {
  uint64_t end = 0;
  for (int32_t index = 0; index < topology.m_count; ++index) {
    mem_data& memory = topology.m_mem_data[index];
    if (is_stream(memory)) continue;
    end = std::max(end, memory.m_base_address + memory.m_size * 1024);
    memory.m_used = index == 0 ? 1 : 0;
  }
  mem_data& joined = topology.m_mem_data[0];
  if (topology.m_count == 0 || is_stream(joined)) return;
  joined.m_base_address = 0;
  joined.m_size = end / 1024;
}

void join_connections(connectivity& connections, const mem_topology& topology) {
  for (int32_t row = 0; row < connections.m_count; ++row) {
    int32_t& memory = connections.m_connection[row].mem_data_index;
    if (!is_stream(topology.m_mem_data[memory])) memory = 0;
  }
}

void join_banks(const xrt_core::device& device) {
  for (const auto& [memories, rows] : {std::pair{MEM_TOPOLOGY, CONNECTIVITY},
                                       std::pair{ASK_GROUP_TOPOLOGY, ASK_GROUP_CONNECTIVITY}}) {
    auto* topology = table<mem_topology>(device, memories);
    auto* connections = table<connectivity>(device, rows);
    if (topology == nullptr) continue;
    join_topology(*topology);
    if (connections != nullptr) join_connections(*connections, *topology);
  }
}

}  // namespace tandem::emulation
