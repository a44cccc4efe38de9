// SPDX-License-Identifier: Apache-2.0
//
// Performs all steps that can fail before it ends the units of the previous bitstream.
#include "emulation/card/program/loaded_program.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace tandem::emulation {
namespace {

// A unit reports a command's end before it is idle. On a loaded machine the time between may be
// long.
constexpr std::chrono::milliseconds kIdleTimeout{5'000};

// A replaced unit keeps its stack (256 MiB of address space, and the pages its kernel touched), a
// library and a descriptor until the process ends.
constexpr size_t kMaxReplaced = 64;

// A card's memories by the names that platforms give them.
timing::TimedCard timed_card(const LoadRequest& request) {
  timing::TimedCard card;
  for (const MemoryRequest& memory : request.memories) {
    card.banks.push_back(timing::timed_bank(memory.tag, memory.base, memory.size_bytes));
  }
  return card;
}

// Ends the process, so that applications see a failed card instead of one that hangs. Allocates
// nothing, because lack of memory may be the reason.
[[noreturn]] void end_card(const char* reason, const char* detail = "") {
  std::fprintf(stderr, "tandem-card: %s%s\n", reason, detail);
  _exit(1);
}

}  // namespace

void LoadedProgram::load(const std::string& uuid, std::istream& lines, int elf,
                         const std::function<void()>& meanwhile) {
  wait_until_idle(meanwhile);
  const LoadRequest request = read_load_request(lines);
  std::vector<std::unique_ptr<KernelLibrary>> libraries;
  for (const UnitRequest& unit : request.units) {
    libraries.push_back(std::make_unique<KernelLibrary>(elf, unit.kernel, wanted_copy()));
  }
  auto links = std::make_unique<LinkTable>(request, libraries);
  end_units();
  if (areas_.races != nullptr) areas_.races->forget_all();
  if (areas_.shadow != nullptr) prepare_shadow(request);
  links_ = std::move(links);
  start_units(request, std::move(libraries));
  uuid_ = uuid;
  areas_.shared().generation.fetch_add(1);
}

// The first buffers lie at the begins of the memories.
void LoadedProgram::prepare_shadow(const LoadRequest& request) const {
  constexpr uint64_t kFirstBytes = 32 << 10;
  areas_.shadow->open();
  for (const MemoryRequest& memory : request.memories) {
    areas_.shadow->map_pages(memory.base, std::min(kFirstBytes, memory.size_bytes));
  }
}

KernelCopy LoadedProgram::wanted_copy() const {
  if (areas_.settings.timed) return KernelCopy::kCounting;
  return areas_.settings.has(kCheckMemory) ? KernelCopy::kChecked : KernelCopy::kPlain;
}

void LoadedProgram::wait_until_idle(const std::function<void()>& meanwhile) const {
  const auto busy = [](const auto& unit) { return unit->busy(); };
  const auto deadline = std::chrono::steady_clock::now() + kIdleTimeout;
  while (std::any_of(units_.begin(), units_.end(), busy)) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("a compute unit is still running");
    }
    meanwhile();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void LoadedProgram::end_commands_of(const ClientArea& client) {
  for (size_t index = 0; index < units_.size(); ++index) {
    units_[index]->ask_to_end(client);
    if (units_[index]->ended()) replace(index);
  }
}

std::string LoadedProgram::waits_of(size_t unit) {
  std::string text;
  if (unit >= units_.size()) return text;
  for (const std::string& wait : group_.waits_of(units_[unit]->scheduler())) {
    text += (text.empty() ? "" : "; ") + wait;
  }
  return text;
}

std::vector<UnitRest> LoadedProgram::rests() const {
  std::vector<UnitRest> rests;
  for (size_t index = 0; index < units_.size(); ++index) {
    UnitThread& unit = *units_[index];
    rests.push_back({!unit.busy() && !unit.scheduler().active(), unit.plan().free_running,
                     unit.is_content(), unit.num_calls()});
  }
  return rests;
}

void LoadedProgram::report_left_values() {
  if (links_ == nullptr) return;
  for (const LinkTable::Level& level : left_links(links_->levels(), rests())) {
    units_[level.writer]->report_left({level.name, {}, level.held}, level.depth,
                                      units_[level.reader]->plan().name);
  }
}

std::string LoadedProgram::stalled_behind(uint32_t unit) const {
  return links_ == nullptr ? "" : stalled_links(links_->levels(), rests(), unit);
}

void LoadedProgram::end_late_commands() {
  for (size_t index = 0; index < units_.size(); ++index) {
    units_[index]->ask_to_end_if_late();
    if (units_[index]->ended()) replace(index);
  }
}

void LoadedProgram::replace(size_t index) {
  std::unique_ptr<UnitThread>& unit = units_[index];
  if (++num_replaced_ > kMaxReplaced) {
    char text[128];
    std::snprintf(
        text, sizeof(text),
        "%zu kernels had to be ended, whose memory is not given back; open the card again",
        kMaxReplaced);
    end_card(text);
  }
  try {
    auto successor =
        std::make_unique<UnitThread>(areas_, static_cast<uint32_t>(index), unit->plan_again());
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    unit->abandon();
    static_cast<void>(unit.release());  // leaked: its thread may hold parts of it
    unit = std::move(successor);
    identities_[index] = unit->identity();
    unit->launch();
  } catch (const std::exception& error) {
    end_card("no unit can take the place of one that was ended: ", error.what());
  }
}

// All threads end before anything is destroyed that another unit's thread may use.
void LoadedProgram::end_units() {
  {
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    is_complete_ = false;
  }
  for (const auto& unit : units_) unit->stop();
  for (const auto& unit : units_) unit->join();
  links_.reset();
  units_.clear();
}

// A ring has one consumer, so the old threads have ended before this.
void LoadedProgram::start_units(const LoadRequest& request,
                                std::vector<std::unique_ptr<KernelLibrary>> libraries) {
  try {
    const auto card = std::make_shared<const timing::TimedCard>(timed_card(request));
    std::vector<void*> schedulers;
    for (size_t index = 0; index < libraries.size(); ++index) {
      const UnitRequest& unit = request.units[index];
      units_.push_back(std::make_unique<UnitThread>(
          areas_, static_cast<uint32_t>(index),
          UnitPlan{unit.name, unit.free_running, std::move(libraries[index]),
                   links_->streams(index), &group_, unit.arguments, &identities_, unit.ports,
                   card}));
      schedulers.push_back(&units_.back()->scheduler());
    }
    links_->bind(schedulers);
    identities_.clear();
    for (const auto& unit : units_) identities_.push_back(unit->identity());
    for (const auto& unit : units_) unit->launch();
    const std::lock_guard<std::mutex> lock(watch_mutex_);
    is_complete_ = true;
  } catch (const std::exception& error) {
    end_card(error.what());  // neither bitstream is complete
  }
}

}  // namespace tandem::emulation
