// SPDX-License-Identifier: Apache-2.0
//
// The filters by name, and helper functions that several of them use.
#pragma once

#include <string>
#include <unordered_map>

#include "model/chat/jinja/filters.h"

namespace tandem::model::jinja {

using Filter = Value (*)(const Value& input, const Arguments& arguments, Budget& budget);
using Filters = std::unordered_map<std::string, Filter>;

const Filters& list_filters();
const Filters& text_filters();

// Returns the argument as an integer; `fallback` if it is not given or is none.
std::int64_t integer_or(const Arguments& arguments, std::size_t index, const char* name,
                        std::int64_t fallback);
bool truth_of(const Arguments& arguments, std::size_t index, const char* name);

}  // namespace tandem::model::jinja
