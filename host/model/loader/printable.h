// SPDX-License-Identifier: Apache-2.0
//
// printable(): untrusted text of a file, made safe for a message.
//
// At most 80 bytes are kept, and bytes that are not printable ASCII become '?'. Threads: any; pure
// functions.
#pragma once

#include <string>
#include <string_view>

namespace tandem::model {

std::string printable(std::string_view text);

}  // namespace tandem::model
