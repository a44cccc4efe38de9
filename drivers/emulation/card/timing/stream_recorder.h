// SPDX-License-Identifier: Apache-2.0
//
// StreamRecorder: tells StreamEvents (bitstreams/compiler/timing) what the processes of a unit do
// with their streams.
//
// A stream is known by its channel's address; one that is made again there is a new one. Streams
// between units and accesses of tasks are not recorded. A non-blocking access that transfers
// nothing is recorded when the value's turn comes. Threads: the unit's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bitstreams/compiler/timing/stream_events.h"
#include "fpga_hls/include/tandem_channel.h"
#include "fpga_hls/runtime/process_observer.h"

namespace tandem::emulation {

class StreamRecorder : public hls_runtime::ProcessObserver {
 public:
  // Begins to record a call on this thread; both live until end().
  void begin(timing::StreamEvents* events, const timing::KernelModel& model);
  void end();
  // Whether a stream between units was used, of which the replay knows nothing.
  bool saw_links() const { return saw_links_; }

  // Before an access at a point of the kernel's model.
  void note(const tandem_hls::Channel& channel, int point);
  void region(int function) { events_->region(function); }
  static StreamRecorder* current();

  void started(std::uint64_t process, const std::string& name,
               const std::vector<std::uint64_t>& behind) override;
  void switched(std::uint64_t from, std::uint64_t to) override;
  void ended(std::uint64_t process) override;
  void joined() override;

 private:
  struct Known {
    int stream = -1;
    std::uint64_t next_written = 0, next_read = 0;  // values that were recorded
  };
  Known& known(const tandem_hls::Channel& channel);

  timing::StreamEvents* events_ = nullptr;
  const timing::KernelModel* model_ = nullptr;
  std::unordered_map<const void*, Known> streams_;
  bool saw_links_ = false;
};

}  // namespace tandem::emulation
