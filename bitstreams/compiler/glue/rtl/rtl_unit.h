// SPDX-License-Identifier: Apache-2.0
//
// Unit: runs a verilated kernel: clock and reset, registers, start and end of a run, ports.
//
// A run writes the argument registers, sets ap_start, and polls ap_done; a kernel without control
// registers runs until the unit is stopped. The clock stands while the kernel waits for a stream
// and nothing has moved for kQuiet cycles: then the card's runtime wakes it, or finds a deadlock. A
// run that was ended from outside leaves an unknown state, so the next one begins with a new model.
// Threads: the unit's. Cost: two evaluations of the model per cycle. Source: the vendor's user
// guide (UG1393), RTL kernels.
#pragma once

#include <memory>
#include <vector>

#include "../kernel_entry.h"
#include "axi_control.h"
#include "axi_memory.h"
#include "axi_stream.h"

namespace tandem_rtl {

class Model {
 public:
  virtual ~Model() = default;
  // Sets all clocks, then computes.
  virtual void eval(bool clock) = 0;
  virtual void set_reset(bool active) = 0;
};

// The register words of an argument; a stream has its index and no word.
struct ArgumentWords {
  std::uint32_t offset;
  std::uint32_t num_words;
};

enum class Protocol { kHandshake, kChain, kNone };

class Unit {
 public:
  Unit(std::unique_ptr<Model> model, Protocol protocol, std::vector<ArgumentWords> arguments)
      : model_(std::move(model)), protocol_(protocol), arguments_(std::move(arguments)) {}

  void add(std::unique_ptr<AxiMemory> port) { memories_.push_back(std::move(port)); }
  void add(std::unique_ptr<AxiControl> port) { control_ = std::move(port); }
  // `index`: of the kernel's argument.
  void add(std::size_t index, std::unique_ptr<StreamPort> port) {
    streams_.push_back({index, std::move(port)});
  }

  void reset() {
    model_->set_reset(true);
    // Ports may show anything in a reset.
    for (int cycle = 0; cycle < kResetCycles; ++cycle) {
      drive();
      model_->eval(true);
    }
    model_->set_reset(false);
    for (int cycle = 0; cycle < kResetCycles; ++cycle) step();
  }

  void call(const tandem_glue::Invocation& invocation) {
    for (auto& port : memories_) port->connect(invocation.memory);
    for (auto& [index, port] : streams_) port->connect(invocation.streams[index]);
    if (!is_reset_) reset();
    is_reset_ = true;
    if (protocol_ == Protocol::kNone || control_ == nullptr) {
      while (true) step();  // a stop leaves by an exception
    }
    control_->begin_run();
    write_arguments(invocation.registers);
    const std::vector<std::uint32_t> before = read_arguments();
    const std::uint64_t begin = cycle_ - stalled_;
    write(0, kStart);
    while ((read(0) & kDone) == 0) continue;
    if (protocol_ == Protocol::kChain) write(0, kContinue);
    const std::uint64_t cycles = cycle_ - stalled_ - begin;
    await_memory();
    put_outputs(invocation.registers, before);
    if (tandem_rtl_ran) tandem_rtl_ran(cycles);
  }

 private:
  static constexpr int kResetCycles = 32;
  static constexpr std::uint32_t kStart = 1, kDone = 2, kContinue = 16;
  static constexpr std::uint32_t kRestCycles = 1024;
  static constexpr std::uint32_t kQuiet = 65536;
  static constexpr std::uint32_t kTurn = 16;  // cycles between looks at the card's runtime

  // The inputs of a cycle, and the outputs that follow from them at once.
  void drive() {
    for (auto& port : memories_) port->drive(cycle_);
    for (auto& [index, port] : streams_) port->drive();
    if (control_) control_->drive();
    model_->eval(false);
  }

