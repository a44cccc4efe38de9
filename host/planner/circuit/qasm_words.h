// SPDX-License-Identifier: Apache-2.0
//
// Divides OpenQASM 2 text into words with their lines: names, numbers, quoted texts and marks.
//
// Threads: pure. Errors: Error with the line for a character that is not part of the language.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::planner {

enum class QasmKind { kName, kNumber, kText, kMark, kEnd };

struct QasmWord {
  QasmKind kind = QasmKind::kEnd;
  std::string text;
  std::int64_t line = 1;
};

// The last word is of kind kEnd.
std::vector<QasmWord> qasm_words(std::string_view text);

[[noreturn]] void refuse_qasm(std::int64_t line, const std::string& what);

}  // namespace tandem::planner
