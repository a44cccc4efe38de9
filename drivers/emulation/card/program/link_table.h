// SPDX-License-Identifier: Apache-2.0
//
// LinkTable: the stream links of a loaded bitstream. Each link has one stream object, made by the
// library of the writing unit and given to both units.
//
// Errors: std::runtime_error with unit, kernel and argument if the ends of a link do not match, or
// if a stream argument has no link. Threads: the card's main thread. Links are made before the
// units' threads start, and destroyed after they end, while the libraries are loaded.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emulation/card/program/kernel_library.h"
#include "emulation/card/program/load_request.h"
#include "fpga_hls/include/tandem_channel.h"

namespace tandem::emulation {

class LinkTable {
 public:
  LinkTable(const LoadRequest& request,
            const std::vector<std::unique_ptr<KernelLibrary>>& libraries);
  LinkTable(const LinkTable&) = delete;
  LinkTable& operator=(const LinkTable&) = delete;

  // The links of a unit: [arguments of its kernel]; null for arguments that are not streams.
  void* const* streams(size_t unit) const { return streams_[unit].data(); }
  // Tells each stream which units are at its ends. `schedulers`: [units].
  void bind(const std::vector<void*>& schedulers);

  // A link as it is now. Threads: any, while the table exists.
  struct Level {
    std::string name;
    uint32_t writer = 0, reader = 0;  // units
    uint64_t held = 0;                // values
    uint64_t depth = 0;               // 0: none is stated
    uint64_t taken = 0;               // by the reader, ever
  };
  // Without those whose streams wait in their own way.
  std::vector<Level> levels() const;

 private:
  struct Link {
    std::unique_ptr<void, void (*)(void*)> stream;
    tandem_hls::Channel* channel;  // null: the stream waits in its own way
    LinkEnd ends[2];               // by tandem_hls::Side
  };

  std::vector<Link> links_;
  std::vector<std::vector<void*>> streams_;  // [units][arguments]
};

}  // namespace tandem::emulation
