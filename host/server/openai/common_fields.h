// SPDX-License-Identifier: Apache-2.0
//
// Fields that common clients send to other servers and that have no effect here.
//
// They can be ignored safely: hints for caches and slots, kinds of sampling that this server lacks,
// the client's own data. A field that is not listed may be misspelt, so it is never ignored. Pure.
#pragma once

#include <string_view>

namespace tandem::server::openai {

// At any level of a request: the top, messages and their parts, stream options.
bool is_common_field(std::string_view name);

}  // namespace tandem::server::openai
