// SPDX-License-Identifier: Apache-2.0
//
// The methods of a type, by name.
#pragma once

#include <string>
#include <unordered_map>

#include "model/chat/jinja/filters.h"

namespace tandem::model::jinja {

using Method = Value (*)(const Value& object, const Arguments& arguments, Budget& budget);
using Methods = std::unordered_map<std::string, Method>;

const Methods& string_methods();

}  // namespace tandem::model::jinja
