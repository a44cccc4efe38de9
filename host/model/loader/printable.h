// SPDX-License-Identifier: Apache-2.0
//
// printable(): text of a file as it may stand in a message.
//
// Names come from files and may hold anything, of any length: at most 80 bytes are kept, and what
// is not printable ASCII becomes '?'. Threads: pure function.
#pragma once

#include <string>
#include <string_view>

namespace tandem::model {

std::string printable(std::string_view text);

}  // namespace tandem::model
