// SPDX-License-Identifier: Apache-2.0
//
// LoadedProgram: the bitstream that a card has loaded, with one thread per compute unit. A card has
// one bitstream at a time, for all clients.
//
// Errors: std::runtime_error with the reason; the previous bitstream stays loaded. Threads: the
// card's main thread.
#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include <mutex>
#include <nlohmann/json.hpp>

#include "emulation/card/memory/card_areas.h"
#include "emulation/card/program/link_table.h"
#include "emulation/card/program/load_request.h"
#include "emulation/card/program/stalled_links.h"
#include "emulation/card/units/unit_thread.h"

namespace tandem::emulation {

class LoadedProgram {
 public:
  explicit LoadedProgram(CardAreas& areas) : areas_(areas) {}

  ~LoadedProgram() { end_units(); }
  // Loads the bitstream `uuid` in place of the previous one. `lines`: see load_request.h. `elf`:
  // descriptor of its shared object, owned by the caller. Units that wait for streams are stopped.
  // While a unit computes, this waits and calls `meanwhile`; it fails when the wait takes too long.
  void load(const std::string& uuid, std::istream& lines, int elf,
            const std::function<void()>& meanwhile);
  const std::string& uuid() const { return uuid_; }  // empty: none is loaded
  // Ends kernels that compute for the dead `client`. Call it again until there are none. Each ended
  // unit is replaced by a new one; if that fails, the process ends. Throws nothing.
  void end_commands_of(const ClientArea& client);
  // The same for commands that take longer than the card's deadline.
  void end_late_commands();
  // left_links() of the bitstream. Threads: the server's.
  void report_left_values();
  // Where the processes of a unit wait for streams; empty: it does not wait. Threads: the server's.
  std::string waits_of(size_t unit);
  // stalled_links() behind a unit. Threads: the server's.
  std::string stalled_behind(uint32_t unit) const;
  // The members "units" and "streams" of an answer to a watcher. Threads: any.
  void describe(nlohmann::ordered_json& answer);

 private:
  KernelCopy wanted_copy() const;
  void prepare_shadow(const LoadRequest& request) const;
  std::vector<UnitRest> rests() const;  // by unit
  void wait_until_idle(const std::function<void()>& meanwhile) const;
  void replace(size_t index);
  void end_units();
  void start_units(const LoadRequest& request,
                   std::vector<std::unique_ptr<KernelLibrary>> libraries);

  CardAreas& areas_;
  std::string uuid_;
  hls_runtime::UnitGroup group_;
  std::vector<UnitIdentity> identities_;  // of units_; changes only while no kernel runs there
  std::vector<std::unique_ptr<UnitThread>> units_;
  size_t num_replaced_ = 0;           // since the process started
  std::unique_ptr<LinkTable> links_;  // between the units, made by their libraries
  std::mutex watch_mutex_;  // for is_complete_, and for units_ and links_ while it is true
  bool is_complete_ = false;
};

}  // namespace tandem::emulation
