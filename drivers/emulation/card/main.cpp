// SPDX-License-Identifier: Apache-2.0
//
// tandem-card: one emulated card. Started by the XRT shim with a control socket as descriptor 3.
//
// The main thread answers control messages; each compute unit of the loaded bitstream has a thread.
// The process ends when its application does, when the socket closes, or when a kernel crashes.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <memory>
#include <sstream>
#include <vector>

#include "emulation/card/fault_handler.h"
#include "emulation/card/kernel_library.h"
#include "emulation/card/unit_thread.h"
#include "emulation/protocol/control_channel.h"

namespace tandem::emulation {
namespace {

constexpr int kControlSocket = 3;

class Card {
 public:
  explicit Card(CardAreas areas) : areas_(std::move(areas)) { install_fault_handler(areas_); }

  // Answers requests until the application is gone.
  void serve() {
    Message request;
    while (receive_message(kControlSocket, request)) {
      std::string answer = "ok";
      try {
        handle(request);
      } catch (const std::exception& error) {
        answer = std::string("error ") + error.what();
      }
      for (int descriptor : request.descriptors) close(descriptor);
      if (!send_message(kControlSocket, answer)) return;
    }
  }

 private:
  void handle(const Message& request) {
    std::istringstream lines(request.text);
    std::string command;
    std::getline(lines, command);
    if (command != "load" || request.descriptors.size() != 1) {
      throw std::runtime_error("unknown request");
    }
    load(lines, request.descriptors[0]);
  }

  // The units of the bitstream before go on when this throws: they end once nothing can fail but
  // the start of a thread.
  void load(std::istringstream& lines, int elf) {
    for (const auto& unit : units_) {
      if (unit->busy()) throw std::runtime_error("a compute unit is still running");
    }
    std::vector<std::unique_ptr<KernelLibrary>> libraries;
    for (std::string line; std::getline(lines, line);) {
      if (libraries.size() >= kMaxUnits) throw std::runtime_error("too many compute units");
      libraries.push_back(std::make_unique<KernelLibrary>(elf, line.substr(0, line.find(':'))));
    }
    replace_units(std::move(libraries));
  }

  // A unit's ring has one consumer, so the old threads end before the new ones start.
  void replace_units(std::vector<std::unique_ptr<KernelLibrary>> libraries) {
    units_.clear();
    try {
      for (auto& library : libraries) {
        const auto unit = static_cast<uint32_t>(units_.size());
        units_.push_back(std::make_unique<UnitThread>(areas_, unit, std::move(library)));
      }
    } catch (const std::exception& error) {
      // Neither bitstream is whole: the application is to see a failed card, not one that hangs.
      std::fprintf(stderr, "tandem-card: %s\n", error.what());
      _exit(1);
    }
  }

  CardAreas areas_;
  std::vector<std::unique_ptr<UnitThread>> units_;
};

bool receive_areas(CardAreas& areas) {
  Message start;
  if (!receive_message(kControlSocket, start) || start.descriptors.size() != kNumAreas)
    return false;
  const std::string prefix = "start ";
  uint64_t device_bytes = 0;
  if (start.text.compare(0, prefix.size(), prefix) != 0) return false;
  const char* begin = start.text.data() + prefix.size();
  std::from_chars(begin, start.text.data() + start.text.size(), device_bytes);
  areas.state = SharedArea::adopt(start.descriptors[kStateArea], sizeof(SharedState));
  areas.packets = SharedArea::adopt(start.descriptors[kPacketArea], kPacketAreaBytes);
  areas.device = SharedArea::adopt(start.descriptors[kDeviceArea], device_bytes);
  return areas.shared().version == kProtocolVersion;
}

}  // namespace
}  // namespace tandem::emulation

int main() {
  using namespace tandem::emulation;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  setvbuf(stdout, nullptr, _IOLBF, 0);  // what kernels print must not be lost with the process
  try {
    CardAreas areas;
    if (!receive_areas(areas) || !send_message(kControlSocket, "ok")) {
      std::fprintf(stderr,
                   "tandem-card: this program is started by the XRT emulation, not by hand\n");
      return 2;
    }
    auto card = std::make_unique<Card>(std::move(areas));
    card->serve();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tandem-card: %s\n", error.what());
    _exit(1);
  }
  _exit(0);  // a kernel may still run: its thread cannot be joined
}
