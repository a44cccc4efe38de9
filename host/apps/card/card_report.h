// SPDX-License-Identifier: Apache-2.0
//
// Reads the findings of emulated cards from the file of TANDEM_CARD_REPORT (JSON lines), and
// formats them as text, GitHub annotations and SARIF 2.1.0.
//
// Pure except read_card_report() and finding_text_here(). Threads: any. Errors: Error("card", ...)
// with file and line. The format of the lines: drivers/emulation/README.md, "What it finds".
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
  nlohmann::ordered_json members;  // all members of the line
  int count = 1;                   // number of equal lines
};

// Returns the findings of a file from `begin_bytes` on, in order. Equal ones are listed once. If
// the file does not exist, there are none; with `must_exist` it is an error.
std::vector<CardFinding> read_card_report(const std::string& path, std::uint64_t begin_bytes,
                                          bool must_exist);

// A member that is a text; empty where there is none.
std::string text_member(const nlohmann::ordered_json& line, const char* name);
// What to do about a finding of this kind; empty for a kind that is not known.
std::string card_advice(const std::string& kind);
// The same for this finding: no depths help processes that wait for values only.
std::string card_advice(const CardFinding& finding);

// The text in the style of compiler messages, then the waits of a deadlock, the depths, and the
// advice. Paths below `folder` become relative to it: findings of kernels have the paths that v++
// was given, often relative ones, and findings of host programs have absolute ones.
std::string finding_text(const CardFinding& finding, const std::string& folder);
// The same with the current folder.
std::string finding_text_here(const CardFinding& finding);
// "2 bugs: 1 error, 1 warning".
std::string summary_text(const std::vector<CardFinding>& findings);
// "::error file=...,line=...,title=...::message". Paths below `workspace` become relative to it.
std::string github_annotation(const CardFinding& finding, const std::string& workspace);
nlohmann::ordered_json findings_json(const std::vector<CardFinding>& findings);
nlohmann::ordered_json findings_sarif(const std::vector<CardFinding>& findings,
                                      const std::string& version);

}  // namespace tandem::apps
