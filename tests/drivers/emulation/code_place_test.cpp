// SPDX-License-Identifier: Apache-2.0
//
// Which of the frames that addr2line tells is the user's. Another addr2line is put before it.
#include "emulation/protocol/code_place.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/scratch_path.h"

namespace tandem::emulation {
namespace {

SourcePlace place_in(const std::string& frames) {
  static int number = 0;
  const test::ScratchPath folder("code_place_" + std::to_string(++number));
  mkdir(folder.string().c_str(), 0700);
  const std::string program = folder.string() + "/addr2line";
  std::ofstream(program) << "#!/bin/sh\nprintf '" << frames << "'\n";
  chmod(program.c_str(), 0700);
  const std::string before = std::getenv("PATH");
  setenv("PATH", (folder.string() + ":" + before).c_str(), 1);
  CodePlace place;
  place.offsets[0] = 0x10;
  const std::string module = "program " + std::to_string(number);
  module.copy(place.module, sizeof(place.module) - 1);
  const SourcePlace found = place_of(place);
  setenv("PATH", before.c_str(), 1);
  return found;
}

TEST(CodePlace, IsTheFirstLineOfTheUsersOwnSource) {
  const SourcePlace place = place_in(
      "0x10\\n_ZN3foo4takeEv\\n/opt/xrt/include/xrt/xrt_bo.h:393\\nmain\\n/src/a/host.cpp:23\\n");
  EXPECT_EQ(place.file, "/src/a/host.cpp");
  EXPECT_EQ(place.line, 23);
}

TEST(CodePlace, AFunctionOfALibraryIsNotTheUsersWhateverFileIsNamed) {
  for (const char* const function :
       {"_ZN3xrt2bo4syncE18xclBOSyncDirection", "_ZNK2cl6Buffer3getEv", "_ZNSt6vectorIiE4sizeEv"}) {
    const SourcePlace place =
        place_in("0x10\\n" + std::string(function) +
                 "\\n/src/a/host.cpp:393\\n0x20\\nmain\\n/src/a/host.cpp:23 (discriminator 1)\\n");
    EXPECT_EQ(place.file, "/src/a/host.cpp") << function;
    EXPECT_EQ(place.line, 23) << function;
  }
}

TEST(CodePlace, WithoutDebugInformationThereIsNone) {
  EXPECT_EQ(place_in("0x10\\n??\\n??:0\\n").line, 0);
}

}  // namespace
}  // namespace tandem::emulation
