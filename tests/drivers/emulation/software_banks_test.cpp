// SPDX-License-Identifier: Apache-2.0
//
// The tables that OpenCL programs see in software emulation: one bank for everything but streams.
#include "emulation/xrt_shim/opencl/software_banks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace tandem::emulation {
namespace {

constexpr uint64_t kMebibyte = uint64_t{1} << 20;

template <typename Table, typename Entry>
std::vector<std::byte> table_of(const std::vector<Entry>& entries, size_t first) {
  std::vector<std::byte> bytes(std::max(sizeof(Table), first + entries.size() * sizeof(Entry)));
  reinterpret_cast<Table*>(bytes.data())->m_count = static_cast<int32_t>(entries.size());
  std::ranges::copy(std::as_bytes(std::span(entries)), bytes.data() + first);
  return bytes;
}

mem_data memory(uint8_t type, uint64_t base, uint64_t size_bytes, bool used) {
  mem_data data{};
  data.m_type = type;
  data.m_base_address = base;
  data.m_size = size_bytes / 1024;
  data.m_used = used ? 1 : 0;
  return data;
}

class SoftwareBanksTest : public ::testing::Test {
 protected:
  mem_topology& topology() { return *reinterpret_cast<mem_topology*>(memories_.data()); }
  connectivity& rows() { return *reinterpret_cast<connectivity*>(connections_.data()); }

  std::vector<std::byte> memories_ =
      table_of<mem_topology, mem_data>({memory(MEM_HBM, 0, 256 * kMebibyte, false),
                                        memory(MEM_HBM, 256 * kMebibyte, 256 * kMebibyte, true),
                                        memory(MEM_DDR4, 4096 * kMebibyte, 1024 * kMebibyte, true),
                                        memory(MEM_STREAMING_CONNECTION, 0, 0, true)},
                                       offsetof(mem_topology, m_mem_data));
  std::vector<std::byte> connections_ = table_of<connectivity, connection>(
      {{0, 0, 1}, {1, 0, 2}, {2, 0, 3}, {0, 1, 3}}, offsetof(connectivity, m_connection));
};

TEST_F(SoftwareBanksTest, OneBankSpansAllMemory) {
  join_topology(topology());
  EXPECT_EQ(topology().m_mem_data[0].m_used, 1);
  EXPECT_EQ(topology().m_mem_data[0].m_base_address, 0u);
  EXPECT_EQ(topology().m_mem_data[0].m_size * 1024, 5120 * kMebibyte);
  EXPECT_EQ(topology().m_mem_data[1].m_used, 0);
  EXPECT_EQ(topology().m_mem_data[2].m_used, 0);
  EXPECT_EQ(topology().m_count, 4);
}

TEST_F(SoftwareBanksTest, ArgumentsLeadToItAndStreamsStay) {
  join_topology(topology());
  join_connections(rows(), topology());
  EXPECT_EQ(rows().m_connection[0].mem_data_index, 0);
  EXPECT_EQ(rows().m_connection[1].mem_data_index, 0);
  EXPECT_EQ(rows().m_connection[2].mem_data_index, 3);
  EXPECT_EQ(rows().m_connection[3].mem_data_index, 3);
  EXPECT_EQ(topology().m_mem_data[3].m_used, 1);
}

TEST_F(SoftwareBanksTest, EmptyTablesStayEmpty) {
  auto none = table_of<mem_topology, mem_data>({}, offsetof(mem_topology, m_mem_data));
  join_topology(*reinterpret_cast<mem_topology*>(none.data()));
  EXPECT_EQ(reinterpret_cast<mem_topology*>(none.data())->m_count, 0);
}

TEST_F(SoftwareBanksTest, DoingItTwiceChangesNothing) {
  join_topology(topology());
  join_connections(rows(), topology());
  const auto memories = memories_, connections = connections_;
  join_topology(topology());
  join_connections(rows(), topology());
  EXPECT_EQ(memories, memories_);
  EXPECT_EQ(connections, connections_);
}

}  // namespace
}  // namespace tandem::emulation
