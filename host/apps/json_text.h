// SPDX-License-Identifier: Apache-2.0
//
// json_text: formats a JSON value for output, with an indent of 2. Invalid UTF-8 bytes become
// U+FFFD, so a strange file name does not end the command. Pure; threads: any.
#pragma once

#include <string>

namespace tandem::apps {

// Json: nlohmann::json or nlohmann::ordered_json.
template <typename Json>
std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tandem::apps
