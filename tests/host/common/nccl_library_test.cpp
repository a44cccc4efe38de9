// SPDX-License-Identifier: Apache-2.0
//
// The loader with an older library (nccl_2_13.cpp): each user gets what the library has.
#include "common/nccl_library.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(NcclLibrary, OfVersion213ServesThoseWhoNeedNoMore) {
  const NcclLibrary* library = nccl_library();
  ASSERT_NE(library, nullptr) << nccl_library_reason();
  EXPECT_NE(library->comm_init_all, nullptr);
  EXPECT_NE(library->all_reduce, nullptr);
  EXPECT_EQ(library->comm_init, nullptr);
  EXPECT_EQ(library->comm_finalize, nullptr);
  EXPECT_EQ(library->comm_shrink, nullptr);
  EXPECT_EQ(library->window_register, nullptr);
  EXPECT_EQ(library->team_lsa, nullptr);
}

}  // namespace
}  // namespace tandem
