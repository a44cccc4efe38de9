// SPDX-License-Identifier: Apache-2.0
//
// An SQLite export of Nsight Systems: the table CUPTI_ACTIVITY_KIND_MEMCPY, a row per copy.
//
// Copies between devices have srcDeviceId and dstDeviceId, others deviceId.
#include <sqlite3.h>

#include <array>
#include <memory>
#include <optional>

#include "common/error.h"
#include "trace/communication/copy_kind.h"
#include "trace/communication/import.h"

namespace tandem::trace {
namespace {

constexpr const char* kCopies = "CUPTI_ACTIVITY_KIND_MEMCPY";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
struct EndStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, EndStatement>;

enum Column { kRow, kStart, kBytes, kKind, kDevice, kSourceDevice, kDestinationDevice };
constexpr std::array<const char*, 7> kColumns = {
    "rowid", "start", "bytes", "copyKind", "deviceId", "srcDeviceId", "dstDeviceId"};

class NsightCopies {
 public:
  explicit NsightCopies(const std::string& path) : path_(path) {
    sqlite3* database = nullptr;
    const int opened = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READONLY, nullptr);
    database_.reset(database);
    if (opened != SQLITE_OK) fail(sqlite3_errmsg(database));
    std::string query = "SELECT ";
    for (const char* column : kColumns) {
      query += (column == kColumns[0] ? "" : ", ") + std::string(column);
    }
    sqlite3_stmt* statement = nullptr;
    const std::string all = query + " FROM " + kCopies + " ORDER BY start";
    if (sqlite3_prepare_v2(database_.get(), all.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
      fail(std::string("table ") + kCopies + ": " + sqlite3_errmsg(database_.get()));
    }
    rows_.reset(statement);
  }

  bool next() {
    const int step = sqlite3_step(rows_.get());
    if (step == SQLITE_DONE) return false;
    if (step != SQLITE_ROW) fail(sqlite3_errmsg(database_.get()));
    return true;
  }

  std::optional<std::int64_t> value(Column column) const {
    const int type = sqlite3_column_type(rows_.get(), column);
    if (type == SQLITE_NULL) return std::nullopt;
    const std::int64_t value = sqlite3_column_int64(rows_.get(), column);
    if (type != SQLITE_INTEGER || value < 0) fail_at(column, "is not a number from 0 on");
    return value;
  }
  std::int64_t required(Column column) const {
    const auto found = value(column);
    if (!found) fail_at(column, "is empty");
    return *found;
  }
  int device(Column column) const {
    const auto device = value(column);
    const std::int64_t number = device ? *device : required(kDevice);
    if (number >= kMostParties) fail_at(column, "is too large");
    return static_cast<int>(number);
  }
  const CopyKind& kind() const {
    const CopyKind* const kind = copy_kind(required(kKind));
    if (kind == nullptr) fail_at(kKind, "is not a known kind of copy");
    return *kind;
  }

 private:
  [[noreturn]] void fail_at(Column column, const char* problem) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(rows_.get(), column));
    fail(std::string("table ") + kCopies + ", row " +
         std::to_string(sqlite3_column_int64(rows_.get(), kRow)) + ", field " + kColumns[column] +
         ": '" + (text == nullptr ? "" : text) + "' " + problem);
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw Error("communication", path_ + ": " + problem);
  }

  const std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Statement rows_;  // ends before the database
};

}  // namespace

Traffic import_nsight(const ImportFile& file, const ImportOptions& options) {
  Traffic traffic("gpu");
  traffic.set_window_s(options.window_s);
  traffic.set_keeps_events(options.keep_events);
  NsightCopies copies(file.name);
  std::optional<std::int64_t> first_ns;
  while (copies.next()) {
    const std::int64_t start_ns = copies.required(kStart);
    if (!first_ns) first_ns = start_ns;
    const CopyKind& kind = copies.kind();
    TrafficKey key;
    key.kind = kind.kind;
    key.operation = kind.operation;
    key.source = kind.from_host ? kHostParty : copies.device(kSourceDevice);
    key.destination = kind.to_host ? kHostParty : copies.device(kDestinationDevice);
    traffic.add_event({static_cast<double>(start_ns - *first_ns) * 1e-9,
                       key,
                       {static_cast<std::uint64_t>(copies.required(kBytes)), 1}});
  }
  return traffic;
}

}  // namespace tandem::trace
