// SPDX-License-Identifier: Apache-2.0
//
// The form of log lines: text for people or one JSON object per line, and lines with named fields.
//
// Text: 2026-05-04T03:02:01.123+00:00 info [server] request id=7f status=200
// JSON: {"time": "...", "level": "info", "message": "[server] request", "id": "7f", "status": 200}
// Lines go through spdlog's default logger, which has the level and the sinks. JSON escapes every
// byte of a message. Text escapes only fields: pass text from clients in messages through
// printable(). Threads: any, except use_log_format(): call it before other threads log.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace tandem {

enum class LogFormat { kText, kJson };

// Sets the format of the default logger.
void use_log_format(LogFormat format);
LogFormat log_format();

struct LogField {
  std::string_view name;  // consists of letters, digits and '_'
  std::variant<std::string_view, std::int64_t, double> value;
};

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// `message` and the names of fields are constants of the program; values may come from clients.
void log_event(LogLevel level, std::string_view message, std::span<const LogField> fields);

// Makes text of a client safe for a log line: escapes control characters, quotes, backslashes and
// invalid UTF-8 (as "\x1b"), and cuts it after 256 bytes.
std::string printable(std::string_view text);

}  // namespace tandem
