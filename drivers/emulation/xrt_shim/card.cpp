// SPDX-License-Identifier: Apache-2.0
//
// Starting, loading and failing of a card; command submission and waiting are in card_commands.cpp.
#include "emulation/xrt_shim/card.h"

#include <ert.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>

#include "emulation/protocol/packet_state.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/settings.h"

namespace tandem::emulation {
namespace {

// Generous: a loaded machine is slow, but a card that never answers must not hold its application.
constexpr std::chrono::seconds kStartTimeout{10};
constexpr std::chrono::seconds kLoadTimeout{30};

std::atomic<uint64_t> next_identity{1};

// XRT numbers units by interrupt id, or by address when no unit has one; units without registers
// come last.
void sort_units(std::vector<xclbin::ComputeUnit>& units) {
  const bool numbered =
      std::any_of(units.begin(), units.end(),
                  [](const xclbin::ComputeUnit& unit) { return unit.interrupt_id != 0; });
  std::stable_sort(units.begin(), units.end(),
                   [&](const xclbin::ComputeUnit& a, const xclbin::ComputeUnit& b) {
                     const bool a_free = a.base == ~uint64_t{0};
                     const bool b_free = b.base == ~uint64_t{0};
                     if (a_free != b_free) return b_free;
                     return numbered ? a.interrupt_id < b.interrupt_id : a.base < b.base;
                   });
}

int elf_descriptor(std::span<const std::byte> elf) {
  const int descriptor = memfd_create("tandem-bitstream", MFD_CLOEXEC);
  size_t written = 0;
  while (descriptor >= 0 && written < elf.size()) {
    const ssize_t count = write(descriptor, elf.data() + written, elf.size() - written);
    if (count <= 0) {
      close(descriptor);
      return -1;
    }
    written += static_cast<size_t>(count);
  }
  return descriptor;
}

}  // namespace

std::shared_ptr<Card> Card::open(uint32_t index) {
  // Never destroyed: handles may outlive static destruction.
  static auto& mutex = *new std::mutex;
  static auto& cards = *new std::map<uint32_t, std::weak_ptr<Card>>;
  std::lock_guard lock(mutex);
  std::shared_ptr<Card> card = cards[index].lock();
  if (card == nullptr) {
    card = std::make_shared<Card>(index, xclbin::find_platform(settings().platforms.at(index)));
    cards[index] = card;
  }
  return card;
}

Card::Card(uint32_t index, const xclbin::Platform& platform)
    : index_(index),
      platform_(platform),
      state_(SharedArea::create("tandem-state", sizeof(SharedState))),
      packets_(SharedArea::create("tandem-packets", kPacketAreaBytes)),
      device_(SharedArea::create("tandem-device", platform.memory_end())),
      memory_(0, platform.memory_end()),
      packet_memory_(0, kPacketAreaBytes),
      identity_(next_identity.fetch_add(1)) {
  new (state_.data()) SharedState;
  process_ = std::make_unique<CardProcess>(settings().card_executable, [this] { on_death(); });
  const std::string problem = process_->call(
      "start " + std::to_string(device_.size_bytes()),
      {state_.descriptor(), packets_.descriptor(), device_.descriptor()}, kStartTimeout);
  if (!problem.empty()) {
    throw std::runtime_error("the emulated card " + std::to_string(index) +
                             " does not start: " + problem);
  }
}

Card::~Card() {
  const std::string& file = settings().statistics_file;
  if (!file.empty() && process_ != nullptr && process_->owned_here()) append_statistics(file);
}

void Card::release_memory(uint64_t address, uint64_t size_bytes) {
  if (!process_->owned_here()) return;
  device_.discard(address, round_up_to_granule(size_bytes));
  memory_.release(address, size_bytes);
}

std::pair<uint64_t, uint64_t> Card::group_range(uint32_t group) const {
  const auto current = program();
  if (current != nullptr && !current->groups.empty()) {
    if (group >= current->groups.size()) return {0, 0};
    const xclbin::Memory& memory = current->groups[group];
    const uint64_t end = std::min(memory.base + memory.size_bytes, platform_.memory_end());
    return {std::min(memory.base, end), end};
  }
  if (group >= platform_.banks.size()) return {0, 0};
  const xclbin::Bank& bank = platform_.banks[group];
  return {bank.base, bank.base + bank.size_bytes};
}

std::shared_ptr<const Program> Card::program() const {
  std::lock_guard lock(program_mutex_);
  return program_;
}

std::string Card::load(const xclbin::XclbinFile& file) {
  std::lock_guard one_at_a_time(load_mutex_);
  const auto present = program();
  if (present != nullptr && present->uuid == file.uuid() && !failed()) return "";
  if (present != nullptr && contexts_.any()) {
    return "another bitstream is in use on this card; close its kernels first";
  }
  auto program = std::make_shared<Program>();
  program->uuid = file.uuid();
  program->units = file.compute_units();
  program->groups = file.groups();
  sort_units(program->units);
  std::string request = "load\n";
  for (const xclbin::ComputeUnit& unit : program->units)
    request += unit.kernel + ":" + unit.name + "\n";
  const int elf = elf_descriptor(file.emulation_elf());
  if (elf < 0) return "cannot hand the bitstream to the card";
  const std::string problem = process_->call(request, {elf}, kLoadTimeout);
  close(elf);
  if (problem.empty()) {
    std::lock_guard lock(program_mutex_);
    program_ = program;
  }
  return problem;
}

// What happened to the card's process, for people.
std::string Card::describe_death() const {
  const Fault& fault = shared().fault;
  const int signal = fault.signal.load();
  if (signal == 0) return "the card's process has ended";
  const auto current = program();
  const auto unit = static_cast<size_t>(fault.unit.load());
  const bool known = current != nullptr && unit < current->units.size();
  std::string text =
      known ? "kernel " + current->units[unit].kernel + " on unit " + current->units[unit].name
            : "the card's process";
  text += std::string(" crashed: ") + strsignal(signal);
  if (fault.is_memory_access.load() == 0) return text;
  if (fault.is_null.load() != 0) return text + " (null pointer)";
  const uint64_t address = fault.device_address.load();
  char number[32];
  std::snprintf(number, sizeof(number), "0x%llx", static_cast<unsigned long long>(address));
  // Just past the end is a device address; anything else is no address of this card.
  const bool near_end = address < 2 * device_.size_bytes();
  return text +
         (near_end ? std::string(" at device address ") + number : " outside the card's memory");
}

void Card::on_death() {
  SharedState& state = shared();
  state.state.store(CardState::kFailed);
  for (uint32_t unit = 0; unit < kMaxUnits; ++unit) {
    std::lock_guard lock(ring_mutexes_[unit]);
    fail_unit(state.units[unit]);
  }
  announce();
  report_error("card " + std::to_string(index_) + " (emulated): " + describe_death() +
               "; its commands fail until the device is closed and opened again");
}

void Card::fail_unit(UnitChannel& channel) {
  const uint32_t submitted = channel.submitted.load();
  for (uint32_t next = channel.finished.load(); next != submitted; ++next) {
    RingEntry& entry = channel.ring[next % kRingEntries];
    const EntryState before = entry.state.exchange(EntryState::kCancelled);
    const bool finished_before = before == EntryState::kDone || before == EntryState::kCancelled;
    uint32_t* header = packet_header(entry.packet_offset);
    if (!finished_before || (*header & 0xF) < ERT_CMD_STATE_COMPLETED) {
      set_packet_state(header, ERT_CMD_STATE_ERROR);
    }
  }
  channel.finished.store(submitted);
}

uint32_t* Card::packet_header(uint64_t packet_offset) const {
  return reinterpret_cast<uint32_t*>(packets_.data() + packet_offset);
}

}  // namespace tandem::emulation
