// SPDX-License-Identifier: Apache-2.0
//
// Libraries loaded at run time, and the reasons for those that cannot be loaded.
#include "common/loaded_library.h"

#include <gmock/gmock.h>

namespace tandem {
namespace {

using testing::HasSubstr;

TEST(LoadedLibrary, FindsFunctionsByName) {
  LoadedLibrary library("The C library", "libc.so.6");
  int (*absolute)(int) = nullptr;
  library.find("abs", absolute);
  ASSERT_NE(absolute, nullptr);
  EXPECT_EQ(absolute(-3), 3);
  EXPECT_EQ(library.find_optional<void (*)()>("no_such_function"), nullptr);
  EXPECT_EQ(library.reason(), "");
}

TEST(LoadedLibrary, SaysWhatIsMissing) {
  LoadedLibrary old("The C library", "libc.so.6");
  void (*function)() = nullptr;
  old.find("no_such_function", function);
  EXPECT_EQ(old.reason(), "libc.so.6 is too old: it has no no_such_function");

  LoadedLibrary absent("NCCL", "libabsent.so.7");
  absent.find("abs", function);
  EXPECT_EQ(function, nullptr);
  EXPECT_THAT(absent.reason(), HasSubstr("NCCL cannot be loaded: libabsent.so.7"));
}

}  // namespace
}  // namespace tandem
