// SPDX-License-Identifier: Apache-2.0
//
// Ports are the members that Verilator's macros VL_IN and VL_OUT declare.
#include "bitstreams/compiler/rtl/rtl_interface.h"

#include <algorithm>
#include <regex>
#include <set>

#include "common/lower_case.h"

namespace tandem::rtl {
namespace {

constexpr const char* kReserved = "__SYM__";  // before a name that is a word of C++

const std::set<std::string>& axi_suffixes() {
  static const std::set<std::string> kSuffixes = {
      "awvalid", "awready", "awaddr",  "awid",     "awlen",    "awsize", "awburst", "awlock",
      "awcache", "awprot",  "awqos",   "awregion", "awuser",   "wvalid", "wready",  "wdata",
      "wstrb",   "wlast",   "wid",     "wuser",    "bvalid",   "bready", "bresp",   "bid",
      "buser",   "arvalid", "arready", "araddr",   "arid",     "arlen",  "arsize",  "arburst",
      "arlock",  "arcache", "arprot",  "arqos",    "arregion", "aruser", "rvalid",  "rready",
      "rdata",   "rlast",   "rid",     "rresp",    "ruser"};
  return kSuffixes;
}

const std::set<std::string>& stream_suffixes() {
  static const std::set<std::string> kSuffixes = {"tvalid", "tready", "tdata", "tkeep", "tstrb",
                                                  "tlast",  "tuser",  "tid",   "tdest"};
  return kSuffixes;
}

// The place of the last '_'; the suffix follows it.
size_t suffix_place(const std::string& name) { return name.rfind('_'); }

std::string suffix_of(const std::string& name) {
  const size_t place = suffix_place(name);
  return place == std::string::npos ? "" : lower_case(name.substr(place + 1));
}

Interface& group_of(std::vector<Interface>& groups, const std::string& prefix) {
  const auto known = std::find_if(groups.begin(), groups.end(), [&](const Interface& group) {
    return lower_case(group.name) == lower_case(prefix);
  });
  if (known != groups.end()) return *known;
  groups.push_back({prefix, {}, false});
  return groups.back();
}

void add_single(const Signal& signal, Interfaces& found) {
  const std::string name = lower_case(signal.name);
  if (!signal.is_input) return;
  if (name == "ap_clk" || name.starts_with("ap_clk_") || name == "aclk" || name == "clk") {
    found.clocks.push_back(signal);
  } else if (name.starts_with("ap_rst_n") || name == "areset_n" || name == "aresetn" ||
             name == "rst_n") {
    found.low_resets.push_back(signal);
  } else {
    found.other_inputs.push_back(signal);
  }
}

}  // namespace

std::vector<Signal> read_model_header(std::string_view header) {
  static const std::regex kPort(R"(VL_(IN|OUT|INOUT)(?:8|16|64|W)?\(&(\w+),(\d+),(\d+)[,)])");
  const std::string text(header);
  std::vector<Signal> signals;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), kPort);
       at != std::sregex_iterator(); ++at) {
    Signal signal;
    signal.member = (*at)[2];
    signal.name = signal.member.starts_with(kReserved)
                      ? signal.member.substr(std::string_view(kReserved).size())
                      : signal.member;
    signal.is_input = (*at)[1] == "IN";
    signal.bits = static_cast<uint32_t>(std::stoul((*at)[3]) - std::stoul((*at)[4]) + 1);
    signals.push_back(std::move(signal));
  }
  return signals;
}

Interfaces find_interfaces(const std::vector<Signal>& signals) {
  Interfaces found;
  std::vector<Interface> memory_mapped;
  for (const Signal& signal : signals) {
    const std::string suffix = suffix_of(signal.name);
    const std::string prefix = signal.name.substr(0, suffix_place(signal.name));
    if (axi_suffixes().contains(suffix)) {
      group_of(memory_mapped, prefix).signals[suffix] = signal;
    } else if (stream_suffixes().contains(suffix)) {
      Interface& stream = group_of(found.streams, prefix);
      stream.signals[suffix] = signal;
      if (suffix == "tvalid") stream.writes = !signal.is_input;
    } else {
      add_single(signal, found);
    }
  }
  for (Interface& each : memory_mapped) {
    const std::string address = each.has("awaddr") ? "awaddr" : "araddr";
    const bool is_control = each.has(address) && each.signals.at(address).is_input;
    (is_control ? found.controls : found.memories).push_back(std::move(each));
  }
  return found;
}

}  // namespace tandem::rtl
