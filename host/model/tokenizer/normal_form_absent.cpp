// SPDX-License-Identifier: Apache-2.0
//
// Builds without utf8proc.
#include <algorithm>

#include "common/error.h"
#include "model/tokenizer/normal_form.h"

namespace tandem::model {

bool can_compose() { return false; }

std::string composed(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return std::string(text);  // composed already
  throw Error("tokenizer",
              "this build cannot normalise text; install libutf8proc-dev and build again");
}

}  // namespace tandem::model
