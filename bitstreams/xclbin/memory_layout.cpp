// SPDX-License-Identifier: Apache-2.0
//
// Visits units and arguments in order. An argument without a connection reaches bank 0.
#include "bitstreams/xclbin/memory_layout.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "bitstreams/xclbin/unit_layout.h"
#include "common/error.h"

namespace tandem::xclbin {
namespace {

mem_data make_memory(const std::string& tag, uint8_t type, uint64_t base, uint64_t size_bytes) {
  mem_data data{};
  data.m_type = type;
  data.m_size = size_bytes / 1024;
  data.m_base_address = base;
  if (tag.size() >= sizeof(data.m_tag)) {
    throw Error("xclbin", "memory tag '" + tag + "' has more than " +
                              std::to_string(sizeof(data.m_tag) - 1) + " characters");
  }
  std::memcpy(data.m_tag, tag.c_str(), tag.size() + 1);
  return data;
}

uint8_t memory_type(BankType type) {
  if (type == BankType::kHbm) return MEM_HBM;
  return type == BankType::kDdr ? MEM_DDR4 : MEM_DRAM;
}

std::string range_tag(const Bank& first, const Bank& last) {
  const std::string index = last.tag.substr(last.tag.find('[') + 1);
  return first.tag.substr(0, first.tag.size() - 1) + ":" + index;
}

class TopologyBuilder {
 public:
  explicit TopologyBuilder(const Design& design) : design_(design), units_(place_units(design)) {
    for (const Bank& bank : design.platform->banks) {
      topology_.banks.push_back(
          make_memory(bank.tag, memory_type(bank.type), bank.base, bank.size_bytes));
    }
    for (size_t index = 0; index < design.links.size(); ++index) {
      topology_.banks.push_back(
          make_memory("dc_" + std::to_string(index), MEM_STREAMING_CONNECTION, 0, 0));
      topology_.banks.back().m_size = design.links[index].depth;
      topology_.banks.back().m_used = 1;
    }
    topology_.groups = topology_.banks;
  }

  Topology run() {
    for (const BankConnection& wanted : design_.connections) check(wanted);
    for (size_t unit = 0; unit < units_.size(); ++unit) {
      const Kernel& kernel = *units_[unit].kernel;
      for (size_t index = 0; index < kernel.arguments.size(); ++index) {
        if (kernel.arguments[index].kind == 1) connect(unit, index);
      }
    }
    for (size_t index = 0; index < design_.links.size(); ++index) {
      const StreamLink& link = design_.links[index];
      const auto memory = static_cast<int32_t>(design_.platform->banks.size() + index);
      add_row(find_end(link.from_unit, link.from_argument, 4, "sc"), memory);
      add_row(find_end(link.to_unit, link.to_argument, 4, "sc"), memory);
    }
    return topology_;
  }

 private:
  struct End {
    int32_t argument;
    int32_t unit;
  };

  // The argument of that kind; throws Error when there is none. `key` of the configuration, for
  // messages.
  End find_end(const std::string& unit_name, const std::string& argument_name, uint32_t kind,
               const std::string& key) const {
    for (size_t unit = 0; unit < units_.size(); ++unit) {
      if (units_[unit].name != unit_name) continue;
      const Kernel& kernel = *units_[unit].kernel;
      for (size_t index = 0; index < kernel.arguments.size(); ++index) {
        if (kernel.arguments[index].name != argument_name) continue;
        if (kernel.arguments[index].kind == kind) {
          return {static_cast<int32_t>(index), static_cast<int32_t>(unit)};
        }
        throw Error("xclbin", key + ": " + kernel.name + "." + argument_name +
                                  (kind == 1 ? " is not global memory; only pointers can be "
                                               "connected to banks"
                                             : " is not a stream"));
      }
      throw Error("xclbin",
                  key + ": kernel " + kernel.name + " has no argument '" + argument_name + "'");
    }
    throw Error("xclbin", key + ": no compute unit is called '" + unit_name + "'");
  }

  void check(const BankConnection& wanted) const {
    find_end(wanted.unit, wanted.argument, 1, "sp");
    if (wanted.first_bank > wanted.last_bank ||
        wanted.last_bank >= design_.platform->banks.size()) {
      throw Error("xclbin", "sp: bank range of " + wanted.unit + " is not on platform " +
                                design_.platform->name);
    }
  }

  void connect(size_t unit, size_t argument) {
    const std::string& name = units_[unit].kernel->arguments[argument].name;
    bool found = false;
    for (const BankConnection& wanted : design_.connections) {
      if (wanted.unit != units_[unit].name || wanted.argument != name) continue;
      add(unit, argument, wanted.first_bank, wanted.last_bank);
      found = true;
    }
    if (!found) add(unit, argument, 0, 0);
  }

  void add(size_t unit, size_t argument, uint32_t first, uint32_t last) {
    const auto argument_id = static_cast<int32_t>(argument);
    const auto unit_id = static_cast<int32_t>(unit);
    for (uint32_t bank = first; bank <= last; ++bank) {
      topology_.banks[bank].m_used = 1;
      topology_.groups[bank].m_used = 1;
      topology_.bank_connections.push_back({argument_id, unit_id, static_cast<int32_t>(bank)});
      // A buffer in one bank of the range is accepted like a buffer of the whole range.
      if (first != last) {
        topology_.group_connections.push_back({argument_id, unit_id, static_cast<int32_t>(bank)});
      }
    }
    topology_.group_connections.push_back({argument_id, unit_id, group_of(first, last)});
  }

  void add_row(const End& end, int32_t memory) {
    topology_.bank_connections.push_back({end.argument, end.unit, memory});
    topology_.group_connections.push_back({end.argument, end.unit, memory});
  }

  int32_t group_of(uint32_t first, uint32_t last) {
    if (first == last) return static_cast<int32_t>(first);
    const auto known = ranges_.find({first, last});
    if (known != ranges_.end()) return known->second;
    const Bank& begin = design_.platform->banks[first];
    const Bank& end = design_.platform->banks[last];
    topology_.groups.push_back(make_memory(range_tag(begin, end), MEM_DRAM, begin.base,
                                           end.base + end.size_bytes - begin.base));
    topology_.groups.back().m_used = 1;
    const auto index = static_cast<int32_t>(topology_.groups.size() - 1);
    ranges_[{first, last}] = index;
    return index;
  }

  const Design& design_;
  std::vector<PlacedUnit> units_;
  Topology topology_;
  std::map<std::pair<uint32_t, uint32_t>, int32_t> ranges_;
};

}  // namespace

Topology make_topology(const Design& design) { return TopologyBuilder(design).run(); }

}  // namespace tandem::xclbin
