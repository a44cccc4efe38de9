// SPDX-License-Identifier: Apache-2.0
//
// Start, load and failure of a card. Submission and waits are in card_commands.cpp, its memory in
// card_memory.cpp.
#include "emulation/xrt_shim/card/card.h"

#include <ert.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>

#include "emulation/xrt_shim/card/load_lines.h"
#include "emulation/xrt_shim/card/unfinished_commands.h"
#include "emulation/xrt_shim/card/unit_order.h"
#include "emulation/xrt_shim/checks/host_findings.h"
#include "emulation/xrt_shim/faults/card_faults.h"
#include "emulation/xrt_shim/report.h"
#include "emulation/xrt_shim/settings.h"

namespace tandem::emulation {
namespace {

// Long, since a loaded machine is slow.
constexpr std::chrono::seconds kLoadTimeout{30};

constexpr size_t kMaxScopeLength = 48;  // a socket's name is short

std::atomic<uint64_t> next_identity{1};

// Findings of closed cards with strict checks.
std::atomic<uint64_t> closed_findings{0};

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

std::string text_of(const std::array<uint8_t, 16>& uuid) {
  std::string text;
  for (uint8_t byte : uuid) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    text += digits;
  }
  return text;
}

std::string one_word(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isspace(c); }, '_');
  return name;
}

std::string shared_name(const std::string& scope, uint32_t index) {
  const auto allowed = [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.';
  };
  if (scope.size() > kMaxScopeLength || !std::all_of(scope.begin(), scope.end(), allowed)) {
    throw std::runtime_error("TANDEM_CARD_SCOPE is '" + scope + "'; use at most " +
                             std::to_string(kMaxScopeLength) +
                             " letters, digits, '_', '-' and '.'");
  }
  return "tandem-card/" + std::to_string(getuid()) + "/" + scope + "/" + std::to_string(index);
}

// In software emulation XRT puts every buffer into the first bank.
void describe_arguments(const xclbin::XclbinFile& file, Program& program) {
  program.arguments = kernel_arguments(file);
  if (settings().software_emulation) return;
  for (uint32_t unit = 0; unit < program.units.size(); ++unit) {
    const auto known = program.arguments.find(program.units[unit].kernel);
    if (known == program.arguments.end()) continue;
    for (size_t argument = 0; argument < known->second.size(); ++argument) {
      program.reached[{unit, argument}] = reached_memory(file, program.units[unit], argument);
    }
  }
}

}  // namespace

Card::OpenCards& Card::open_cards() {
  // Never destroyed: handles may outlive static destruction.
  static auto& cards = *new OpenCards;
  return cards;
}

// The caller releases them after the lock.
std::vector<std::shared_ptr<Card>> Card::all_open() {
  std::vector<std::shared_ptr<Card>> cards;
  std::lock_guard lock(open_cards().mutex);
  for (const auto& [index, entry] : open_cards().by_index) {
    if (auto card = entry.lock()) cards.push_back(std::move(card));
  }
  return cards;
}

uint64_t Card::strict_findings() {
  uint64_t count = closed_findings.load();
  for (const std::shared_ptr<Card>& card : all_open()) {
    if (card->has(kCheckStrict)) count += card->shared().findings.load();
  }
  return count;
}

std::optional<uint32_t> Card::index_of_memory(int descriptor) {
  struct stat wanted {
  }, known{};
  if (fstat(descriptor, &wanted) != 0) return std::nullopt;
  for (const std::shared_ptr<Card>& card : all_open()) {
    const bool is_it = fstat(card->device_.descriptor(), &known) == 0 &&
                       known.st_dev == wanted.st_dev && known.st_ino == wanted.st_ino;
    if (is_it) return card->index();
  }
  return std::nullopt;
}

bool Card::any_context() {
  const std::vector<std::shared_ptr<Card>> cards = all_open();
  return std::any_of(cards.begin(), cards.end(), [](const std::shared_ptr<Card>& card) {
    return card->owned_here() && !card->contexts_.empty();
  });
}

