// SPDX-License-Identifier: Apache-2.0
//
// A library as an earlier v++ made it: a checked copy without the word that switches its checks,
// and a kernel with an entry of another version.
#include "bitstreams/compiler/glue/kernel_entry.h"

namespace {

void do_nothing(const tandem_glue::Invocation&) {}

constexpr tandem_glue::KernelEntry kPlain = {
    tandem_glue::kEntryVersion, "old", 0, nullptr, &do_nothing, 0x10};
constexpr tandem_glue::KernelEntry kChecked = kPlain;
constexpr tandem_glue::KernelEntry kOlder = {
    tandem_glue::kEntryVersion - 1, "older", 0, nullptr, &do_nothing, 0x10};

}  // namespace

#define TANDEM_EXPORTED extern "C" __attribute__((visibility("default")))

TANDEM_EXPORTED const tandem_glue::KernelEntry* tandem_kernel_old() { return &kPlain; }
TANDEM_EXPORTED const tandem_glue::KernelEntry* tandem_checked_old() { return &kChecked; }
TANDEM_EXPORTED const tandem_glue::KernelEntry* tandem_kernel_older() { return &kOlder; }
