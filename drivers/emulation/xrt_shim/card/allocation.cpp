// SPDX-License-Identifier: Apache-2.0
//
// The application gets the lease from the other card and passes it on, so no card waits for
// another.
#include "emulation/xrt_shim/card/allocation.h"

#include <sys/socket.h>
#include <unistd.h>

#include <sstream>

#include "emulation/protocol/control_channel.h"
#include "emulation/xrt_shim/report.h"

namespace tandem::emulation {
namespace {

constexpr std::chrono::seconds kLeaseTimeout{10};

// True for a descriptor that an emulated card may have given out.
bool may_be_handle(int descriptor) {
  int type = 0;
  socklen_t bytes = sizeof(type);
  return getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
         type == SOCK_SEQPACKET && peer_is_this_user(descriptor);
}

// Asks the card of `handle` for its buffer: the lease, or -1 when that card has ended.
int take_lease(int handle, Message& leased) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const bool sent = send_message(handle, "lease", {ends[1]});
  close(ends[1]);
  if (sent && wait_for_message(ends[0], kLeaseTimeout) && receive_message(ends[0], leased) &&
      leased.descriptors.size() == 1) {
    return ends[0];
  }
  close_descriptors(leased.descriptors);
  close(ends[0]);
  return -1;
}

}  // namespace

std::shared_ptr<Allocation> Allocation::make(std::shared_ptr<Card> card, uint64_t size_bytes,
                                             uint32_t group) {
  const auto address = card->allocate(size_bytes, group);
  if (!address) return nullptr;
  auto made = std::shared_ptr<Allocation>(
      new Allocation(std::move(card), *address, size_bytes, group, SharedArea()));
  made->made_here_ = true;
  return made;
}

std::shared_ptr<Allocation> Allocation::import(std::shared_ptr<Card> card, int handle) {
  if (!may_be_handle(handle)) {
    report_error("descriptor " + std::to_string(handle) +
                 " is not an export handle of an emulated card's buffer in this process");
    return nullptr;
  }
  const CardAnswer answer = card->call("import", {handle});
  if (answer.ok()) {
    const uint32_t group = card->connected_group(static_cast<uint32_t>(answer.number(2)));
    return std::shared_ptr<Allocation>(
        new Allocation(std::move(card), answer.number(0), answer.number(1), group, SharedArea()));
  }
  if (answer.text == "foreign") return import_foreign(std::move(card), handle);
  report_error("the buffer cannot be imported: " + answer.problem);
  return nullptr;
}

std::shared_ptr<Allocation> Allocation::import_foreign(std::shared_ptr<Card> card, int handle) {
  Message leased;
  const int lease = take_lease(handle, leased);
  if (lease < 0) {
    report_error(
        "the buffer cannot be imported: the card that exported it has ended or does not answer");
    return nullptr;
  }
  auto imported = map_foreign(std::move(card), leased, lease);
  close_descriptors(leased.descriptors);
  close(lease);
  return imported;
}

std::shared_ptr<Allocation> Allocation::map_foreign(std::shared_ptr<Card> card,
                                                    const Message& leased, int lease) {
  std::istringstream words(leased.text.substr(2));
  uint64_t offset = 0, size_bytes = 0;
  uint32_t exporters_group = 0;
  words >> offset >> size_bytes >> exporters_group;
  const uint32_t group = card->connected_group(exporters_group);
  const int memory = leased.descriptors[0];
  try {
    SharedArea window = SharedArea::window(memory, offset, round_up_to_granule(size_bytes));
    const CardAnswer answer = card->call(
        "map_peer " + std::to_string(offset) + " " + std::to_string(size_bytes), {memory, lease});
    if (answer.ok()) {
      const uint32_t home = Card::index_of_memory(memory).value_or(card->index());
      std::shared_ptr<Allocation> imported(
          new Allocation(std::move(card), answer.number(0), size_bytes, group, std::move(window)));
      imported->home_ = home;
      return imported;
    }
    report_error("the buffer cannot be imported: " + answer.problem);
  } catch (const std::exception& error) {
    report_error(std::string("the buffer cannot be imported: ") + error.what());
  }
  return nullptr;
}

Allocation::~Allocation() {
  BufferChecks* const checks = card_->buffer_checks();
  if (checks != nullptr && made_here_ && !exported_) checks->freed(address_, size_bytes_);
  card_->release(address_);
}

int Allocation::export_handle() const {
  exported_ = true;
  const CardAnswer answer = card_->export_memory(address_, size_bytes_, group_);
  if (answer.ok() && answer.descriptors.size() == 1) return answer.descriptors[0];
  report_error("the buffer cannot be exported: " + answer.problem);
  return -1;
}

}  // namespace tandem::emulation
