// SPDX-License-Identifier: Apache-2.0
//
// Two passes: whose each end of a connection is, then the flows between ends that are known.
#include "trace/communication/socket_file.h"

#include <map>

#include "trace/communication/record_lines.h"

namespace tandem::trace {
namespace {

constexpr const char* kSocketFileStart = "tandem-sockets";

enum class SocketLine { kFlow, kCounted, kEvent };

struct SocketFlow {
  std::string own, peer;  // "ADDRESS PORT", with the host in front where the address is its own
  const char* kind = "";
  SocketLine line = SocketLine::kFlow;
  double time_s = 0;  // of an event
  int window = 0;
  TrafficVolume volume;
};

struct SocketProcess {
  int rank = 0;
  std::vector<SocketFlow> flows;
};

// Loopback addresses are other ones on every host.
std::string end_name(const std::string& host, std::string_view address, std::string_view port) {
  const bool is_loopback = address.starts_with("127.") || address == "::1";
  return (is_loopback ? host + " " : "") + std::string(address) + " " + std::string(port);
}

SocketFlow read_flow(const RecordLines& lines, const std::string& host, const std::string& store) {
  lines.expect(8);
  const auto& words = lines.words();
  SocketFlow flow;
  flow.own = end_name(host, words[1], words[2]);
  flow.peer = end_name(host, words[3], words[4]);
  flow.kind = words[2] == store || words[4] == store ? "torch_store" : "gloo";
  if (lines.begins("event")) {
    flow.line = SocketLine::kEvent;
    flow.time_s = lines.number<double>(5, "time");
  } else {
    flow.line = lines.begins("counted") ? SocketLine::kCounted : SocketLine::kFlow;
    flow.window = lines.number<int>(5, "window");
  }
  flow.volume = {lines.number<std::uint64_t>(6, "number of bytes"),
                 lines.number<std::uint64_t>(7, "number of writes")};
  return flow;
}

SocketProcess read_process(const NamedText& file, Traffic& traffic) {
  RecordLines lines(file.text, file.name);
  if (!lines.next() || !lines.begins(kSocketFileStart))
    lines.fail("this is not a record of sockets");
  SocketProcess process;
  std::string host, store;
  while (lines.next()) {
    if (lines.begins("end")) return process;
    if (lines.begins("rank")) {
      process.rank = read_rank(lines, traffic);
      host = lines.words()[5];
    } else if (lines.begins("store")) {
      lines.expect(2);
      store = lines.words()[1];
    } else if (lines.begins("dropped_events")) {
      lines.expect(2);
      traffic.add_dropped_events(lines.number<std::uint64_t>(1, "number of events"));
    } else if (lines.begins("flow") || lines.begins("counted") || lines.begins("event")) {
      process.flows.push_back(read_flow(lines, host, store));
    } else {
      lines.fail(lines.words().empty()
                     ? "is empty"
                     : "begins with the unknown word '" + std::string(lines.words()[0]) + "'");
    }
  }
  lines.fail("the file ends early: its process died while it wrote");
}

}  // namespace

void read_socket_files(const std::vector<NamedText>& files, Traffic& traffic) {
  std::vector<SocketProcess> processes;
  std::map<std::string, int> rank_of_connection;
  for (const NamedText& file : files) {
    processes.push_back(read_process(file, traffic));
    for (const SocketFlow& flow : processes.back().flows) {
      rank_of_connection[flow.own + " " + flow.peer] = processes.back().rank;
    }
  }
  for (const SocketProcess& process : processes) {
    for (const SocketFlow& flow : process.flows) {
      const auto other = rank_of_connection.find(flow.peer + " " + flow.own);
      if (other == rank_of_connection.end()) continue;
      const TrafficKey key{process.rank, other->second, flow.kind, "tcp", kNoPhase, flow.window};
      if (flow.line == SocketLine::kCounted) {
        traffic.add_counted(key, flow.volume);
      } else if (flow.line == SocketLine::kEvent) {
        traffic.keep_event({flow.time_s, key, flow.volume});
      } else {
        traffic.add(key, flow.volume);
      }
    }
  }
}

}  // namespace tandem::trace
