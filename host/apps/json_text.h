// SPDX-License-Identifier: Apache-2.0
//
// A JSON value as a command prints it: indented by 2. Bytes of names that are not UTF-8 become
// U+FFFD, so a name from a file ends no command. Pure; threads: any.
#pragma once

#include <string>

namespace tandem::apps {

// Json: nlohmann::json or nlohmann::ordered_json.
template <typename Json>
std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tandem::apps
