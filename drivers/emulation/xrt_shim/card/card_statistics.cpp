// SPDX-License-Identifier: Apache-2.0
//
// The activity of a card while it was open, as one JSON line: bytes copied in each direction,
// launches, busy time and processor time of every unit.
//
// Times are those of the host, not of the emulated card.
#include <fstream>
#include <sstream>

#include "emulation/xrt_shim/card/card.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {

void Card::append_statistics(const std::string& file) const {
  const SharedState& state = shared();
  std::ostringstream line;
  line << "{\"card\": " << index_ << ", \"platform\": \"" << platform_.name
       << "\", \"bytes_to_device\": " << state.bytes_to_device.load()
       << ", \"bytes_from_device\": " << state.bytes_from_device.load() << ", \"units\": [";
  const auto current = program();
  const size_t num_units = current == nullptr ? 0 : current->units.size();
  for (size_t unit = 0; unit < num_units; ++unit) {
    const UnitStatistics& statistics = state.units[unit].statistics;
    line << (unit == 0 ? "" : ", ") << "{\"kernel\": \"" << current->units[unit].kernel
         << "\", \"unit\": \"" << current->units[unit].name
         << "\", \"launches\": " << statistics.launches.load()
         << ", \"busy_ns\": " << statistics.busy_ns.load()
         << ", \"processor_ns\": " << statistics.processor_ns.load() << "}";
  }
  line << "]}\n";
  std::ofstream out(file, std::ios::app);
  out << line.str() << std::flush;
  if (!out) report_warning("cannot write to TANDEM_CARD_STATISTICS '" + file + "'");
}

}  // namespace tandem::emulation
