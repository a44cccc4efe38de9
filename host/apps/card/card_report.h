// SPDX-License-Identifier: Apache-2.0
//
// What emulated cards found: the JSON lines of TANDEM_CARD_REPORT, and their forms for people,
// GitHub's annotations and SARIF 2.1.0.
//
// Pure but for read_card_report(). Threads: any. Errors: Error("card", ...) naming file and line.
// The lines: drivers/emulation/README.md, "What it finds".
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tandem::apps {

struct CardFinding {
  std::string kind;
  std::string severity;                      // "error", "warning" or "note"
  std::string kernel, unit, argument, file;  // empty: not known
  int line = 0;                              // 0: not known
  std::string message;
  nlohmann::ordered_json members;  // of the line
  int count = 1;                   // equal lines
};

// The findings of a file from `begin_bytes` on, in order; equal ones once. A file that does not
// exist has none, unless it must exist.
std::vector<CardFinding> read_card_report(const std::string& path, std::uint64_t begin_bytes,
                                          bool must_exist);

// What to do about a finding of this kind; empty for a kind that is not known.
std::string card_advice(const std::string& kind);

// Lines as compilers print them, then the waits of a deadlock, the depths, and the advice.
std::string finding_text(const CardFinding& finding);
// "2 bugs: 1 error, 1 warning".
std::string summary_text(const std::vector<CardFinding>& findings);
// "::error file=...,line=...,title=...::message". A file below `workspace` is named from there.
std::string github_annotation(const CardFinding& finding, const std::string& workspace);
nlohmann::ordered_json findings_json(const std::vector<CardFinding>& findings);
nlohmann::ordered_json findings_sarif(const std::vector<CardFinding>& findings,
                                      const std::string& version);

}  // namespace tandem::apps
