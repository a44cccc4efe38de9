// SPDX-License-Identifier: Apache-2.0
//
// Logs of Snoopie (https://github.com/ParCoreLab/snoopie): a line per access of a GPU to memory of
// another, and per copy.
//
// A table of accesses begins with names of columns, "op_code, addr, ...", and ends where another
// table begins. Of a load the memory's device sends; of a store or an atomic operation the running
// device does. Widths follow from the operation's name ("LDG.E.64" is 8 bytes, 4 unless it says
// otherwise). A copy has its source as running device and its bytes in mem_range. A device of -1 is
// the host. Samples (SAMPLE_SIZE) are counted as they are.
#include <array>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "common/text_parts.h"
#include "trace/communication/import.h"
#include "trace/communication/line_errors.h"

namespace tandem::trace {
namespace {

std::vector<std::string_view> comma_fields(std::string_view line) {
  std::vector<std::string_view> fields = parts_of(line, ',');
  for (std::string_view& field : fields) field = trimmed(field);
  return fields;
}

// The bytes of an access, by the parts of its name: "LDG.E.U8.SYS".
std::uint64_t access_bytes(std::string_view operation) {
  static const std::map<std::string_view, std::uint64_t> kWidths = {
      {"U8", 1}, {"S8", 1},  {"8", 1},   {"U16", 2}, {"S16", 2}, {"16", 2},
      {"64", 8}, {"F64", 8}, {"S64", 8}, {"U64", 8}, {"128", 16}};
  std::uint64_t bytes = 4;
  for (const std::string_view part : parts_of(operation, '.')) {
    const auto width = kWidths.find(part);
    if (width != kWidths.end()) bytes = width->second;
  }
  return bytes;
}

class SnoopieLog : LineErrors {
 public:
  SnoopieLog(const ImportFile& file, Traffic& traffic)
      : LineErrors(file.name), text_(file.text), traffic_(traffic) {}

  void read() {
    bool is_accesses = false;
    for (std::string line; std::getline(text_, line);) {
      ++number_;
      const std::vector<std::string_view> fields = comma_fields(line);
      if (is_head(fields.front())) {
        is_accesses = fields.front() == "op_code";
        if (is_accesses) take_columns(fields);
      } else if (is_accesses && !(fields.size() == 1 && fields.front().empty())) {
        take_access(fields);
      }
    }
  }

 private:
  enum Column { kOperation, kRunning, kMemory, kRange, kColumns };

  // The first columns of Snoopie's tables.
  static bool is_head(std::string_view field) {
    constexpr std::array<std::string_view, 7> kHeads = {
        "op_code", "pc", "offset", "obj_id", "context_id", "site_id", "code_line_index"};
    for (const std::string_view head : kHeads) {
      if (field == head) return true;
    }
    return false;
  }

  void take_columns(const std::vector<std::string_view>& fields) {
    constexpr std::array<std::string_view, kColumns> kNames = {"op_code", "running_dev_id",
                                                               "mem_dev_id", "mem_range"};
    width_ = fields.size();
    for (int column = 0; column < kColumns; ++column) {
      at_[column] = width_;
      for (std::size_t i = 0; i < width_; ++i) {
        if (fields[i] == kNames[column]) at_[column] = i;
      }
      if (at_[column] == width_) {
        fail("the column " + std::string(kNames[column]) + " is missing");
      }
    }
  }

  void take_access(const std::vector<std::string_view>& fields) {
    if (fields.size() != width_) {
      fail_width(fields.size(), width_);
    }
    const std::string_view operation = fields[at_[kOperation]];
    const int running = device(fields[at_[kRunning]]), memory = device(fields[at_[kMemory]]);
    if (operation.empty()) fail("the operation has no name");
    if (running == memory) return;
    if (operation.starts_with("cu")) {
      const auto bytes = number_in<std::uint64_t>(fields[at_[kRange]], "number of bytes");
      return traffic_.add({running, memory, "copy", operation}, {bytes, 1});
    }
    const bool loads = operation.starts_with("LD");
    const char* const kind = loads ? "load" : operation.starts_with("ST") ? "store" : "atomic";
    traffic_.add({loads ? memory : running, loads ? running : memory, kind,
                  operation.substr(0, operation.find('.'))},
                 {access_bytes(operation), 1});
  }

  int device(std::string_view text) const {
    const int device = number_in<int>(text, "device");
    if (device == -1) return kHostParty;
    if (device < 0 || device >= kMostParties) {
      fail("device " + std::string(text) + " is not between -1 and " +
           std::to_string(kMostParties - 1));
    }
    return device;
  }

  std::istringstream text_;
  Traffic& traffic_;
  std::size_t width_ = 0;
  std::array<std::size_t, kColumns> at_{};
};

}  // namespace

Traffic import_snoopie(const std::vector<ImportFile>& files) {
  Traffic traffic("gpu");
  for (const ImportFile& file : files) SnoopieLog(file, traffic).read();
  return traffic;
}

}  // namespace tandem::trace
