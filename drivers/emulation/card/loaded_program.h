// SPDX-License-Identifier: Apache-2.0
//
// The bitstream a card has loaded: a thread per compute unit. One at a time, for all clients.
//
// Errors: std::runtime_error saying what is wrong; the bitstream before stays. Threads: the card's
// main thread.
#pragma once

#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "emulation/card/card_areas.h"
#include "emulation/card/unit_thread.h"

namespace tandem::emulation {

class LoadedProgram {
 public:
  explicit LoadedProgram(CardAreas& areas) : areas_(areas) {}

  // Replaces what is loaded by the bitstream `uuid`. `lines`: "<kernel>:<unit>" for every compute
  // unit, in XRT's order. `elf`: descriptor of its shared object, which stays the caller's.
  void load(const std::string& uuid, std::istream& lines, int elf);
  const std::string& uuid() const { return uuid_; }  // empty: none is loaded

 private:
  void wait_until_idle() const;
  void replace_units(std::vector<std::unique_ptr<KernelLibrary>> libraries);

  CardAreas& areas_;
  std::string uuid_;
  std::vector<std::unique_ptr<UnitThread>> units_;
};

}  // namespace tandem::emulation
