// SPDX-License-Identifier: Apache-2.0
//
// The event loop, the arrival and departure of clients, and their requests.
#include "emulation/card/clients/card_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>

#include "emulation/card/units/fault_handler.h"
#include "emulation/card/units/thread_end.h"

namespace tandem::emulation {
namespace {

constexpr std::chrono::milliseconds kFirstClientTimeout{10'000};
constexpr uint64_t kMaxMemoryBytes = uint64_t{1} << 43;
constexpr std::chrono::milliseconds kCleanupInterval{20};
constexpr std::chrono::milliseconds kFullPause{20};
// How long a kernel may run on after its client died.
constexpr std::chrono::milliseconds kKernelEndLimit{2'000};

template <typename Value>
Value read(std::istream& words) {
  Value value{};
  if (!(words >> value)) throw std::runtime_error("malformed request");
  return value;
}

std::string ok(uint64_t number) { return "ok " + std::to_string(number); }

// Output of kernels is dropped from here on: a program that waits for the end of the starter's
// output must not wait for the card.
void leave_terminal() {
  std::fflush(nullptr);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nowhere < 0) return;
  for (int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, descriptor);
  close(nowhere);
}

}  // namespace

void CardServer::add_client(int socket) {
  auto client = std::make_unique<Client>(socket);
  loop_.add(socket, [this, socket] { serve(socket); });
  try {
    if (client->process >= 0) loop_.add(client->process, [this, socket] { drop_client(socket); });
  } catch (...) {
    loop_.remove(socket);
    throw;
  }
  {
    const std::lock_guard<std::mutex> lock(applications_mutex_);
    applications_[socket] = client->id;
  }
  clients_[socket] = std::move(client);
}

void CardServer::listen_on(int socket) {
  listener_ = socket;
  loop_.add(listener_, [this] { accept_clients(); });
}

void CardServer::accept_clients() {
  int socket = -1;
  while ((socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0) {
    if (!peer_is_this_user(socket)) {
      close(socket);
      continue;
    }
    try {
      add_client(socket);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "tandem-card: a client cannot be taken: %s\n", error.what());
    }
  }
  // Without a free descriptor the client stays in the queue, and the same event would come at once.
  if (errno == EMFILE || errno == ENFILE) std::this_thread::sleep_for(kFullPause);
}

void CardServer::run() {
  while (!finished()) {
    auto timeout = had_client_ ? std::chrono::milliseconds(-1) : kFirstClientTimeout;
    const bool limited = settings_.deadline.count() != 0;
    if (!remains_.empty() || (limited && had_client_)) timeout = kCleanupInterval;
    if (!loop_.run_one(timeout) && !had_client_) return;
    release_dead_clients();
    if (limited && program_) program_->end_late_commands();
  }
}

// Closing the listener resets clients that connected meanwhile; they start another card.
bool CardServer::finished() {
  if (!clients_.empty()) return false;
  if (listener_ < 0) return true;
  if (!had_client_) return false;
  accept_clients();
  if (!clients_.empty()) return false;
  loop_.remove(listener_);
  close(listener_);
  listener_ = -1;
  return true;
}

void CardServer::serve(int socket) {
  Message request;
  if (!receive_message(socket, request)) {
    drop_client(socket);
    return;
  }
  Client& client = *clients_.at(socket);
  std::istringstream words(request.text);
  uint64_t number = 0;
  const bool numbered = client.area != nullptr;
  if (numbered && !(words >> number)) words.clear();
  if (number != 0) client.grant = {number, {}, {}};
  Answer answer;
  try {
    answer = this->answer(client, words, request);
  } catch (const std::exception& error) {
    answer.text = std::string("error ") + error.what();
  }
  close_descriptors(request.descriptors);
  if (numbered) answer.text = std::to_string(number) + " " + answer.text;
  const bool wanted = number != 0 || !numbered;
  const bool is_connected = !wanted || send_message(socket, answer.text, answer.descriptors);
  if (answer.owns_descriptors) close_descriptors(answer.descriptors);
  if (!is_connected || answer.is_last) drop_client(socket);
}

CardServer::Answer CardServer::answer(Client& client, std::istringstream& words, Message& request) {
  const auto command = read<std::string>(words);
  if (command == "open") return open(client, words);
  if (client.area == nullptr) throw std::runtime_error("the first request is 'open'");
  if (command == "load") {
    const auto uuid = read<std::string>(words);
    return load(words >> std::ws, uuid, request);
  }
  if (command == "context") return open_context(client, words);
  if (command == "end_context") return end_context(client, read<uint32_t>(words));
  if (command == "allocate") return allocate(client, words);
  if (command == "release") return release(client, read<uint64_t>(words));
  if (command == "withdraw") return withdraw(client, read<uint64_t>(words));
  if (command == "export") return export_buffer(client, words);
  if (command == "import") return import(client, request);
  if (command == "map_peer") return map_peer(client, words, request);
  if (command == "waits") return {"ok " + program_->waits_of(read<size_t>(words)), {}};
  if (command == "left_values") return report_left_values();
  if (command == "stalled") return {"ok " + program_->stalled_behind(read<uint32_t>(words)), {}};
  if (command == "leave") return leave();
  throw std::runtime_error("unknown request");
}

CardServer::Answer CardServer::open(Client& client, std::istream& words) {
  const auto version = read<uint32_t>(words);
  const auto platform = read<std::string>(words);
  const auto memory_bytes = read<uint64_t>(words);
  if (version != kProtocolVersion || client.area != nullptr) {
    throw std::runtime_error("tandem-card and the runtime's library are of different versions");
  }
  if (memory_bytes == 0 || memory_bytes > kMaxMemoryBytes) {
    throw std::runtime_error("platform '" + platform + "' has " + std::to_string(memory_bytes) +
                             " bytes of address space, more than can be emulated, or none");
  }
  if (areas_ == nullptr) start(memory_bytes, platform);
  if (platform != platform_ || memory_bytes != areas_->device.size_bytes()) {
    throw std::runtime_error("the shared card emulates platform '" + platform_ +
                             "', this application needs '" + platform +
                             "'; choose another TANDEM_CARD_SCOPE or the same platform");
  }
  auto area = std::make_shared<ClientArea>(ClientArea::create());
  const auto slot = areas_->clients.insert(area);
  if (!slot) {
    throw std::runtime_error("the card already has " + std::to_string(kMaxClients) + " clients");
  }
  client.area = std::move(area);
  client.slot = *slot;
  had_client_ = true;
  return {ok(*slot) + " " + std::to_string(DeviceSpace::first_peer_address(memory_bytes)),
          {areas_->state.descriptor(), client.area->descriptor(), areas_->device.descriptor(),
           areas_->states.descriptor()}};
}

void CardServer::start(uint64_t memory_bytes, const std::string& platform) {
  auto areas = std::make_unique<CardAreas>();
  areas->state = SharedArea::create("tandem-state", sizeof(SharedState));
  areas->device = DeviceSpace::make_memory(memory_bytes);
  new (areas->state.data()) SharedState;
  areas->states = MemoryStates::create(memory_bytes);
  if (settings_.has(kCheckMemory)) {
    const auto device = reinterpret_cast<uint64_t>(areas->device.data());
    areas->shadow =
        std::make_unique<DeviceShadow>(device, areas->device.size_bytes(), areas->states);
  }
  if (settings_.has(kCheckRace)) areas->races = std::make_unique<RaceMap>(memory_bytes);
  areas->settings = settings_;
  areas->shared().checks.store(settings_.checks);
  areas_ = std::move(areas);
  platform_ = platform;
  install_fault_handler(*areas_);
  install_thread_end();
  space_.emplace(*areas_);
  sharing_.emplace(loop_, *space_);
  program_.emplace(*areas_);
  watch_.emplace([this] { return watch_text(); });
}

CardServer::Answer CardServer::load(std::istream& lines, const std::string& uuid,
                                    const Message& request) {
  if (request.descriptors.size() != 1) throw std::runtime_error("malformed request");
  if (uuid != program_->uuid()) {
    if (const Client* user = find_context(std::nullopt, nullptr)) {
      throw std::runtime_error("another bitstream is in use on this card, by process " +
                               std::to_string(user->id) + "; close its kernels first");
    }
    program_->load(uuid, lines, request.descriptors[0], [this] { release_dead_clients(); });
  }
  return {ok(areas_->shared().generation.load()), {}};
}

// A client other than `except` with a context on `unit`, or on any unit.
const Client* CardServer::find_context(const std::optional<uint32_t>& unit,
                                       const Client* except) const {
  for (const auto& [socket, client] : clients_) {
    if (client.get() == except) continue;
    for (const Context& context : client->contexts) {
      if (!unit || context.unit == *unit) return client.get();
    }
  }
  return nullptr;
}

CardServer::Answer CardServer::open_context(Client& client, std::istream& words) {
  const auto uuid = read<std::string>(words);
  const auto unit = read<uint32_t>(words);
  const bool shared = read<uint32_t>(words) != 0;
  if (uuid != program_->uuid()) {
    throw std::runtime_error("another application loaded another bitstream; load this one again");
  }
  const Client* user = find_context(unit, &client);
  const auto excludes = [&](const Context& context) {
    return context.unit == unit && (context.exclusive || !shared);
  };
  if (user != nullptr && std::any_of(user->contexts.begin(), user->contexts.end(), excludes)) {
    throw std::runtime_error("the compute unit is in use by process " + std::to_string(user->id) +
                             ", and one of the two needs it exclusively");
  }
  client.contexts.push_back({unit, !shared});
  client.grant.context = unit;
  return {"ok", {}};
}

CardServer::Answer CardServer::end_context(Client& client, uint32_t unit) const {
  const auto found = std::find_if(client.contexts.begin(), client.contexts.end(),
                                  [&](const Context& context) { return context.unit == unit; });
  if (found == client.contexts.end()) throw std::runtime_error("no such context is open");
  client.contexts.erase(found);
  return {"ok", {}};
}

CardServer::Answer CardServer::allocate(Client& client, std::istream& words) {
  const auto size_bytes = read<uint64_t>(words);
  const auto low = read<uint64_t>(words);
  const auto high = read<uint64_t>(words);
  const auto address = space_->allocate(size_bytes, low, high);
  if (!address) return {"full " + std::to_string(space_->largest_free(low, high)), {}};
  ++client.holds[*address];
  client.grant.hold = *address;
  return {ok(*address), {}};
}

CardServer::Answer CardServer::release(Client& client, uint64_t address) {
  const auto held = client.holds.find(address);
  if (held == client.holds.end()) throw std::runtime_error("no such buffer");
  if (--held->second == 0) client.holds.erase(held);
  space_->release(address);
  return {"ok", {}};
}

// A withdrawal counts only right after its request: later, the grant is another request's.
CardServer::Answer CardServer::withdraw(Client& client, uint64_t number) {
  if (client.grant.request != number) return {"ok", {}};
  const Grant grant = std::exchange(client.grant, {});
  if (grant.hold) return release(client, *grant.hold);
  if (grant.context) return end_context(client, *grant.context);
  return {"ok", {}};
}

CardServer::Answer CardServer::export_buffer(Client& client, std::istream& words) {
  const auto address = read<uint64_t>(words);
  const auto size_bytes = read<uint64_t>(words);
  const auto group = read<uint32_t>(words);
  if (client.holds.count(address) == 0) throw std::runtime_error("no such buffer");
  return {"ok", {sharing_->export_buffer(address, size_bytes, group)}, true};
}

CardServer::Answer CardServer::import(Client& client, const Message& request) {
  if (request.descriptors.size() != 1) throw std::runtime_error("malformed request");
  const auto found = sharing_->find(request.descriptors[0]);
  if (!found) return {"foreign", {}};
  space_->hold(found->address);
  ++client.holds[found->address];
  client.grant.hold = found->address;
  return {ok(found->address) + " " + std::to_string(found->size_bytes) + " " +
              std::to_string(found->group),
          {}};
}

CardServer::Answer CardServer::map_peer(Client& client, std::istream& words, Message& request) {
  const auto offset = read<uint64_t>(words);
  const auto size_bytes = read<uint64_t>(words);
  if (request.descriptors.size() != 2) throw std::runtime_error("malformed request");
  const uint64_t address =
      space_->map_peer(request.descriptors[0], offset, size_bytes, request.descriptors[1]);
  request.descriptors.clear();
  ++client.holds[address];
  client.grant.hold = address;
  return {ok(address), {}};
}

// While other clients have the card, one of them may read the values.
CardServer::Answer CardServer::report_left_values() {
  if (clients_.size() == 1 && program_) program_->report_left_values();
  return {ok(0), {}};
}

// A client kills its own card once it has this answer.
CardServer::Answer CardServer::leave() const {
  std::fflush(nullptr);
  return {ok(clients_.size() - 1), {}, false, true};
}

void CardServer::drop_client(int socket) {
  const auto found = clients_.find(socket);
  if (found == clients_.end()) return;
  const std::unique_ptr<Client> client = std::move(found->second);
  clients_.erase(found);
  {
    const std::lock_guard<std::mutex> lock(applications_mutex_);
    applications_.erase(socket);
  }
  loop_.remove(socket);
  if (client->process >= 0) loop_.remove(client->process);
  if (client->id == starter_) leave_terminal();
  if (client->area == nullptr) return;
  areas_->clients.remove(client->slot);
  client->cancel_commands(areas_->shared());
  remains_.push_back({client->area, std::move(client->holds), std::chrono::steady_clock::now()});
}

void CardServer::end_commands_of(const Remains& remains) {
  if (std::chrono::steady_clock::now() - remains.since < kKernelEndLimit) return;
  if (const auto area = remains.area.lock()) program_->end_commands_of(*area);
}

void CardServer::release_dead_clients() {
  for (auto remains = remains_.begin(); remains != remains_.end();) {
    if (!remains->area.expired()) {
      end_commands_of(*remains);
      ++remains;
      continue;
    }
    for (const auto& [address, count] : remains->holds) {
      for (uint32_t hold = 0; hold < count; ++hold) space_->release(address);
    }
    remains = remains_.erase(remains);
  }
}

}  // namespace tandem::emulation
