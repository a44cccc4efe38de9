// SPDX-License-Identifier: Apache-2.0
//
// Reads the report of cards. A line that is truncated because its card ended is an error, not
// skipped.
#include "apps/card/card_report.h"
#include "apps/card/card_times.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "common/error.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::pair<const char*, const char*>, 18> kAdvice = {{
    {"out_of_bounds",
     "make the buffer as large as the kernel's highest access, or bound the loop; if the address "
     "is before the buffer, look for a negative index"},
    {"use_after_free", "keep the buffer until the run that uses it has ended: wait() first"},
    {"misaligned", "align the address to the size of the type that the port moves"},
    {"uninitialised_memory", "write the buffer and sync it to the card before the run"},
    {"race",
     "order the two accesses (wait() between runs, barrier() between work-items), or give each its "
     "own part of the memory"},
    {"wrong_bank",
     "allocate the buffer in kernel.group_id(argument), or connect the port to that "
     "bank (sp= in the configuration of v++ -l)"},
    {"missing_sync_to_device",
     "call bo.sync(XCL_BO_SYNC_BO_TO_DEVICE) after the last write of the "
     "host and before the run"},
    {"missing_sync_from_device",
     "call bo.sync(XCL_BO_SYNC_BO_FROM_DEVICE) after the run and before the host reads"},
    {"missing_wait",
     "call run.wait() before the sync from the device, and sync only if it returns "
     "ERT_CMD_STATE_COMPLETED"},
    {"bad_argument", "pass the arguments in the kernel's order, with its types and number"},
    {"deadlock",
     "give the streams the depths that are needed (inside a kernel #pragma HLS stream, between "
     "kernels stream_connect=FROM:TO:DEPTH in the configuration of v++ -l), or change the order of "
     "reads and writes; `tandem card depths` finds the least depths inside kernels"},
    {"leftover_tokens", "read as many values as are written"},
    {"read_empty", "write as many values as are read"},
    {"never_ends",
     "look for a loop, or an access to a stream, whose end depends on data that never comes"},
    {"local_out_of_bounds", "bound the index of the local array"},
    {"division_by_zero", "test the divisor, or bound the values that reach it"},
    {"uninitialised_local", "give the variable a value before it is read"},
    {"dependence_violated",
     "remove the dependence pragma (or restrict): the addresses do depend on each other"},
}};

CardFinding finding_of(ordered_json line, const std::string& place) {
  if (!line.is_object() || text_member(line, "kind").empty()) {
    throw Error("card", place + ": no finding of a card: an object with \"kind\" is expected");
  }
  CardFinding finding;
  finding.kind = text_member(line, "kind");
  finding.severity = text_member(line, "severity");
  if (finding.severity.empty()) finding.severity = "warning";
  finding.kernel = text_member(line, "kernel");
  finding.unit = text_member(line, "unit");
  finding.argument = text_member(line, "argument");
  finding.file = text_member(line, "file");
  finding.message = text_member(line, "message");
  if (line.contains("line") && line["line"].is_number_unsigned()) {
    finding.line =
        static_cast<int>(std::min<std::uint64_t>(line["line"].get<std::uint64_t>(), 1U << 30));
  }
  finding.members = std::move(line);
  return finding;
}

}  // namespace

std::string text_member(const ordered_json& line, const char* name) {
  const auto found = line.find(name);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string card_advice(const std::string& kind) {
  for (const auto& [name, advice] : kAdvice) {
    if (kind == name) return advice;
  }
  return {};
}

std::string card_advice(const CardFinding& finding) {
  const auto depths = finding.members.find("depths_needed");
  if (finding.kind == "deadlock" && depths != finding.members.end() && depths->empty()) {
    return "change the order of reads and writes, or write a first value into the ring: no depths "
           "help";
  }
  return card_advice(finding.kind);
}

std::vector<CardFinding> read_card_report(const std::string& path, std::uint64_t begin_bytes,
                                          bool must_exist) {
  std::ifstream in(path);
  if (!in) {
    if (!must_exist && errno == ENOENT) return {};
    throw Error("card", "cannot read '" + path + "': " + std::strerror(errno));
  }
  int number = 0;
  std::uint64_t at = 0;
  std::vector<CardFinding> findings;
  for (std::string text; std::getline(in, text);) {
    ++number;
    const bool is_older = at < begin_bytes;
    at += text.size() + 1;
    if (is_older || text.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string place = path + ":" + std::to_string(number);
    ordered_json line = ordered_json::parse(text, nullptr, false);
    if (line.is_discarded()) throw Error("card", place + ": not a line of JSON");
    CardFinding finding = finding_of(std::move(line), place);
    const bool is_time = finding.kind == kTimeKind || finding.kind == kTransferKind;
    if (is_time || finding.kind == kWavesKind) continue;  // card_times.h
    const auto same = std::find_if(findings.begin(), findings.end(), [&](const CardFinding& each) {
      return each.members == finding.members;
    });
    if (same == findings.end()) {
      findings.push_back(std::move(finding));
    } else {
      ++same->count;
    }
  }
  return findings;
}

}  // namespace tandem::apps
