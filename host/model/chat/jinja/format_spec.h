// SPDX-License-Identifier: Apache-2.0
//
// FormatSpec: the format of one value, in Python's format language.
#pragma once

#include <string>
#include <string_view>

#include "model/chat/jinja/value.h"

namespace tandem::model::jinja {

struct FormatSpec {
  static constexpr int kMaxSize = 10'000;  // of width and precision

  std::string fill = " ";
  char align = 0;  // < > ^ =; 0: by the type of the value
  char sign = '-';
  bool alternate = false;
  int width = 0;
  char grouping = 0;   // , or _
  int precision = -1;  // none
  char type = 0;       // of the value
};

// "[[fill]align][sign][#][0][width][grouping][.precision][type]"
FormatSpec parse_format_spec(std::string_view text);
std::string format_value(const Value& value, const FormatSpec& spec);

// Removes a decimal number from the front of `text` and returns it; `none` if there is none.
int take_number(std::string_view& text, int none);

}  // namespace tandem::model::jinja