std::shared_ptr<Card> Card::open(uint32_t index) {
  at_open(index);
  std::shared_ptr<Card> card;  // before the lock: the last user of a card destroys it
  std::lock_guard lock(open_cards().mutex);
  auto& known = open_cards().by_index[index];
  card = known.lock();
  // A thread may still use a card without a handle, so a lost card is never opened again. A child
  // that was forked while the card was open gets a separate card.
  if (card == nullptr || card->num_handles_ == 0 || !card->owned_here()) {
    const xclbin::Platform& platform = xclbin::find_platform(settings().platforms.at(index));
    const auto made = std::make_shared<Card>(index, platform);
    known = made;
    made->num_handles_ = 1;
    at_opened(*made);
    return made;
  }
  ++card->num_handles_;
  return card;
}

void Card::handle_closed() {
  std::lock_guard lock(open_cards().mutex);
  --num_handles_;
}

Card::Card(uint32_t index, const xclbin::Platform& platform)
    : index_(index),
      platform_(platform),
      is_own_(settings().scope.empty()),
      packet_memory_(0, kPacketAreaBytes),
      identity_(next_identity.fetch_add(1)) {
  try {
    process_ = std::make_unique<CardProcess>([this] { return connect(); }, [this] { on_death(); });
    memory_.emplace(*process_, device_, shared(), is_own_);
    checks_ = shared().checks.load();
    if (has(kCheckMemory)) buffer_checks_.emplace(*this, states_);
    watch_exit(*this);
  } catch (const std::exception& error) {
    throw std::runtime_error("card " + std::to_string(index) + " (emulated): " + error.what());
  }
}

// The card's memory is mapped before the watcher can report the card's end.
CardConnection Card::connect() {
  const Settings& settings = emulation::settings();
  const std::string opening = "open " + std::to_string(kProtocolVersion) + " " +
                              one_word(platform_.name) + " " +
                              std::to_string(platform_.memory_end());
  CardConnection connection = is_own_
                                  ? start_private_card(settings.card_executable, opening)
                                  : join_shared_card(settings.card_executable,
                                                     shared_name(settings.scope, index_), opening);
  try {
    adopt(connection.opened);
  } catch (...) {
    end_card(connection);
    throw;
  }
  return connection;
}

void Card::adopt(const Message& opened) {
  const std::vector<int>& areas = opened.descriptors;
  state_ = SharedArea::adopt(areas[kStateArea], sizeof(SharedState));
  client_ = ClientArea::adopt(areas[kClientArea]);
  device_ = SharedArea::adopt(areas[kDeviceArea], platform_.memory_end());
  states_ = MemoryStates::adopt(areas[kStatesArea], platform_.memory_end());
  std::istringstream words(opened.text.substr(2));
  words >> slot_;
}

Card::~Card() {
  const std::string& file = settings().statistics_file;
  if (process_ == nullptr || !process_->owned_here()) return;
  if (buffer_checks_) buffer_checks_->ending();  // asks the card
  if (has(kCheckStrict)) closed_findings.fetch_add(shared().findings.load());
  const CardAnswer left = process_->leave();
  // The last client to leave writes the card's line; of a failed card each client writes one.
  if (!file.empty() && (!left.ok() || left.number(0) == 0)) append_statistics(file);
}

uint32_t Card::connected_group(uint32_t group) const {
  const auto current = program();
  if (current == nullptr) return group;
  const auto& groups = current->groups;
  if (group < groups.size() && groups[group].used) return group;
  const auto first = std::find_if(groups.begin(), groups.end(),
                                  [](const xclbin::Memory& memory) { return memory.used; });
  return first == groups.end() ? group : static_cast<uint32_t>(first - groups.begin());
}

