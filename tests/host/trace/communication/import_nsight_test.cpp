// SPDX-License-Identifier: Apache-2.0
//
// SQLite files with the table of copies that an export of Nsight Systems has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/error.h"
#include "support/scratch_path.h"
#include "trace/communication/import.h"
#ifdef TANDEM_HAVE_SQLITE
#include <sqlite3.h>
#endif

namespace tandem::trace {
namespace {

std::string nsight_error(const std::string& path) {
  try {
    import_traffic({path}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

#ifdef TANDEM_HAVE_SQLITE

const std::string kCopyTable =
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, bytes INTEGER, copyKind INTEGER, "
    "deviceId INTEGER, srcDeviceId INTEGER, dstDeviceId INTEGER);";

std::string copy_row(const std::string& values) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (" + values + ");";
}

// An export at the path, from statements.
void write_export(const std::string& path, const std::string& statements) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* problem = nullptr;
  sqlite3_exec(database, statements.c_str(), nullptr, nullptr, &problem);
  EXPECT_EQ(problem, nullptr) << problem;
  sqlite3_close(database);
}

TEST(ImportNsight, CopiesBecomeTrafficByKind) {
  const test::ScratchPath path("export.sqlite");
  write_export(path.string(), kCopyTable + copy_row("1000, 4096, 1, 0, NULL, NULL") +
                                  copy_row("2000, 100, 2, 1, NULL, NULL") +
                                  copy_row("3000, 7, 10, 0, 0, 1") +
                                  copy_row("500, 30, 8, 1, NULL, NULL") +
                                  copy_row("3000000000, 5, 11, 1, NULL, NULL"));
  const Traffic traffic = import_traffic({path.string()}, {{}, 1.0});
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"host", "gpu 0", "gpu 1"}));
  const CommunicationMatrix matrix = traffic.matrix();
  EXPECT_EQ(matrix.bytes(0, 1), 4096u);
  EXPECT_EQ(matrix.bytes(2, 0), 100u);
  EXPECT_EQ(matrix.bytes(1, 2), 7u);
  EXPECT_EQ(matrix.bytes(2, 2), 30u);
  EXPECT_EQ(matrix.bytes(0, 2), 5u);
  EXPECT_EQ(traffic.windows(), (std::set<int>{0, 2}));
  EXPECT_TRUE(traffic.kinds().contains("peer_copy"));
  EXPECT_TRUE(traffic.kinds().contains("unified_memory"));
}

TEST(ImportNsight, EachCopyIsAnEvent) {
  const test::ScratchPath path("export.sqlite");
  write_export(path.string(), kCopyTable + copy_row("2000000000, 7, 10, 0, 0, 1") +
                                  copy_row("500000000, 30, 8, 1, NULL, NULL"));
  const Traffic traffic = import_traffic({path.string()}, {{}, 0, true});
  const auto events = traffic.events();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_DOUBLE_EQ(events[0].time_s, 0);
  EXPECT_DOUBLE_EQ(events[1].time_s, 1.5);
  EXPECT_EQ(events[1].key.kind, "peer_copy");
  EXPECT_EQ(events[1].volume.bytes, 7u);
}

TEST(ImportNsight, WhatIsWrongIsNamedByTableRowAndField) {
  using testing::HasSubstr;
  const auto error_with = [](const std::string& statements) {
    const test::ScratchPath path("broken.sqlite");
    write_export(path.string(), statements);
    return nsight_error(path.string());
  };
  EXPECT_THAT(error_with("CREATE TABLE other (a INTEGER);"),
              HasSubstr("table CUPTI_ACTIVITY_KIND_MEMCPY: no such table"));
  EXPECT_THAT(error_with(kCopyTable + copy_row("1, 2, 99, 0, 0, 0")),
              HasSubstr("row 1, field copyKind: '99' is not a known kind of copy"));
  EXPECT_THAT(error_with(kCopyTable + copy_row("1, 'many', 1, 0, 0, 0")),
              HasSubstr("row 1, field bytes: 'many' is not a number from 0 on"));
  EXPECT_THAT(error_with(kCopyTable + copy_row("1, 2, 1, NULL, NULL, NULL")),
              HasSubstr("field deviceId: '' is empty"));
  EXPECT_THAT(error_with(kCopyTable + copy_row("1, 2, 1, 0, 0, 100000")),
              HasSubstr("field dstDeviceId: '100000' is too large"));
}

TEST(ImportNsight, AFileThatOnlyBeginsAsSqliteIsRefused) {
  const test::ScratchPath path("cut.sqlite");
  std::ofstream(path.string()) << "SQLite format 3" << std::string(200, '\1');
  EXPECT_THAT(nsight_error(path.string()), testing::HasSubstr("cut.sqlite: "));
}

#else

TEST(ImportNsight, ABuildWithoutSqliteSaysSo) {
  const test::ScratchPath path("cut.sqlite");
  std::ofstream(path.string()) << "SQLite format 3" << std::string(200, '\1');
  EXPECT_THAT(nsight_error(path.string()), testing::HasSubstr("install libsqlite3-dev"));
}

#endif

}  // namespace
}  // namespace tandem::trace