  void step() {
    drive();
    bool moved = false;
    for (auto& port : memories_) moved = port->sample(cycle_) || moved;
    for (auto& [index, port] : streams_) moved = port->sample() || moved;
    if (control_) control_->sample();
    if (!moved) await_streams();
    model_->eval(true);
    if (moved) quiet_ = 0;
    if (++cycle_ % kTurn == 0 && tandem_channel_idle) tandem_channel_idle(&own_channel_);
  }

  // Cycles in which the kernel waits for a stream, and nothing else moves, are not its own.
  void await_streams() {
    std::vector<tandem_hls::Channel*>& channels = awaited_;
    channels.clear();
    sides_.clear();
    for (auto& [index, port] : streams_) {
      tandem_hls::Channel* const channel = port->awaited();
      if (channel == nullptr) continue;
      channels.push_back(channel);
      sides_.push_back(port->side());
    }
    if (channels.empty()) return;
    ++stalled_;
    // Units that sleep until this one has moved values are woken there.
    if (tandem_channel_idle) tandem_channel_idle(&own_channel_);
    if (++quiet_ < kQuiet || !tandem_channel_await_any) return;
    quiet_ = 0;
    tandem_channel_await_any(channels.data(), sides_.data(), channels.size());
  }

  void write(std::uint32_t offset, std::uint32_t value) {
    control_->begin_write(offset, value);
    while (control_->busy()) step();
  }
  std::uint32_t read(std::uint32_t offset) {
    control_->begin_read(offset);
    while (control_->busy()) step();
    return control_->value();
  }

  void write_arguments(const unsigned char* registers) {
    for (const ArgumentWords& argument : arguments_) {
      for (std::uint32_t word = 0; word < argument.num_words; ++word) {
        std::uint32_t value;
        std::memcpy(&value, registers + argument.offset + 4 * word, 4);
        write(argument.offset + 4 * word, value);
      }
    }
  }
  std::vector<std::uint32_t> read_arguments() {
    std::vector<std::uint32_t> values;
    for (const ArgumentWords& argument : arguments_) {
      for (std::uint32_t word = 0; word < argument.num_words; ++word) {
        values.push_back(read(argument.offset + 4 * word));
      }
    }
    return values;
  }
  // Outputs are the registers that the run changed. Others keep their values in the register map,
  // since a kernel need not let them be read.
  void put_outputs(unsigned char* registers, const std::vector<std::uint32_t>& before) {
    const std::vector<std::uint32_t> after = read_arguments();
    std::size_t index = 0;
    for (const ArgumentWords& argument : arguments_) {
      for (std::uint32_t word = 0; word < argument.num_words; ++word, ++index) {
        if (after[index] == before[index]) continue;
        std::memcpy(registers + argument.offset + 4 * word, &after[index], 4);
      }
    }
  }

  // A kernel may show ap_done before the last answers.
  void await_memory() {
    for (std::uint32_t cycle = 0; cycle < kRestCycles; ++cycle) {
      bool rest = true;
      for (auto& port : memories_) rest = rest && port->rests();
      if (rest) return;
      step();
    }
  }

  std::unique_ptr<Model> model_;
  const Protocol protocol_;
  const std::vector<ArgumentWords> arguments_;
  std::vector<std::unique_ptr<AxiMemory>> memories_;
  std::unique_ptr<AxiControl> control_;
  std::vector<std::pair<std::size_t, std::unique_ptr<StreamPort>>> streams_;
  std::vector<tandem_hls::Channel*> awaited_;
  std::vector<int> sides_;
  tandem_hls::Channel own_channel_{"clock"};
  std::uint64_t cycle_ = 0, stalled_ = 0;
  std::uint32_t quiet_ = 0;
  bool is_reset_ = false;
};

// The entry's call: `make` makes the unit; `unit` keeps it between calls.
inline void call_unit(std::unique_ptr<Unit>& unit, std::unique_ptr<Unit> (*make)(),
                      const tandem_glue::Invocation& invocation) {
  std::unique_ptr<Unit> running = unit != nullptr ? std::move(unit) : make();
  running->call(invocation);
  unit = std::move(running);
}

}  // namespace tandem_rtl
