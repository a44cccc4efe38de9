// SPDX-License-Identifier: Apache-2.0
//
// Finds the interfaces of a verilated model by the names of its ports: AXI4 masters, AXI4-Lite
// control, AXI4 streams, clocks and resets.
//
// A port PREFIX_AWADDR (any case) that is an output belongs to a master, as an input to the control
// interface; PREFIX_TVALID belongs to a stream. Source: the public class that Verilator writes.
// Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::rtl {

struct Signal {
  std::string name;    // in the source
  std::string member;  // of the model's class
  uint32_t bits = 1;
  bool is_input = false;
};

struct Interface {
  std::string name;  // the prefix of its ports
  // The signals by their lower-case suffix: "awaddr", "tvalid", ...
  std::map<std::string, Signal> signals;
  bool writes = false;  // of a stream: the kernel writes it

  bool has(const std::string& suffix) const { return signals.contains(suffix); }
};

struct Interfaces {
  std::vector<Interface> memories;
  std::vector<Interface> controls;
  std::vector<Interface> streams;
  std::vector<Signal> clocks;      // ap_clk, ap_clk_2, aclk
  std::vector<Signal> low_resets;  // ap_rst_n and others
  std::vector<Signal> other_inputs;
};

// `header`: the class's text. Verilator encodes names that C++ does not take.
std::vector<Signal> read_model_header(std::string_view header);
Interfaces find_interfaces(const std::vector<Signal>& signals);

}  // namespace tandem::rtl
