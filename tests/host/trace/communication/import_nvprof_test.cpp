// SPDX-License-Identifier: Apache-2.0
//
// CSV as nvprof --print-gpu-trace writes it; rows that do not fit are named by line and column.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/error.h"
#include "support/scratch_path.h"
#include "trace/communication/import.h"

namespace tandem::trace {
namespace {

const std::string kNvprofHead =
    "==12== NVPROF is profiling process 12\n"
    "\"Start\",\"Duration\",\"Size\",\"Unified Memory\",\"Src Dev\",\"Dst Dev\",\"Device\","
    "\"Name\"\n"
    "ms,us,KB,,,,,\n";

std::string nvprof_error(const std::string& text) {
  try {
    import_nvprof({"run.csv", text}, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportNvprof, CopiesHaveTheHostAsRowZero) {
  const std::string text = kNvprofHead +
                           "1.0,2,4.0,,,,\"V100 (0)\",\"[CUDA memcpy HtoD]\"\n"
                           "2.0,2,1.5,,,,\"V100 (1)\",\"[CUDA memcpy DtoH]\"\n"
                           "2.5,9,,,,,\"V100 (1)\",\"kernel(int, float)\"\n"
                           "3.0,2,2.0,,\"V100 (1)\",\"V100 (0)\",,\"[CUDA memcpy PtoP]\"\n"
                           "3.5,2,2.0,,,,\"V100 (1)\",\"[CUDA memcpy DtoD]\"\n"
                           "4.0,2,,4096,,,\"V100 (0)\",\"[Unified Memory Memcpy DtoH]\"\n"
                           "==12== the end\n";
  const Traffic traffic = import_nvprof({"run.csv", text}, {});
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"host", "gpu 0", "gpu 1"}));
  const CommunicationMatrix matrix = traffic.matrix();
  EXPECT_EQ(matrix.bytes(0, 1), 4096u);
  EXPECT_EQ(matrix.bytes(2, 0), 1536u);
  EXPECT_EQ(matrix.bytes(2, 1), 2048u);
  EXPECT_EQ(matrix.bytes(2, 2), 2048u);
  EXPECT_EQ(matrix.bytes(1, 0), 4096u);
  EXPECT_EQ(traffic.kinds(),
            (std::set<std::string>{"device_copy", "device_to_host", "host_to_device", "peer_copy",
                                   "unified_memory"}));
}

TEST(ImportNvprof, CopiesFallIntoTimeWindows) {
  const std::string copy = ",1,1,,,,\"V (0)\",\"[CUDA memcpy HtoD]\"\n";
  const Traffic traffic = import_nvprof(
      {"run.csv", kNvprofHead + "100" + copy + "150" + copy + "420" + copy}, {{}, 0.1});
  EXPECT_EQ(traffic.windows(), (std::set<int>{0, 3}));
}

TEST(ImportNvprof, WhatIsWrongIsNamedByLineAndColumn) {
  using testing::HasSubstr;
  EXPECT_THAT(nvprof_error("a,b\n"), HasSubstr("no row of column names that begins with Start"));
  EXPECT_THAT(nvprof_error("Start,Name\n"), HasSubstr("line 1: the row of units is missing"));
  EXPECT_THAT(nvprof_error("Start,Name\nms\n"), HasSubstr("line 2: there are 1 fields for 2"));
  EXPECT_THAT(nvprof_error("Start,Size\nms,KB\n"), HasSubstr("there is no column Name"));
  EXPECT_THAT(nvprof_error(kNvprofHead + "1,2\n"),
              HasSubstr("run.csv line 4: there are 2 fields for 8 columns"));
  EXPECT_THAT(nvprof_error(kNvprofHead + "1,1,x,,,,\"V (0)\",\"[CUDA memcpy HtoD]\"\n"),
              HasSubstr("line 4: column Size: 'x' is not a number"));
  EXPECT_THAT(nvprof_error(kNvprofHead + "1,1,1,,,,\"V\",\"[CUDA memcpy HtoD]\"\n"),
              HasSubstr("line 4: column Device: 'V' ends in no device number, such as (0)"));
  EXPECT_THAT(nvprof_error(kNvprofHead + "1,1,1,,,,\"V (9999)\",\"[CUDA memcpy HtoD]\"\n"),
              HasSubstr("'V (9999)' ends in no device number"));
  EXPECT_THAT(nvprof_error("Start,Name\nms,\n1,[Unified Memory Memcpy HtoD]\n"),
              HasSubstr("line 3: the column Unified Memory is missing"));
  EXPECT_THAT(nvprof_error(kNvprofHead + "1,1,-2,,,,\"V (0)\",\"[CUDA memcpy HtoD]\"\n"),
              HasSubstr("column Size: '-2' is not a number"));
  EXPECT_THAT(nvprof_error(kNvprofHead + "1,1,1e17,,,,\"V (0)\",\"[CUDA memcpy HtoD]\"\n"),
              HasSubstr("column Size: '1e17' is too large"));
  EXPECT_THAT(nvprof_error("Start,Size,Device,Name\nms,PB,,\n1,2,V (0),[CUDA memcpy HtoD]\n"),
              HasSubstr("column Size: the unit 'PB' is unknown"));
}

TEST(ImportTraffic, TheKindOfAFileIsToldFromItsBeginning) {
  const test::ScratchPath folder("imports");
  std::filesystem::create_directories(folder.path());
  const auto file = [&](const char* name, const std::string& text) {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path) << text;
    return path;
  };
  const auto error_of = [](const std::vector<std::string>& paths) -> std::string {
    try {
      import_traffic(paths, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string csv =
      file("a.csv", kNvprofHead + "1.0,2,4.0,,,,\"V (0)\",\"[CUDA memcpy HtoD]\"\n");
  EXPECT_EQ(import_traffic({csv}, {}).matrix().bytes(0, 1), 4096u);
  const std::string plain = kNvprofHead.substr(kNvprofHead.find('\n') + 1);
  const std::string quoted =
      file("b.csv", plain + "1.0,2,4.0,,,,\"V (0)\",\"[CUDA memcpy HtoD]\"\n");
  EXPECT_EQ(import_traffic({quoted}, {}).matrix().bytes(0, 1), 4096u);
  const std::string record = file("a.record",
                                  "tandem-communication 1\nrank 0 of 2 on n\n"
                                  "cell 0 1 mpi_point_to_point send 0 0 9 1\nend\n");
  EXPECT_EQ(import_traffic({record}, {}).matrix().bytes(0, 1), 9u);
  EXPECT_THAT(error_of({csv, record}), testing::HasSubstr("are of different kinds"));
  EXPECT_THAT(error_of({csv, csv}), testing::HasSubstr("give one file of this kind"));
  EXPECT_THAT(error_of({file("a.txt", "hello")}), testing::HasSubstr("a.txt' is none of: JSON"));
  EXPECT_THAT(error_of({file("empty", "")}), testing::HasSubstr("is empty or cannot be read"));
  EXPECT_THAT(error_of({folder.string() + "/none"}), testing::HasSubstr("No such file"));
}

}  // namespace
}  // namespace tandem::trace
