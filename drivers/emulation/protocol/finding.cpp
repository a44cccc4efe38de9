// SPDX-License-Identifier: Apache-2.0
//
// Appends with O_APPEND and one write, so lines of several processes do not mix.
#include "emulation/protocol/finding.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace tandem::emulation {
namespace {

std::string string_or_null(const std::string& text) {
  return text.empty() ? "null" : json_string(text);
}

}  // namespace

std::string json_string(const std::string& text) {
  using nlohmann::json;
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

bool tells_findings() {
  const char* const where = std::getenv("TANDEM_CARD_FINDINGS");
  const char* const report = std::getenv("TANDEM_CARD_REPORT");
  return where == nullptr || std::string(where) != "report" || report == nullptr || *report == '\0';
}

std::string json_line(const Finding& finding) {
  std::string out = "{\"kind\": " + json_string(finding.kind) +
                    ", \"severity\": " + json_string(finding.severity) +
                    ", \"kernel\": " + string_or_null(finding.kernel) +
                    ", \"unit\": " + string_or_null(finding.unit) +
                    ", \"argument\": " + string_or_null(finding.argument) +
                    ", \"file\": " + string_or_null(finding.file) +
                    ", \"line\": " + (finding.line > 0 ? std::to_string(finding.line) : "null") +
                    ", \"message\": " + json_string(finding.message);
  for (const auto& [name, value] : finding.more) out += ", " + json_string(name) + ": " + value;
  return out + "}";
}

bool append_finding(const std::string& file, const Finding& finding) {
  return append_line(file, json_line(finding));
}

bool append_line(const std::string& file, std::string line) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) return false;
  line += "\n";
  const ssize_t written = ::write(descriptor, line.data(), line.size());
  const int code = errno;
  close(descriptor);
  errno = code;
  return written == static_cast<ssize_t>(line.size());
}

}  // namespace tandem::emulation
