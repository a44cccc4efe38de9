// SPDX-License-Identifier: Apache-2.0
//
// Labels of parties are read back as Traffic::labels() writes them.
#include "trace/communication/event_file.h"

#include <spdlog/fmt/fmt.h>

#include <iterator>
#include <optional>
#include <vector>

#include "common/number.h"
#include "common/text_parts.h"
#include "trace/communication/import.h"
#include "trace/communication/line_errors.h"

namespace tandem::trace {
namespace {

constexpr std::string_view kEventColumns =
    "time_s,source,destination,bytes,messages,kind,operation,phase";
constexpr std::size_t kNumEventColumns = 8;

class EventLines : LineErrors {
 public:
  EventLines(const ImportFile& file, Traffic& traffic)
      : LineErrors(file.name), lines_(parts_of(file.text, '\n')), traffic_(traffic) {}

  void read() {
    for (const std::string_view& text : lines_) {
      ++number_;
      const std::string_view line = trimmed(text);
      if (number_ == 1) {
        if (line != kEventColumns) fail("the columns are not " + std::string(kEventColumns));
        continue;
      }
      if (line.empty() && &text == &lines_.back()) return;
      read_line(parts_of(line, ','));
    }
    fail("the line has no end: the file was cut");
  }

 private:
  void read_line(const std::vector<std::string_view>& fields) {
    if (fields.size() != kNumEventColumns) {
      fail_width(fields.size(), kNumEventColumns);
    }
    TrafficEvent event;
    event.time_s = number_in<double>(fields[0], "time");
    event.key = {party(fields[1]), party(fields[2]), fields[5], fields[6], fields[7]};
    event.volume = {number_in<std::uint64_t>(fields[3], "number of bytes"),
                    number_in<std::uint64_t>(fields[4], "number of messages")};
    traffic_.add_event(event);
  }

  int party(std::string_view label) const {
    if (label == "host") return kHostParty;
    if (label == "switch") return kSwitchRank;
    const std::size_t blank = label.rfind(' ');
    const auto number =
        blank == label.npos ? std::nullopt : number_of<int>(label.substr(blank + 1));
    if (!number || *number < 0 || *number >= kMostParties) {
      fail("'" + std::string(label) +
           "' is none of: host, switch, and a word with a number from "
           "0 to " +
           std::to_string(kMostParties - 1));
    }
    const std::string_view word = label.substr(0, blank);
    if (word != last_word_) traffic_.name_parties(std::string(last_word_ = word));
    return *number;
  }

  const std::vector<std::string_view> lines_;
  Traffic& traffic_;
  mutable std::string_view last_word_;
};

}  // namespace

void write_events(const Traffic& traffic, const std::function<void(const std::string&)>& write) {
  constexpr std::size_t kPieceBytes = 1 << 20;
  const std::vector<std::string> labels = traffic.labels();
  const auto label = [&](int party) -> const std::string& {
    return labels[static_cast<std::size_t>(traffic.index_of(party))];
  };
  std::string text = std::string(kEventColumns) + "\n";
  for (const auto& [time_s, key, volume] : traffic.events()) {
    fmt::format_to(std::back_inserter(text), "{:.7f},{},{},{},{},{},{},{}\n", time_s,
                   label(key.source), label(key.destination), volume.bytes, volume.messages,
                   key.kind, key.operation, key.phase);
    if (text.size() < kPieceBytes) continue;
    write(text);
    text.clear();
  }
  write(text);
}

Traffic import_events(const std::vector<ImportFile>& files, const ImportOptions& options) {
  Traffic traffic;
  traffic.set_window_s(options.window_s);
  traffic.set_keeps_events(options.keep_events);
  for (const ImportFile& file : files) EventLines(file, traffic).read();
  return traffic;
}

}  // namespace tandem::trace
