// SPDX-License-Identifier: Apache-2.0
//
// A card as a server: it accepts clients, answers their requests (control_channel.h), and cleans up
// after clients that have ended.
//
// Launches do not pass through here: they use the clients' rings. The memory of a dead client stays
// allocated until its running command has ended, so no kernel writes into memory that another
// client has got. A kernel that does not end is stopped. Threads: the card's main thread.
#pragma once

#include <chrono>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "emulation/card/clients/buffer_sharing.h"
#include "emulation/card/clients/client.h"
#include "emulation/card/clients/event_loop.h"
#include "emulation/card/memory/card_areas.h"
#include "emulation/card/memory/device_space.h"
#include "emulation/card/program/loaded_program.h"
#include "emulation/card/watch/watch_answers.h"
#include "emulation/protocol/control_channel.h"

namespace tandem::emulation {

class CardServer {
 public:
  // `starter`: the card prints to the terminal of this process until that client leaves; 0: always.
  CardServer(pid_t starter, CardSettings settings)
      : starter_(starter), settings_(std::move(settings)) {}

  // Takes over the connection of a client.
  void add_client(int socket);
  // Accepts clients from a listening socket, which it then owns.
  void listen_on(int socket);
  // Answers requests until the last client has left.
  void run();

 private:
  // The memory that a dead client held, kept until no unit runs one of its commands.
  struct Remains {
    std::weak_ptr<ClientArea> area;
    std::map<uint64_t, uint32_t> holds;
    std::chrono::steady_clock::time_point since;
  };
  struct Answer {
    std::string text;
    std::vector<int> descriptors;
    bool owns_descriptors = false;
    bool is_last = false;
  };

  void accept_clients();
  void serve(int socket);
  Answer answer(Client& client, std::istringstream& words, Message& request);
  Answer open(Client& client, std::istream& words);
  Answer load(std::istream& lines, const std::string& uuid, const Message& request);
  Answer open_context(Client& client, std::istream& words);
  Answer end_context(Client& client, uint32_t unit) const;
  Answer allocate(Client& client, std::istream& words);
  Answer release(Client& client, uint64_t address);
  Answer withdraw(Client& client, uint64_t number);
  Answer export_buffer(Client& client, std::istream& words);
  Answer import(Client& client, const Message& request);
  Answer map_peer(Client& client, std::istream& words, Message& request);
  Answer report_left_values();
  Answer leave() const;
  void start(uint64_t memory_bytes, const std::string& platform);
  std::string watch_text();
  const Client* find_context(const std::optional<uint32_t>& unit, const Client* except) const;
  void drop_client(int socket);
  void end_commands_of(const Remains& remains);
  void release_dead_clients();
  bool finished();

  const pid_t starter_;
  const CardSettings settings_;
  EventLoop loop_;
  int listener_ = -1;
  std::string platform_;
  // from the first open on; kernels may use it until the process ends
  std::unique_ptr<CardAreas> areas_;
  std::optional<DeviceSpace> space_;
  std::optional<BufferSharing> sharing_;
  std::optional<LoadedProgram> program_;
  std::optional<WatchAnswers> watch_;
  std::mutex applications_mutex_;
  std::map<int, pid_t> applications_;  // the processes of clients_, for the thread of watch_
  std::map<int, std::unique_ptr<Client>> clients_;  // by socket
  std::list<Remains> remains_;
  bool had_client_ = false;
};

}  // namespace tandem::emulation
