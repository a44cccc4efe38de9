// SPDX-License-Identifier: Apache-2.0
//
// Python's two ways to format: text % values and text.format(...).
//
// Widths and precisions are bounded. Errors: throws Failure where Python would raise an exception.
#pragma once

#include <string>
#include <string_view>

#include "model/chat/jinja/filters.h"

namespace tandem::model::jinja {

// `values`: a tuple gives several values, a map gives those of %(name)s, anything else is one
// value.
std::string format_percent(std::string_view text, const Value& values);

// The same for values of templates: markup escapes the texts among the values, and stays markup.
Value percent(const Value& text, const Value& values);

// The texts inside a list or map, escaped.
Value with_escaped_texts(const Value& value);

std::string format_braces(std::string_view text, const Arguments& arguments, Budget& budget);

}  // namespace tandem::model::jinja
