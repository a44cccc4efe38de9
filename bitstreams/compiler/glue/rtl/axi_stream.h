// SPDX-License-Identifier: Apache-2.0
//
// StreamInput, StreamOutput: a link between kernels at an AXI4-Stream port of a verilated kernel.
//
// A beat is an hls::axis (ap_axiu) if the port has one of TLAST, TKEEP, TSTRB, TUSER, TID and
// TDEST, else an ap_uint of TDATA. Side channels that the port does not have read as the protocol's
// defaults. A full link lowers TREADY, an empty one TVALID.
#pragma once

#include <ap_axi_sdata.h>
#include <hls_stream.h>

#include "pins.h"

namespace tandem_rtl {

struct StreamPins {
  Pin valid, ready, data, keep, strb, last, user, id, dest;
};

class StreamPort {
 public:
  virtual ~StreamPort() = default;
  virtual void connect(void* link) = 0;  // begins a run
  virtual void drive() = 0;
  virtual bool sample() = 0;
  // The channel that the kernel waits for in this cycle; null: none.
  virtual tandem_hls::Channel* awaited() = 0;
  virtual int side() const = 0;
};

template <int W>
void put_bits(const Pin& pin, const ap_uint<W>& value) {
  unsigned char bytes[(W + 63) / 64 * 8];
  for (int low = 0; low < W; low += 64) {
    const int high = low + 63 < W ? low + 63 : W - 1;
    const std::uint64_t part = value.range(high, low).to_uint64();
    std::memcpy(bytes + low / 8, &part, 8);
  }
  if (pin.exists()) pin.copy_from(bytes, pin.bytes < sizeof(bytes) ? pin.bytes : sizeof(bytes));
}

template <int W>
void get_bits(const Pin& pin, ap_uint<W>& value) {
  if (!pin.exists()) return;
  unsigned char bytes[(W + 63) / 64 * 8] = {};
  pin.copy_to(bytes, pin.bytes < sizeof(bytes) ? pin.bytes : sizeof(bytes));
  for (int low = 0; low < W; low += 64) {
    const int high = low + 63 < W ? low + 63 : W - 1;
    std::uint64_t part;
    std::memcpy(&part, bytes + low / 8, 8);
    value.range(high, low) = part;
  }
}
template <typename Absent>
void get_bits(const Pin&, Absent&) {}

template <int W>
void put_beat(const StreamPins& pins, const ap_uint<W>& beat) {
  put_bits(pins.data, beat);
}
template <int W, std::size_t U, std::size_t I, std::size_t D>
void put_beat(const StreamPins& pins, const hls::axis<ap_uint<W>, U, I, D>& beat) {
  put_bits(pins.data, beat.data);
  put_bits(pins.keep, ap_uint<(W + 7) / 8>(beat.keep));
  put_bits(pins.strb, ap_uint<(W + 7) / 8>(beat.strb));
  put_bits(pins.last, ap_uint<1>(beat.last));
  put_bits(pins.user, ap_uint<(U == 0 ? 1 : U)>(beat.user));
  put_bits(pins.id, ap_uint<(I == 0 ? 1 : I)>(beat.id));
  put_bits(pins.dest, ap_uint<(D == 0 ? 1 : D)>(beat.dest));
}

template <int W>
void get_beat(const StreamPins& pins, ap_uint<W>& beat) {
  get_bits(pins.data, beat);
}
template <int W, std::size_t U, std::size_t I, std::size_t D>
void get_beat(const StreamPins& pins, hls::axis<ap_uint<W>, U, I, D>& beat) {
  beat.keep = -1;
  beat.strb = -1;
  beat.last = 0;
  get_bits(pins.data, beat.data);
  get_bits(pins.keep, beat.keep);
  get_bits(pins.strb, beat.strb);
  get_bits(pins.last, beat.last);
  get_bits(pins.user, beat.user);
  get_bits(pins.id, beat.id);
  get_bits(pins.dest, beat.dest);
}

template <typename Beat>
class StreamInput final : public StreamPort {
 public:
  explicit StreamInput(const StreamPins& pins) : pins_(pins) {}

  void connect(void* link) override { link_ = static_cast<hls::stream<Beat>*>(link); }
  void drive() override {
    if (!shows_ && link_->tandem_channel().held() != 0 && !stalls_.now()) {
      link_->read(beat_);
      put_beat(pins_, beat_);
      shows_ = true;
    }
    pins_.valid.set(shows_);
  }
  bool sample() override {
    if (!shows_ || !pins_.ready.get()) return false;
    shows_ = false;
    return true;
  }
  tandem_hls::Channel* awaited() override {
    const bool waits = !shows_ && pins_.ready.get() && link_->tandem_channel().held() == 0;
    return waits ? &link_->tandem_channel() : nullptr;
  }
  int side() const override { return tandem_hls::kReader; }

 private:
  const StreamPins pins_;
  hls::stream<Beat>* link_ = nullptr;
  Beat beat_;
  bool shows_ = false;
  Stalls stalls_;
};

template <typename Beat>
class StreamOutput final : public StreamPort {
 public:
  StreamOutput(const char* name, const StreamPins& pins) : rules_(name), pins_(pins) {}

  void connect(void* link) override {
    rules_.begin_run();
    link_ = static_cast<hls::stream<Beat>*>(link);
  }
  void drive() override { pins_.ready.set(!full() && !stalls_.now()); }
  bool sample() override {
    held_.look(rules_, "T", pins_.valid.get(), pins_.ready.get(), pins_.data.get());
    if (!pins_.valid.get() || !pins_.ready.get()) return false;
    Beat beat;
    get_beat(pins_, beat);
    link_->write(beat);
    return true;
  }
  tandem_hls::Channel* awaited() override {
    return pins_.valid.get() && full() ? &link_->tandem_channel() : nullptr;
  }
  int side() const override { return tandem_hls::kWriter; }

 private:
  bool full() const {
    const tandem_hls::Channel& channel = link_->tandem_channel();
    return channel.held() >= (channel.depth != 0 ? channel.depth : channel.most());
  }

  PortRules rules_;
  const StreamPins pins_;
  hls::stream<Beat>* link_ = nullptr;
  HeldValid held_;
  Stalls stalls_;
};

}  // namespace tandem_rtl
