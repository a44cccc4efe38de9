// SPDX-License-Identifier: Apache-2.0
//
// Pools that reach the same bank share it.
#include "xrt/attention/pools.h"

#include <algorithm>
#include <limits>
#include <map>

#include "common/error.h"

namespace tandem::device::xrt_card {
namespace {

struct BankUse {
  double capacity_bytes = 0;
  double bytes_per_page = 0;  // of the unit's pages, over all pools in the bank
};

}  // namespace

std::uint32_t pages_that_fit(const KernelLayout& layout,
                             const std::vector<ComputeUnitHandle>& handles,
                             const std::vector<UnitShare>& shares,
                             const AttentionUnitOptions& options) {
  std::map<int, BankUse> banks;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const double bytes = static_cast<double>(layout.pool_bytes(1, shares[i].head_count)) *
                         layout.page_parts / shares[i].num_slices;
    for (const ArgumentMemory& memory : {handles[i].key_memory, handles[i].value_memory}) {
      BankUse& bank = banks[memory.bank];
      bank.capacity_bytes = static_cast<double>(memory.size_bytes);
      bank.bytes_per_page += bytes;
    }
  }
  double pages = std::numeric_limits<std::uint32_t>::max() / layout.page_parts;
  for (const auto& [index, bank] : banks) {
    pages = std::min(pages, bank.capacity_bytes * 15 / 16 / bank.bytes_per_page);
  }
  const double page_bytes = static_cast<double>(layout.kernel_page_bytes()) * layout.page_parts;
  if (options.kv_bytes > 0) {
    pages = std::min(pages, static_cast<double>(options.kv_bytes) / page_bytes);
  }
  if (options.max_pages > 0) pages = std::min(pages, static_cast<double>(options.max_pages));
  const auto whole = static_cast<std::uint32_t>(pages);
  if (whole == 0) {
    throw Error("xrt",
                "no page of " + std::to_string(static_cast<std::uint64_t>(page_bytes)) +
                    " bytes fits in the memory for KV: give the card more (kv_bytes, --kv-memory)");
  }
  return whole;
}

std::vector<PooledUnit> allocate_pools(const xrt::device& device, const KernelLayout& layout,
                                       const std::vector<ComputeUnitHandle>& handles,
                                       const std::vector<UnitShare>& shares,
                                       std::uint32_t num_pages) {
  std::vector<PooledUnit> units;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    PooledUnit unit;
    unit.kernel = handles[i].kernel;
    unit.share = shares[i];
    const std::uint32_t pages = std::max(1u, own_pages(shares[i], num_pages * layout.page_parts));
    const std::size_t bytes = layout.pool_bytes(pages, shares[i].head_count);
    unit.pool_words = static_cast<std::uint32_t>(bytes / attention_decode::kWordBytes);
    const auto only = xrt::bo::flags::device_only;
    unit.keys = xrt::bo(device, bytes, only, unit.kernel.group_id(kKeyPool));
    unit.values = xrt::bo(device, bytes, only, unit.kernel.group_id(kValuePool));
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace tandem::device::xrt_card
