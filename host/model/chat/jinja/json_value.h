// SPDX-License-Identifier: Apache-2.0
//
// Reads JSON text as a Value, in the way of Python's json.loads. Objects keep their order. If a key
// occurs twice, its last value counts.
//
// Nesting and size are limited as for every value of a template (value.h). Cost: linear. Errors:
// Error("chat", ...) that begins with `what`, the name of the text.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "model/chat/jinja/value.h"

namespace tandem::model::jinja {

// Applied to every text of a conversation before the template gets it. Empty: no filter.
using TextFilter = std::function<std::string(std::string_view text)>;

Value value_of_json(std::string_view json, const std::string& what, const TextFilter& filter = {});

}  // namespace tandem::model::jinja
