// SPDX-License-Identifier: Apache-2.0
//
// Fields that common clients send to other servers and that have no effect here.
//
// They can be ignored: hints for caches and slots, kinds of sampling that this server lacks, data
// of the client's own. A field that is not listed may be misspelt, so it is never ignored. Pure.
#pragma once

#include <string_view>

namespace tandem::server::openai {

// At any place of a request: its top, its messages and their parts, its stream options.
bool is_common_field(std::string_view name);

}  // namespace tandem::server::openai
