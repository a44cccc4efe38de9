// SPDX-License-Identifier: Apache-2.0
//
// Pin: a port signal of a verilated model, and what the emulated card offers to such models.
//
// The functions of the card are weak, so that v++ can load a kernel without a card. Source: the
// types CData to VlWide of Verilator's verilated_types.h, all little endian. C++14.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

extern "C" {
#define TANDEM_RTL_CARD_FUNCTION __attribute__((weak, visibility("default")))
// The size of device memory in bytes.
TANDEM_RTL_CARD_FUNCTION std::uint64_t tandem_rtl_memory_bytes();
// Checks an access of `port` at a device address, before it happens.
TANDEM_RTL_CARD_FUNCTION void tandem_rtl_access(const char* port, std::uint64_t address,
                                                std::uint64_t size_bytes, int writes);
// Reports that `port` breaks a rule of its protocol.
TANDEM_RTL_CARD_FUNCTION void tandem_rtl_protocol(const char* port, const char* rule,
                                                  const char* what);
// Ends the run with an error, which is reported as a finding of kind "rtl_stop" with this place.
// Leaves by an exception.
TANDEM_RTL_CARD_FUNCTION void tandem_rtl_stopped(const char* file, int line, const char* what);
// The clock cycles of a run, from its start to its end.
TANDEM_RTL_CARD_FUNCTION void tandem_rtl_ran(std::uint64_t cycles);
// A seed for stalls of the ports; 0: none.
TANDEM_RTL_CARD_FUNCTION std::uint64_t tandem_rtl_stalls();
}

namespace tandem_rtl {

// A signal that the model does not have reads as 0 and ignores writes.
struct Pin {
  void* at = nullptr;
  std::uint32_t bytes = 0;  // of the C++ variable
  std::uint32_t bits = 0;

  bool exists() const { return at != nullptr; }
  std::uint64_t get() const {
    std::uint64_t value = 0;
    if (at != nullptr) std::memcpy(&value, at, bytes < 8 ? bytes : 8);
    return value;
  }
  void set(std::uint64_t value) const {
    if (at == nullptr) return;
    if (bits < 64) value &= (std::uint64_t{1} << bits) - 1;
    std::memset(at, 0, bytes);
    std::memcpy(at, &value, bytes < 8 ? bytes : 8);
  }
  // Whole bytes, from the least significant one on.
  void copy_to(unsigned char* to, std::size_t count) const { std::memcpy(to, at, count); }
  void copy_from(const unsigned char* from, std::size_t count) const {
    std::memset(at, 0, bytes);
    std::memcpy(at, from, count);
  }
  bool bit(std::uint32_t index) const {
    return at != nullptr &&
           (static_cast<const unsigned char*>(at)[index / 8] >> index % 8 & 1) != 0;
  }
};

// Decides when a port of the environment is not ready: never, or, with a seed of the card's, in
// half of the cycles at random. Each port has an order of its own.
class Stalls {
 public:
  Stalls() {
    static std::uint64_t count = 0;
    const std::uint64_t seed = tandem_rtl_stalls ? tandem_rtl_stalls() : 0;
    if (seed != 0) state_ = (seed * 1000003 + ++count) * 2 + 1;
  }
  bool now() {
    if (state_ == 0) return false;
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return (state_ >> 40 & 1) != 0;
  }

 private:
  std::uint64_t state_ = 0;
};

// Reports a mistake of a port once per run and rule.
class PortRules {
 public:
  explicit PortRules(std::string port) : port_(std::move(port)) {}
  const char* port() const { return port_.c_str(); }
  void begin_run() { told_.clear(); }
  void broken(const std::string& rule, const std::string& what) {
    if (told_.find("|" + rule + "|") != std::string::npos) return;
    told_ += "|" + rule + "|";
    if (tandem_rtl_protocol) {
      tandem_rtl_protocol(port(), rule.c_str(), what.c_str());
    } else {
      std::fprintf(stderr, "port %s: %s\n", port(), what.c_str());
    }
  }

 private:
  std::string port_;
  std::string told_;
};

// AXI: once valid, a channel stays valid and keeps its payload until it is taken.
class HeldValid {
 public:
  // Call it once per cycle, with the signals at the clock's edge.
  void look(PortRules& rules, const char* channel, bool valid, bool ready, std::uint64_t payload) {
    if (waits_ && !valid) {
      rules.broken(std::string(channel) + "VALID",
                   std::string(channel) + "VALID falls before " + channel +
                       "READY has taken the transfer: keep it high until then");
    } else if (waits_ && payload != payload_) {
      rules.broken(std::string(channel) + "payload",
                   std::string(channel) + "VALID is high and " + channel +
                       "READY low, but the transfer changes: keep all its signals until it is "
                       "taken");
    }
    waits_ = valid && !ready;
    payload_ = payload;
  }

 private:
  bool waits_ = false;
  std::uint64_t payload_ = 0;
};

}  // namespace tandem_rtl
