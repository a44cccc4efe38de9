// SPDX-License-Identifier: Apache-2.0
//
// AxiControl: reads and writes the registers of a verilated kernel through its AXI4-Lite port, one
// at a time.
//
// Source: AMBA AXI protocol specification (ARM IHI 0022), B1.
#pragma once

#include "pins.h"

namespace tandem_rtl {

struct ControlPins {
  Pin awvalid, awready, awaddr, wvalid, wready, wdata, wstrb, bvalid, bready;
  Pin arvalid, arready, araddr, rvalid, rready, rdata;
};

class AxiControl {
 public:
  AxiControl(const char* name, const ControlPins& pins) : rules_(name), pins_(pins) {}

  void begin_run() { rules_.begin_run(); }
  void begin_write(std::uint32_t offset, std::uint32_t value) {
    offset_ = offset;
    value_ = value;
    sends_address_ = sends_data_ = awaits_write_ = true;
    waited_ = 0;
  }
  void begin_read(std::uint32_t offset) {
    offset_ = offset;
    asks_ = awaits_read_ = true;
    waited_ = 0;
  }
  bool busy() const { return awaits_write_ || awaits_read_; }
  std::uint32_t value() const { return value_; }  // that was read

  void drive() {
    pins_.awvalid.set(sends_address_);
    pins_.awaddr.set(offset_);
    pins_.wvalid.set(sends_data_);
    pins_.wdata.set(value_);
    pins_.wstrb.set(0xf);
    pins_.bready.set(awaits_write_);
    pins_.arvalid.set(asks_);
    pins_.araddr.set(offset_);
    pins_.rready.set(awaits_read_);
  }

  void sample() {
    if (!busy()) return;
    if (sends_address_ && pins_.awready.get()) sends_address_ = false;
    if (sends_data_ && pins_.wready.get()) sends_data_ = false;
    if (awaits_write_ && pins_.bvalid.get()) sends_address_ = sends_data_ = awaits_write_ = false;
    if (asks_ && pins_.arready.get()) asks_ = false;
    if (awaits_read_ && pins_.rvalid.get()) {
      value_ = static_cast<std::uint32_t>(pins_.rdata.get());
      asks_ = awaits_read_ = false;
    }
    if (++waited_ == kPatience) {
      rules_.broken("answer", "a " + std::string(awaits_write_ ? "write to" : "read of") +
                                  " register " + std::to_string(offset_) + " has no answer after " +
                                  std::to_string(kPatience) +
                                  " cycles: check the port's READY and "
                                  "VALID signals");
    }
  }

 private:
  static constexpr std::uint32_t kPatience = 10000;

  PortRules rules_;
  const ControlPins pins_;
  std::uint32_t offset_ = 0, value_ = 0, waited_ = 0;
  bool sends_address_ = false, sends_data_ = false, awaits_write_ = false;
  bool asks_ = false, awaits_read_ = false;
};

}  // namespace tandem_rtl
