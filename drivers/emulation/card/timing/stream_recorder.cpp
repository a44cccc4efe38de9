// SPDX-License-Identifier: Apache-2.0
//
// Kernels find tandem_time_stream() in the card's program, before the empty one of their own
// object.
#include "emulation/card/timing/stream_recorder.h"

namespace tandem::emulation {
namespace {

thread_local StreamRecorder* recorder_here = nullptr;

}  // namespace

StreamRecorder* StreamRecorder::current() { return recorder_here; }

void StreamRecorder::begin(timing::StreamEvents* events, const timing::KernelModel& model) {
  events_ = events;
  model_ = &model;
  streams_.clear();
  saw_links_ = false;
  recorder_here = this;
}

void StreamRecorder::end() {
  events_ = nullptr;
  recorder_here = nullptr;
}

StreamRecorder::Known& StreamRecorder::known(const tandem_hls::Channel& channel) {
  Known& stream = streams_[&channel];
  // Its first value is written again: the object was made anew at this address. A reader alone may
  // have waited before the first value of the same object.
  const bool is_new =
      channel.written.load() == 0 && channel.read.load() == 0 &&
      (stream.next_written > 1 || (stream.next_written > 0 && stream.next_read > 0));
  if (stream.stream >= 0 && !is_new) return stream;
  timing::ReplayedStream told;
  told.name = channel.name;
  told.file = channel.file;
  told.line = channel.line;
  const std::size_t depth = channel.trial != 0 ? channel.stated_depth : channel.depth;
  told.is_stated = depth != 0;
  if (depth != 0) told.depth = static_cast<double>(depth);
  stream = {events_->add_stream(told), channel.written.load(), channel.read.load()};
  return stream;
}

void StreamRecorder::note(const tandem_hls::Channel& channel, int point) {
  if (events_ == nullptr) return;
  if (channel.unit[0] != nullptr || channel.unit[1] != nullptr) {
    saw_links_ = true;
    return;
  }
  const bool writes = model_->points[static_cast<std::size_t>(point)].writes;
  Known& stream = known(channel);
  const std::uint64_t value = writes ? channel.written.load() : channel.read.load();
  std::uint64_t& next = writes ? stream.next_written : stream.next_read;
  if (value < next) return;  // a poll that is repeated
  next = value + 1;
  events_->access(stream.stream, point);
}

void StreamRecorder::started(std::uint64_t process, const std::string& name,
                             const std::vector<std::uint64_t>& behind) {
  if (events_ != nullptr) events_->started(process, name, behind);
}

void StreamRecorder::switched(std::uint64_t from, std::uint64_t to) {
  if (events_ != nullptr) events_->switched(from, to);
}

void StreamRecorder::ended(std::uint64_t process) {
  if (events_ != nullptr) events_->ended(process);
}

void StreamRecorder::joined() {
  if (events_ != nullptr) events_->joined();
}

}  // namespace tandem::emulation

// A null channel: the processes that are started next are of a region of the function `number`.
extern "C" __attribute__((visibility("default"))) void tandem_time_stream(
    const tandem_hls::Channel* channel, std::uint64_t number) {
  using tandem::emulation::StreamRecorder;
  StreamRecorder* const recorder = StreamRecorder::current();
  if (recorder == nullptr) return;
  if (channel == nullptr) {
    recorder->region(static_cast<int>(number));
  } else {
    recorder->note(*channel, static_cast<int>(number));
  }
}
