// SPDX-License-Identifier: Apache-2.0
//
// Logs as Snoopie writes them: loads, stores, atomic operations and copies between GPUs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/error.h"
#include "trace/communication/import.h"

namespace tandem::trace {
namespace {

const std::string kSnoopieHead =
    "op_code, addr, thread_indx, running_dev_id, mem_dev_id, code_linenum, code_line_index, "
    "code_line_context, code_line_estimated_status, obj_offset, mem_range\n";

std::string access(const std::string& operation, int running, int memory, int range = 4) {
  return operation + ",0x7f00,3," + std::to_string(running) + "," + std::to_string(memory) +
         ",-1,-1,1,-1,0x10," + std::to_string(range) + "\n";
}

std::string snoopie_error(const std::string& text) {
  try {
    import_snoopie({{"snoopie.log", text}});
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImportSnoopie, LoadsComeFromTheMemoryAndStoresGoThere) {
  const Traffic traffic =
      import_snoopie({{"a.log", kSnoopieHead + access("LDG.E.64.SYS", 0, 1) +
                                    access("LDG.E.U8", 0, 1) + access("STG.E.128", 0, 1) +
                                    access("RED.E.ADD.F64.RN", 1, 0) + access("LDG.E", 1, 1)},
                      {"b.log", kSnoopieHead + access("STG.E.U16", 2, 0)}});
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"gpu 0", "gpu 1", "gpu 2"}));
  const CommunicationMatrix matrix = traffic.matrix();
  EXPECT_EQ(matrix.bytes(1, 0), 8u + 1u + 8u);  // two loads, and the reduction that GPU 1 starts
  EXPECT_EQ(matrix.bytes(0, 1), 16u);
  EXPECT_EQ(matrix.bytes(2, 0), 2u);
  EXPECT_EQ(matrix.messages(1, 0), 3u);
  EXPECT_EQ(matrix.messages(1, 1), 0u) << "its own memory is no traffic";
  EXPECT_EQ(traffic.kinds(), (std::set<std::string>{"atomic", "load", "store"}));
  EXPECT_EQ(traffic.operations(), (std::set<std::string>{"LDG", "RED", "STG"}));
}

TEST(ImportSnoopie, CopiesHaveTheirBytesAndTheHostIsDeviceMinusOne) {
  const Traffic traffic =
      import_snoopie({{"a.log", kSnoopieHead + access("cuMemcpyPeerAsync", 0, 1, 4096) +
                                    access("cuMemcpyHtoD_v2", -1, 1, 64) +
                                    "code_line_index, dir, file\n1,a,b\n\n" + kSnoopieHead +
                                    access("cuMemcpyPeer", 1, 0, 5)}});
  EXPECT_EQ(traffic.labels(), (std::vector<std::string>{"host", "gpu 0", "gpu 1"}));
  EXPECT_EQ(traffic.matrix().bytes(1, 2), 4096u);
  EXPECT_EQ(traffic.matrix().bytes(0, 2), 64u);
  EXPECT_EQ(traffic.matrix().bytes(2, 1), 5u);
}

TEST(ImportSnoopie, WhatIsWrongIsNamedByItsLine) {
  using testing::HasSubstr;
  EXPECT_THAT(snoopie_error("op_code, addr\n"), HasSubstr("line 1: the column running_dev_id"));
  EXPECT_THAT(snoopie_error(kSnoopieHead + "LDG,1\n"), HasSubstr("line 2: there are 2 fields"));
  EXPECT_THAT(snoopie_error(kSnoopieHead + access("LDG", 0, 9999)),
              HasSubstr("device 9999 is not between -1 and 4095"));
  EXPECT_THAT(snoopie_error(kSnoopieHead + "LDG,0,0,x,1,0,0,0,0,0,4\n"),
              HasSubstr("'x' is not a device"));
  EXPECT_THAT(snoopie_error(kSnoopieHead + access("cuMemcpy", 0, 1, -3)),
              HasSubstr("'-3' is not a number of bytes"));
}

}  // namespace
}  // namespace tandem::trace
