// SPDX-License-Identifier: Apache-2.0
//
// hls::stream for software emulation: a first-in first-out channel between two stages of a kernel,
// or between two kernels. One producer and one consumer.
//
// Inside an emulated card a wait lets the other processes of the compute unit run. If no process of
// a design can continue, it ends with an error that names processes and streams. In a plain program
// the stages run one after the other, in threads, or as tasks (tandem_turns.h). There full() and
// write_nb() keep the depth; write() waits for another thread or exceeds the depth; a read()
// without a writer throws hls::stream_stuck after stream_patience_ms(). Cost: a few nanoseconds per
// value, no lock; memory grows by blocks of 4 KiB. Source: Vitis HLS user guide (UG1399), "HLS
// Stream Library". C++11.
#pragma once

// This header does not need it, but kernels expect it here, as in Vitis' own header.
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <queue>
#include <sstream>
#include <string>
#include <vector>

#include "tandem_chain.h"
#include "tandem_channel.h"
#include "tandem_turns.h"

#include "tandem_macros_begin.h"

namespace hls {

template <typename T, int Depth = 0>
class stream;

// A stream without a stated depth. A stage's parameter may have this type if any depth is right.
// stream<T, Depth> adds no members, so either type can declare a link between kernels.
template <typename T>
class stream<T, 0> {
 public:
  using value_type = T;
  // For generated code around kernels: names the class with its depth, also in derived classes.
  using tandem_stream = stream<T, 0>;
  static constexpr unsigned tandem_depth = 0;

  // Records the source lines that make, read and write a stream, for reports.
  stream(tandem_hls::File file = __builtin_FILE(), int line = __builtin_LINE())
      : stream(std::string("unnamed"), file, line) {}
  explicit stream(const char* name, tandem_hls::File file = __builtin_FILE(),
                  int line = __builtin_LINE())
      : stream(std::string(name), file, line) {}
  explicit stream(const std::string& name, tandem_hls::File file = __builtin_FILE(),
                  int line = __builtin_LINE())
      : channel_(name) {
    channel_.element_bytes = sizeof(T);
    channel_.file = file.name;
    channel_.line = line;
    tandem_hls::report_made(channel_);
  }
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;
  ~stream() {
    tandem_hls::report_destroyed(channel_);
    if (tandem_channel_left && channel_.held() != 0) tandem_channel_left(&channel_);
    values_.drop(channel_.held());
  }

  // If it finds no value, it lets the other processes run: a stage may poll its streams.
  bool empty() const {
    if (channel_.held() != 0) return false;
    tandem_hls::idle(channel_, tandem_hls::kReader);
    return channel_.held() == 0;
  }
  bool full() const {
    if (!holds_its_depth()) return false;
    tandem_hls::idle(channel_, tandem_hls::kWriter);
    return holds_its_depth();
  }
  std::size_t size() const {
    tandem_hls::idle(channel_, tandem_hls::kReader);
    return static_cast<std::size_t>(channel_.held());
  }
  std::size_t capacity() const { return channel_.depth; }  // 0: no bound
  const std::string& name() const { return channel_.name; }
  const char* get_name() const { return channel_.name.c_str(); }
  void set_name(const char* name) { channel_.name = name; }
  // Has the effect of #pragma HLS stream depth=... . Call it before the first value.
  void set_depth(unsigned depth) {
    channel_.depth = depth;
    channel_.trial = 0;
    // Inside a card the first write asks the unit, which may try another depth.
    limit_ =
        channel_.read.load(std::memory_order_relaxed) + (tandem_channel_await_space ? 0 : depth);
  }

