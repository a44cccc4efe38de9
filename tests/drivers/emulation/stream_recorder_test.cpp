// SPDX-License-Identifier: Apache-2.0
//
// Which stream an access belongs to.
#include "emulation/card/timing/stream_recorder.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace tandem::emulation {
namespace {

constexpr int kWrite = 0, kRead = 1;  // points of the kernel

class RecordedStreams : public testing::Test {
 protected:
  RecordedStreams()
      : events_(two_points(), counters_, [] { return std::vector<timing::WorkCost>{}; }) {
    recorder_.begin(&events_, two_points());
    recorder_.region(0);
    recorder_.started(kReader, "reader", {});
    recorder_.started(kWriter, "writer", {});
    running_ = 1;
  }
  ~RecordedStreams() override { recorder_.end(); }

  static const timing::KernelModel& two_points() {
    static const timing::KernelModel model = [] {
      timing::KernelModel two;
      two.functions.resize(1);
      two.num_counters = 1;
      two.points = {{0, -1, true, 0, 0, "s"}, {0, -1, false, 0, 0, "s"}};
      return two;
    }();
    return model;
  }

  void wait_to_read(const tandem_hls::Channel& channel) {
    let_run(kReader);
    recorder_.note(channel, kRead);
  }
  void read(tandem_hls::Channel& channel) {
    wait_to_read(channel);
    ++channel.read;
  }
  void write(tandem_hls::Channel& channel) {
    let_run(kWriter);
    recorder_.note(channel, kWrite);
    ++channel.written;
  }
  std::vector<double> values() {
    for (const std::uint64_t process : {kReader, kWriter}) {
      let_run(process);
      recorder_.ended(process);
    }
    let_run(1);
    recorder_.joined();
    std::vector<double> values;
    const timing::StreamTimes times = events_.finish().bounded;
    for (const timing::ReplayedStream& stream : times.streams) {
      EXPECT_FALSE(stream.stuck);
      values.push_back(stream.values);
    }
    return values;
  }

 private:
  static constexpr std::uint64_t kReader = 2, kWriter = 3;
  void let_run(std::uint64_t process) {
    if (process != running_) recorder_.switched(running_, process);
    running_ = process;
  }

  std::uint64_t counters_[1] = {};
  timing::StreamEvents events_;
  StreamRecorder recorder_;
  std::uint64_t running_ = 1;
};

TEST_F(RecordedStreams, AReaderThatWaitsBeforeTheFirstValueReadsTheSameStream) {
  tandem_hls::Channel channel("s");
  channel.depth = 4;
  wait_to_read(channel);
  write(channel);
  read(channel);
  write(channel);
  read(channel);
  EXPECT_EQ(values(), (std::vector<double>{2}));
}

TEST_F(RecordedStreams, AStreamThatIsMadeAgainAtTheSameAddressIsAnother) {
  std::optional<tandem_hls::Channel> channel;
  for (const int number : {1, 3}) {
    channel.emplace("s");
    channel->depth = 4;
    wait_to_read(*channel);
    for (int i = 0; i < number; ++i) {
      write(*channel);
      read(*channel);
    }
  }
  EXPECT_EQ(values(), (std::vector<double>{1, 3}));
}

}  // namespace
}  // namespace tandem::emulation
