// SPDX-License-Identifier: Apache-2.0
//
// AxiMemory: device memory at an AXI4 master port of a verilated kernel: bursts, narrow and
// unaligned transfers, byte strobes; answers in order.
//
// A read burst is answered after kReadLatency cycles, a write burst after kWriteLatency; then one
// beat moves per cycle and direction. An address outside of device memory is answered with DECERR.
// What breaks the protocol is reported, and the burst goes on as its address channel says. Not
// modelled: exclusive access, the bandwidth of a bank. Source: AMBA AXI protocol specification
// (ARM IHI 0022), A3.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "pins.h"

namespace tandem_rtl {

struct MemoryPins {
  Pin awvalid, awready, awaddr, awid, awlen, awsize, awburst;
  Pin wvalid, wready, wdata, wstrb, wlast;
  Pin bvalid, bready, bresp, bid;
  Pin arvalid, arready, araddr, arid, arlen, arsize, arburst;
  Pin rvalid, rready, rdata, rlast, rid, rresp;
};

class AxiMemory {
 public:
  AxiMemory(const char* name, const MemoryPins& pins) : rules_(name), pins_(pins) {
    const Pin& data = pins.rdata.exists() ? pins.rdata : pins.wdata;
    data_bytes_ = data.bits / 8;
  }

  // Begins a run. `memory`: where device address 0 is mapped.
  void connect(unsigned char* memory) {
    rules_.begin_run();
    memory_ = memory;
    memory_bytes_ = tandem_rtl_memory_bytes ? tandem_rtl_memory_bytes() : ~std::uint64_t{0};
  }
  bool rests() const { return reads_.empty() && writes_.empty() && answers_.empty(); }

  // Sets the inputs of the model for this cycle.
  void drive(std::uint64_t cycle) {
    pins_.arready.set(reads_.size() < kOutstanding && !stalls_.now());
    pins_.awready.set(writes_.size() < kOutstanding && !stalls_.now());
    pins_.wready.set(!writes_.empty() && !stalls_.now());
    if (!shows_read_) present_read(cycle);
    pins_.rvalid.set(shows_read_);
    const bool answers = !answers_.empty() && cycle >= answers_.front().ready_at;
    shows_answer_ = shows_answer_ || (answers && !stalls_.now());
    pins_.bvalid.set(shows_answer_);
    if (!shows_answer_) return;
    pins_.bid.set(answers_.front().id);
    pins_.bresp.set(answers_.front().good ? kOkay : kDecodeError);
  }

  // Takes what both sides agreed on at the clock's edge. Returns whether anything moved.
  bool sample(std::uint64_t cycle) {
    look_at_channels();
    bool moved = false;
    if (pins_.wvalid.get() && pins_.wready.get()) {
      take_beat(cycle);
      moved = true;
    }
    if (pins_.arvalid.get() && pins_.arready.get()) {
      reads_.push_back(burst_of(read_channel_, cycle + kReadLatency));
      if (reads_.back().good) note_read(reads_.back());
      moved = true;
    }
    if (pins_.awvalid.get() && pins_.awready.get()) {
      writes_.push_back(burst_of(write_channel_, 0));
      moved = true;
    }
    if (shows_read_ && pins_.rready.get()) {
      shows_read_ = false;
      if (++reads_.front().beat > reads_.front().len) reads_.pop_front();
      moved = true;
    }
    if (shows_answer_ && pins_.bready.get()) {
      shows_answer_ = false;
      answers_.pop_front();
      moved = true;
    }
    return moved;
  }

 private:
  static constexpr std::size_t kOutstanding = 32;
  // 214 ns at 300 MHz, the round trip of the time model.
  static constexpr std::uint64_t kReadLatency = 64, kWriteLatency = 32;
  static constexpr std::uint64_t kOkay = 0, kDecodeError = 3;
  static constexpr std::uint64_t kFixed = 0, kIncrement = 1, kWrap = 2;
  static constexpr std::uint64_t kPage = 4096;

  struct Burst {
    std::uint64_t address = 0, len = 0, bytes = 0, kind = kIncrement, id = 0;
    std::uint64_t ready_at = 0;
    std::uint64_t beat = 0;
    bool good = false;  // all of it is in device memory

