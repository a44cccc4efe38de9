// SPDX-License-Identifier: Apache-2.0
//
// The attributes and methods of an Object for templates: the loop, a namespace, a cycler, a joiner.
#pragma once

#include <optional>
#include <string>

#include "model/chat/jinja/filters.h"

namespace tandem::model::jinja {

bool object_has_method(const Object& object, const std::string& name);
std::optional<Value> object_attribute(const Object& object, const std::string& name);
// A method that object_has_method() names.
Value call_object_method(Object& object, const std::string& name, const Arguments& arguments,
                         Budget& budget);

}  // namespace tandem::model::jinja