Card::Group Card::find_group(uint32_t group) const {
  const auto current = program();
  if (current != nullptr && !current->groups.empty()) {
    if (group >= current->groups.size()) return {};
    const xclbin::Memory& memory = current->groups[group];
    const uint64_t end = std::min(memory.base + memory.size_bytes, platform_.memory_end());
    return {memory.tag, std::min(memory.base, end), end};
  }
  if (group >= platform_.banks.size()) return {};
  const xclbin::Bank& bank = platform_.banks[group];
  return {bank.tag, bank.base, bank.base + bank.size_bytes};
}

std::string Card::open_context(const void* handle, uint32_t unit, bool shared) {
  const auto current = program();
  if (current == nullptr) return "no bitstream is loaded";
  if (!contexts_.open(handle, unit, shared)) {
    return "compute unit " + current->units[unit].kernel + ":" + current->units[unit].name +
           (shared ? " is held exclusively by another device handle"
                   : " cannot be held exclusively: another device handle uses it");
  }
  const std::string request =
      "context " + text_of(current->uuid) + " " + std::to_string(unit) + (shared ? " 1" : " 0");
  // A private card has no other client to ask.
  const std::string problem = !is_own_                  ? call(request).problem
                              : process_->post(request) ? ""
                                                        : "the emulated card's process has ended";
  if (!problem.empty()) contexts_.close(handle, unit);
  return problem;
}

bool Card::close_context(const void* handle, uint32_t unit) {
  if (!contexts_.close(handle, unit)) return false;
  process_->post("end_context " + std::to_string(unit));
  return true;
}

void Card::close_contexts(const void* handle) {
  for (uint32_t unit : contexts_.forget(handle)) {
    process_->post("end_context " + std::to_string(unit));
  }
}

std::shared_ptr<const Program> Card::program() const {
  std::lock_guard lock(program_mutex_);
  return program_;
}

std::string Card::load(const xclbin::XclbinFile& file) {
  std::lock_guard one_at_a_time(load_mutex_);
  const auto present = program();
  if (present != nullptr && present->uuid == file.uuid() && !failed() &&
      present->generation == shared().generation.load()) {
    return "";
  }
  auto program = std::make_shared<Program>();
  program->uuid = file.uuid();
  program->platform = file.platform_vbnv();
  program->units = file.compute_units();
  program->groups = file.groups();
  sort_units(program->units);
  if (buffer_checks_) describe_arguments(file, *program);
  const std::string request =
      "load " + text_of(file.uuid()) + "\n" + load_lines(file, program->units);
  const int elf = elf_descriptor(file.emulation_elf());
  if (elf < 0) return "cannot hand the bitstream to the card";
  const CardAnswer answer = process_->call(request, {elf}, kLoadTimeout);
  close(elf);
  if (answer.is_missing) process_->end();  // initialisers of a kernel library may never return
  if (answer.ok()) {
    program->generation = static_cast<uint32_t>(answer.number(0));
    generation_.store(program->generation);
    std::lock_guard lock(program_mutex_);
    program_ = program;
  }
  return answer.problem;
}

// The cause of the card's end, as text.
std::string Card::describe_death() const {
  const Fault& fault = shared().fault;
  const int signal = fault.signal.load();
  if (was_reset_.load()) return "it was reset, by the script of faults";
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
  // Up to twice the memory's size it is a device address; beyond, no address of this card.
  const bool near_end = address < 2 * device_.size_bytes();
  return text +
         (near_end ? std::string(" at device address ") + number : " outside the card's memory");
}

void Card::on_death() {
  // Reported first: an application may end as soon as its commands have failed.
  report_error("card " + std::to_string(index_) + " (emulated): " + describe_death() +
               "; its commands fail until the device is closed and opened again");
  failed_.store(true);
  for (uint32_t unit = 0; unit < kMaxUnits; ++unit) {
    std::lock_guard lock(ring_mutexes_[unit]);
    fail_commands(client_.state().rings[unit], client_,
                  was_reset_.load() ? ERT_CMD_STATE_ABORT : ERT_CMD_STATE_ERROR);
  }
  client_.announce();
}

}  // namespace tandem::emulation