    std::uint64_t size() const { return (len + 1) * bytes; }
    std::uint64_t aligned() const { return address / bytes * bytes; }
    std::uint64_t low() const { return kind == kWrap ? address / size() * size() : address; }
    std::uint64_t end() const {
      if (kind == kFixed) return aligned() + bytes;
      return kind == kWrap ? low() + size() : aligned() + size();
    }
    std::uint64_t beat_address() const {
      if (beat == 0 || kind == kFixed) return address;
      const std::uint64_t at = aligned() + beat * bytes;
      return kind == kWrap && at >= end() ? at - size() : at;
    }
  };
  struct AddressChannel {
    const char* name;
    Pin address, len, size, kind, id;
  };
  struct Answer {
    std::uint64_t id, ready_at;
    bool good;
  };

  static std::string text(std::uint64_t number) { return std::to_string(number); }
  static std::string hexadecimal(std::uint64_t number) {
    char digits[24];
    std::snprintf(digits, sizeof(digits), "0x%llx", static_cast<unsigned long long>(number));
    return digits;
  }

  void look_at_channels() {
    held_[0].look(rules_, "AW", pins_.awvalid.get(), pins_.awready.get(),
                  pins_.awaddr.get() ^ pins_.awlen.get() << 56);
    held_[1].look(rules_, "W", pins_.wvalid.get(), pins_.wready.get(), pins_.wdata.get());
    held_[2].look(rules_, "AR", pins_.arvalid.get(), pins_.arready.get(),
                  pins_.araddr.get() ^ pins_.arlen.get() << 56);
  }

  Burst burst_of(const AddressChannel& pins, std::uint64_t ready_at) {
    const std::string channel = pins.name;
    Burst burst;
    burst.address = pins.address.get();
    burst.len = pins.len.get();
    burst.bytes = pins.size.exists() ? std::uint64_t{1} << pins.size.get() : data_bytes_;
    burst.kind = pins.kind.exists() ? pins.kind.get() : kIncrement;
    burst.id = pins.id.get();
    burst.ready_at = ready_at;
    check_shape(channel, burst);
    burst.good = burst.end() <= memory_bytes_ && burst.low() < burst.end();
    if (!burst.good) note_access(burst.low(), burst.end() - burst.low(), channel == "AW");
    return burst;
  }

  void check_shape(const std::string& channel, Burst& burst) {
    if (burst.bytes > data_bytes_) {
      rules_.broken(channel + "SIZE", channel + "SIZE asks for beats of " + text(burst.bytes) +
                                          " bytes on a port of " + text(data_bytes_) +
                                          " bytes: set it to the logarithm of the port's bytes");
      burst.bytes = data_bytes_;
    }
    if (burst.kind > kWrap) {
      rules_.broken(channel + "BURST", channel + "BURST is 3, which is reserved: use 1 (INCR)");
      burst.kind = kIncrement;
    }
    const std::uint64_t beats = burst.len + 1;
    if (burst.kind == kFixed && beats > 16) {
      rules_.broken(channel + "FIXED",
                    "a FIXED burst has " + text(beats) + " beats; 16 are the most");
    }
    const bool wraps = beats == 2 || beats == 4 || beats == 8 || beats == 16;
    if (burst.kind == kWrap && (!wraps || burst.address % burst.bytes != 0)) {
      rules_.broken(channel + "WRAP", "a WRAP burst of " + text(beats) + " beats begins at " +
                                          hexadecimal(burst.address) +
                                          "; it has 2, 4, 8 or 16 beats and an aligned address");
      burst.kind = kIncrement;
    }
    if (burst.kind == kIncrement && burst.address / kPage != (burst.end() - 1) / kPage) {
      rules_.broken(channel + "4K", "a burst of " + text(beats) + " beats of " + text(burst.bytes) +
                                        " bytes from device address " + hexadecimal(burst.address) +
                                        " crosses a boundary of 4 KB: end it there and begin "
                                        "another one");
    }
  }

