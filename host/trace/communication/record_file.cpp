// SPDX-License-Identifier: Apache-2.0
//
// A line at a time; a line that does not fit is named.
#include "trace/communication/record_file.h"

#include "trace/communication/record_lines.h"

namespace tandem::trace {
namespace {

struct RecordCell {
  TrafficKey key;
  TrafficVolume volume;
};

TrafficKey read_key(const RecordLines& lines, std::size_t at) {
  TrafficKey key;
  key.source = lines.number<int>(at, "rank");
  key.destination = lines.number<int>(at + 1, "rank");
  key.kind = lines.words()[at + 2];
  key.operation = lines.words()[at + 3];
  key.phase = lines.words()[at + 4];
  for (const int party : {key.source, key.destination}) {
    if (party < kHostParty || party >= kMostParties) {
      lines.fail("rank " + std::to_string(party) + " is not between 0 and " +
                 std::to_string(kMostParties - 1));
    }
  }
  return key;
}

TrafficVolume read_volume(const RecordLines& lines, std::size_t at) {
  return {lines.number<std::uint64_t>(at, "number of bytes"),
          lines.number<std::uint64_t>(at + 1, "number of messages")};
}

RecordCell read_cell(const RecordLines& lines) {
  lines.expect(9);
  RecordCell cell{read_key(lines, 1), {}};
  cell.key.window = lines.number<int>(6, "window");
  cell.volume = read_volume(lines, 7);
  return cell;
}

TrafficEvent read_event(const RecordLines& lines) {
  lines.expect(9);
  return {lines.number<double>(1, "time"), read_key(lines, 2), read_volume(lines, 7)};
}

void read_windows(const RecordLines& lines, Traffic& traffic) {
  lines.expect(2);
  const auto seconds = lines.number<double>(1, "length of windows");
  if (seconds <= 0) lines.fail("windows of " + std::string(lines.words()[1]) + " s are impossible");
  if (traffic.window_s() > 0 && traffic.window_s() != seconds) {
    lines.fail("its windows have another length than those of the records before it");
  }
  traffic.set_window_s(seconds);
}

// False: the line is of another kind.
bool take_flow(const RecordLines& lines, Traffic& traffic) {
  if (lines.begins("event")) {
    traffic.keep_event(read_event(lines));
    return true;
  }
  const bool is_modelled = lines.begins("modelled");
  if (!is_modelled && !lines.begins("cell") && !lines.begins("counted") &&
      !lines.begins("carried")) {
    return false;
  }
  const RecordCell cell = read_cell(lines);
  if (lines.begins("cell")) {
    traffic.add(cell.key, cell.volume);
  } else if (lines.begins("counted")) {
    traffic.add_counted(cell.key, cell.volume);
  } else {
    traffic.add_call(is_modelled ? CallSide::kModelled : CallSide::kCarried, cell.key, cell.volume);
  }
  return true;
}

// `word`: "card" or "gpu".
void read_devices(const RecordLines& lines, const std::string& word, Traffic& traffic) {
  lines.expect(4);
  const int count = lines.number<int>(1, "number of devices");
  if (count < 0 || count > kMostParties) {
    lines.fail(std::to_string(count) + " " + word + "s are impossible; at most " +
               std::to_string(kMostParties) + " are drawn");
  }
  traffic.set_least_parties(count);
  traffic.name_parties(word);
}

}  // namespace

int read_rank(const RecordLines& lines, Traffic& traffic) {
  lines.expect(6);
  const int rank = lines.number<int>(1, "rank"), world = lines.number<int>(3, "number of ranks");
  if (world < 1 || world > kMostParties || rank < 0 || rank >= world) {
    lines.fail("rank " + std::to_string(rank) + " of " + std::to_string(world) +
               " is impossible; at most " + std::to_string(kMostParties) + " ranks are drawn");
  }
  traffic.set_least_parties(world);
  traffic.name_parties("rank");
  traffic.note_record(rank);
  traffic.set_host_of(rank, std::string(lines.words()[5]));
  return rank;
}

void read_record(const std::string& text, const std::string& name, Traffic& traffic) {
  RecordLines lines(text, name);
  if (!lines.next() || text.rfind(kRecordFileStart, 0) != 0)
    lines.fail("this is not a record file");
  lines.expect(2);
  if (lines.words()[1] != "1") {
    lines.fail("format " + std::string(lines.words()[1]) +
               " is unknown; this program reads format 1");
  }
  while (lines.next()) {
    if (lines.begins("end")) return;
    if (take_flow(lines, traffic)) continue;
    if (lines.begins("dropped_events")) {
      lines.expect(2);
      traffic.add_dropped_events(lines.number<std::uint64_t>(1, "number of events"));
    } else if (lines.begins("cards") || lines.begins("gpus")) {
      read_devices(lines, lines.begins("cards") ? "card" : "gpu", traffic);
    } else if (lines.begins("rank")) {
      read_rank(lines, traffic);
    } else if (lines.begins("windows")) {
      read_windows(lines, traffic);
    } else if (lines.begins("model")) {
      lines.expect(2);
      traffic.set_model(std::string(lines.words()[1]));
    } else if (lines.begins("unmodelled")) {
      lines.expect(3);
      traffic.add_unmodelled(std::string(lines.words()[1]),
                             lines.number<std::uint64_t>(2, "number of calls"));
    } else {
      lines.fail(lines.words().empty()
                     ? "is empty"
                     : "begins with the unknown word '" + std::string(lines.words()[0]) + "'");
    }
  }
  lines.fail("the file ends early: its process died while it wrote");
}

// "E 0 1 1000 bytes 1 msgs sent ...": E from calls of the program, I from inside collectives.
void read_transport_counts(const std::string& text, const std::string& name, Traffic& traffic) {
  RecordLines lines(text, name);
  bool in_messages = false;
  while (lines.next()) {
    if (lines.begins("#")) {
      const auto& words = lines.words();
      in_messages = words.size() > 1 && words[1] == "POINT";
      continue;
    }
    if (!in_messages || !(lines.begins("E") || lines.begins("I"))) continue;
    if (lines.words().size() < 7) lines.fail("has too few words for a count of messages");
    const int source = lines.number<int>(1, "rank"), to = lines.number<int>(2, "rank");
    if (source < 0 || to < 0 || source >= kMostParties || to >= kMostParties) {
      lines.fail("a rank is not between 0 and " + std::to_string(kMostParties - 1));
    }
    traffic.add_counted({source, to, "transport", lines.words()[0], kNoPhase, 0},
                        {lines.number<std::uint64_t>(3, "number of bytes"),
                         lines.number<std::uint64_t>(5, "number of messages")});
  }
}

}  // namespace tandem::trace