  T read(tandem_hls::File file = __builtin_FILE(), int line = __builtin_LINE()) {
    std::uint64_t count = channel_.read.load(std::memory_order_relaxed);
    if (count == seen_) count = await_data(count, file, line);
    T value(values_.take());
    taken(count);
    return value;
  }
  void read(T& value, tandem_hls::File file = __builtin_FILE(), int line = __builtin_LINE()) {
    std::uint64_t count = channel_.read.load(std::memory_order_relaxed);
    if (count == seen_) count = await_data(count, file, line);
    value = values_.take();
    taken(count);
  }
  void write(const T& value, tandem_hls::File file = __builtin_FILE(),
             int line = __builtin_LINE()) {
    std::uint64_t count = channel_.written.load(std::memory_order_relaxed);
    if (count >= limit_) count = await_space(file, line);
    put(count, value);
  }
  // These return false and transfer nothing if the stream is empty or full.
  bool read_nb(T& value) {
    if (empty()) return false;
    read(value);
    return true;
  }
  bool write_nb(const T& value) {
    if (full()) return false;
    const std::uint64_t count = channel_.written.load(std::memory_order_relaxed);
    // A producer that never waits must let its consumer run regularly.
    if (channel_.depth == 0 && count % kTurn == kTurn - 1) {
      tandem_hls::idle(channel_, tandem_hls::kWriter);
    }
    put(count, value);
    return true;
  }
  // An operator does not tell its place, so a report names the place of the stream.
  void operator>>(T& value) { read(value, channel_.file, channel_.line); }
  void operator<<(const T& value) { write(value, channel_.file, channel_.line); }

  // For hls_streamofblocks.h and hls_np_channel.h: the channel, room for one value, a write that
  // does not wait.
  tandem_hls::Channel& tandem_channel() { return channel_; }
  void tandem_await_space() {
    if (channel_.written.load(std::memory_order_relaxed) >= limit_) {
      limit_ = tandem_hls::await_space(channel_);
    }
  }
  void tandem_put(const T& value) { put(channel_.written.load(std::memory_order_relaxed), value); }

 private:
  static constexpr std::uint64_t kTurn = 1024;

  bool holds_its_depth() const {
    return channel_.held() >= (channel_.depth != 0 ? channel_.depth : channel_.most());
  }
  // These give the values read or written so far: another process may also read or write this
  // stream while this one waits.
  std::uint64_t await_data(std::uint64_t count, tandem_hls::File file, int line) {
    channel_.wait_file[tandem_hls::kReader] = file.name;
    channel_.wait_line[tandem_hls::kReader] = line;
    tandem_hls::note_reader(channel_);
    seen_ = channel_.written.load(std::memory_order_acquire);
    if (count == seen_) seen_ = tandem_hls::await_data(channel_);
    return channel_.read.load(std::memory_order_relaxed);
  }
  std::uint64_t await_space(tandem_hls::File file, int line) {
    channel_.wait_file[tandem_hls::kWriter] = file.name;
    channel_.wait_line[tandem_hls::kWriter] = line;
    limit_ = tandem_hls::await_space(channel_);
    return channel_.written.load(std::memory_order_relaxed);
  }
  void taken(std::uint64_t count) {
    channel_.read.store(count + 1, std::memory_order_release);
    if (channel_.attention.load(std::memory_order_relaxed) != 0) {
      tandem_channel_moved(&channel_, tandem_hls::kReader);
    }
  }
  void put(std::uint64_t count, const T& value) {
    values_.put(value);
    channel_.written.store(count + 1, std::memory_order_release);
    if (channel_.attention.load(std::memory_order_relaxed) != 0) {
      tandem_channel_moved(&channel_, tandem_hls::kWriter);
    }
  }

  tandem_hls::Channel channel_;
  std::uint64_t limit_ = 0;      // the producer may write while `written` is below
  tandem_hls::Chain<T> values_;  // the producer's part first, then the consumer's
  std::uint64_t seen_ = 0;       // `written` as the consumer last saw it
};

// A stream of stated depth.
template <typename T, int Depth>
class stream : public stream<T, 0> {
  static_assert(Depth > 0, "the depth of a stream is positive");

 public:
  static constexpr unsigned tandem_depth = Depth;

  stream(tandem_hls::File file = __builtin_FILE(), int line = __builtin_LINE())
      : stream(std::string("unnamed"), file, line) {}
  explicit stream(const char* name, tandem_hls::File file = __builtin_FILE(),
                  int line = __builtin_LINE())
      : stream(std::string(name), file, line) {}
  explicit stream(const std::string& name, tandem_hls::File file = __builtin_FILE(),
                  int line = __builtin_LINE())
      : stream<T, 0>(name, file, line) {
    this->set_depth(static_cast<unsigned>(Depth));
  }
};

}  // namespace hls

namespace tandem_hls {

// For generated code around kernels: the class of a stream by its values.
template <typename T>
struct StreamOf {
  using Type = hls::stream<T, 0>;
};

}  // namespace tandem_hls

#include "tandem_macros_end.h"