  void note_access(std::uint64_t address, std::uint64_t size_bytes, bool writes) {
    if (tandem_rtl_access) tandem_rtl_access(rules_.port(), address, size_bytes, writes ? 1 : 0);
  }
  void note_read(const Burst& burst) { note_access(burst.low(), burst.end() - burst.low(), false); }

  void present_read(std::uint64_t cycle) {
    if (reads_.empty() || cycle < reads_.front().ready_at || stalls_.now()) return;
    const Burst& burst = reads_.front();
    std::vector<unsigned char>& lanes = lanes_;
    lanes.assign(data_bytes_, 0);
    const std::uint64_t at = burst.beat_address();
    const std::uint64_t end = at / burst.bytes * burst.bytes + burst.bytes;
    if (burst.good) std::memcpy(&lanes[at % data_bytes_], memory_ + at, end - at);
    pins_.rdata.copy_from(lanes.data(), data_bytes_);
    pins_.rlast.set(burst.beat == burst.len);
    pins_.rid.set(burst.id);
    pins_.rresp.set(burst.good ? kOkay : kDecodeError);
    shows_read_ = true;
  }

  void take_beat(std::uint64_t cycle) {
    Burst& burst = writes_.front();
    const bool is_last = burst.beat == burst.len;
    if (pins_.wlast.exists() && (pins_.wlast.get() != 0) != is_last) {
      rules_.broken(
          is_last ? "WLAST missing" : "WLAST early",
          std::string(is_last ? "WLAST is missing at beat " : "WLAST is early, at beat ") +
              text(burst.beat + 1) + " of a burst whose AWLEN asks for " + text(burst.len + 1) +
              ": set it at the last beat alone");
    }
    write_lanes(burst);
    if (!is_last) {
      ++burst.beat;
      return;
    }
    end_run();
    answers_.push_back({burst.id, cycle + kWriteLatency, burst.good});
    writes_.pop_front();
  }

  void write_lanes(const Burst& burst) {
    const std::uint64_t at = burst.beat_address();
    const std::uint64_t bus = at / data_bytes_ * data_bytes_;
    const std::uint64_t end = at / burst.bytes * burst.bytes + burst.bytes;
    lanes_.resize(data_bytes_);
    pins_.wdata.copy_to(lanes_.data(), data_bytes_);
    for (std::uint64_t lane = 0; lane < data_bytes_; ++lane) {
      if (pins_.wstrb.exists() && !pins_.wstrb.bit(static_cast<std::uint32_t>(lane))) continue;
      if (bus + lane < at || bus + lane >= end) {
        if (!pins_.wstrb.exists()) continue;
        rules_.broken("WSTRB", "WSTRB has lane " + text(lane) +
                                   " set, which is outside of the beat of " + text(burst.bytes) +
                                   " bytes at device address " + hexadecimal(at) +
                                   ": set only the strobes of the beat's bytes");
        continue;
      }
      if (burst.good) store(bus + lane, lanes_[lane]);
    }
  }

  // The bytes of a burst that are neighbours are one access for the checks.
  void store(std::uint64_t address, unsigned char value) {
    if (address != run_end_) {
      end_run();
      run_begin_ = address;
    }
    run_end_ = address + 1;
    memory_[address] = value;
  }
  void end_run() {
    if (run_end_ != run_begin_) note_access(run_begin_, run_end_ - run_begin_, true);
    run_begin_ = run_end_ = 0;
  }

  PortRules rules_;
  const MemoryPins pins_;
  std::uint64_t data_bytes_ = 0;
  unsigned char* memory_ = nullptr;
  std::uint64_t memory_bytes_ = 0;
  const AddressChannel read_channel_{"AR",         pins_.araddr,  pins_.arlen,
                                     pins_.arsize, pins_.arburst, pins_.arid};
  const AddressChannel write_channel_{"AW",         pins_.awaddr,  pins_.awlen,
                                      pins_.awsize, pins_.awburst, pins_.awid};
  std::deque<Burst> reads_, writes_;
  std::deque<Answer> answers_;
  bool shows_read_ = false, shows_answer_ = false;
  std::uint64_t run_begin_ = 0, run_end_ = 0;
  std::vector<unsigned char> lanes_;
  HeldValid held_[3];
  Stalls stalls_;
};

}  // namespace tandem_rtl
