// SPDX-License-Identifier: Apache-2.0
//
// Two passes: whose each end of a connection is, then the flows between ends that are known.
#include "trace/communication/socket_file.h"

#include <map>

#include "trace/communication/record_lines.h"

namespace tandem::trace {
namespace {

constexpr const char* kSocketFileStart = "tandem-sockets";

struct SocketFlow {
  std::string own, peer;  // "ADDRESS PORT", with the host in front where the address is its own
  std::string operation;
  bool is_counted = false;
  int window = 0;
  TrafficVolume volume;
};

struct SocketProcess {
  int rank = 0;
  std::vector<SocketFlow> flows;
};

// Loopback addresses are other ones on every host.
std::string end_name(const std::string& host, const std::string& address, const std::string& port) {
  const bool is_loopback = address.starts_with("127.") || address == "::1";
  return (is_loopback ? host + " " : "") + address + " " + port;
}

SocketFlow read_flow(const RecordLines& lines, const std::string& host, const std::string& store) {
  lines.expect(8);
  const auto& words = lines.words();
  const bool is_store = words[2] == store || words[4] == store;
  return {end_name(host, words[1], words[2]),
          end_name(host, words[3], words[4]),
          is_store ? "torch_store" : "gloo",
          words[0] == "counted",
          lines.number<int>(5, "window"),
          {lines.number<std::uint64_t>(6, "number of bytes"),
           lines.number<std::uint64_t>(7, "number of writes")}};
}

SocketProcess read_process(const NamedText& file, Traffic& traffic) {
  RecordLines lines(file.text, file.name);
  if (!lines.next() || !lines.begins(kSocketFileStart)) lines.fail("this is no record of sockets");
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
    } else if (lines.begins("flow") || lines.begins("counted")) {
      process.flows.push_back(read_flow(lines, host, store));
    } else {
      lines.fail("begins with no known word");
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
      const TrafficKey key{process.rank, other->second, flow.operation, "tcp", 0, flow.window};
      if (flow.is_counted) {
        traffic.add_counted(key, flow.volume);
      } else {
        traffic.add(key, flow.volume);
      }
    }
  }
}

}  // namespace tandem::trace
