// SPDX-License-Identifier: Apache-2.0
//
// The platforms that a bitstream is built for and an emulated card simulates: name, memory banks,
// clocks, link.
//
// All facts about a card's hardware are here. The figures of the built-in platforms come from
// public data sheets; a user's own come from a JSON file (platform_file.h). A bank's base is the
// device address that a kernel sees. The banks of one memory are contiguous, so a range of banks is
// one address interval; the HOST bank lies above the card's own memory. Platforms exist until the
// process ends, so references stay valid. Threads: any (one mutex in find_platform).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tandem::xclbin {

enum class BankType : uint8_t {
  kHbm,
  kDdr,
  kPlram,  // on-chip memory in the user's region
  kHost    // the host's memory, reached over PCIe
};

struct Bank {
  std::string tag;  // "HBM[3]", "DDR[0]", "MC_NOC0": as in a Vitis connectivity file
  BankType type = BankType::kHbm;
  uint64_t base = 0;
  uint64_t size_bytes = 0;
  double gb_per_s = 0;  // 1e9 bytes; 0: not known
};

struct Platform {
  std::string name;  // the board: "u55c"
  // full name, as the user wrote it; it is in xclbin headers, emconfig.json and device names
  std::string vbnv;
  std::string fpga_family = "virtexuplus";
  std::string fpga_part;
  std::vector<Bank> banks;
  uint32_t kernel_clock_mhz = 300;
  uint32_t second_clock_mhz = 500;
  uint32_t pcie_generation = 3;
  uint32_t pcie_lanes = 16;
  double memory_gb_per_s = 0;  // HBM and DDR together
  bool has_dma = true;         // false: "nodma" shells, whose host copies go through HOST memory
  uint64_t address_space_bytes = 0;  // 0: as much as the banks need; more for kUndecidedPlatform
  std::string description;  // a user's platform: its JSON text, so that it can travel with a file

  // The card's last device address plus one.
  uint64_t memory_end() const;
  // The bytes of all banks of `type`.
  uint64_t memory_bytes(BankType type) const;
  uint32_t num_banks(BankType type) const;
};

// Finds the platform that `name` denotes: a board ("u250"), the full name of any shell
// ("xilinx_u250_gen3x16_xdma_4_1_202210_1"), the path of an .xpfm file with such a name, a JSON
// file (see platform_file.h), or a name below one of the folders of search_platforms_in(). A full
// name becomes the platform's vbnv. Throws Error with the possible names.
const Platform& find_platform(const std::string& name);
// More folders to search for <folder>/<name>.json or <folder>/<name>/<name>.json: the value of
// PLATFORM_REPO_PATHS, folders separated by ':'. Null: none.
void search_platforms_in(const char* folders);
// Makes `platform` known under its vbnv; one of the same vbnv is replaced for later searches.
const Platform& add_platform(const Platform& platform);
// A name for find_platform: a card without a description. It is a u55c with address space for the
// banks of any board, so that every bitstream finds its memory.
constexpr const char* kUndecidedPlatform = "undecided";
// The names of the built-in boards.
std::vector<std::string> platform_names();
// "HBM", "DDR", "PLRAM", "HOST".
const char* bank_type_name(BankType type);

}  // namespace tandem::xclbin
