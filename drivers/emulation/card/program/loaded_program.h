// SPDX-License-Identifier: Apache-2.0
//
// The bitstream a card has loaded: a thread per compute unit. One at a time, for all clients.
//
// Errors: std::runtime_error saying what is wrong; the bitstream before stays. Threads: the card's
// main thread.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "emulation/card/memory/card_areas.h"
#include "emulation/card/program/link_table.h"
#include "emulation/card/program/load_request.h"
#include "emulation/card/units/unit_thread.h"

namespace tandem::emulation {

class LoadedProgram {
 public:
  explicit LoadedProgram(CardAreas& areas) : areas_(areas) {}

  ~LoadedProgram() { end_units(); }
  // Replaces what is loaded by the bitstream `uuid`. `lines`: as load_request.h says. `elf`:
  // descriptor of its shared object, which stays the caller's. Units that wait for streams are
  // stopped; while one computes, this waits a while, calls `meanwhile`, and in the end fails.
  void load(const std::string& uuid, std::istream& lines, int elf,
            const std::function<void()>& meanwhile);
  const std::string& uuid() const { return uuid_; }  // empty: none is loaded
  // Ends kernels that compute for `client`, which is gone; to be called again until none does.
  // Other units take the place of theirs; where none can, the process ends. Throws nothing.
  void end_commands_of(const ClientArea& client);

 private:
  void wait_until_idle(const std::function<void()>& meanwhile) const;
  void replace(size_t index);
  void end_units();
  void start_units(const LoadRequest& request,
                   std::vector<std::unique_ptr<KernelLibrary>> libraries);

  CardAreas& areas_;
  std::string uuid_;
  hls_runtime::UnitGroup group_;
  std::vector<std::unique_ptr<UnitThread>> units_;
  size_t num_replaced_ = 0;           // in the process' life
  std::unique_ptr<LinkTable> links_;  // between the units, made by their libraries
};

}  // namespace tandem::emulation
