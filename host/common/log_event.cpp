// SPDX-License-Identifier: Apache-2.0
//
// The fields of an event reach the formatter through a thread-local pointer, because spdlog formats
// in the thread that logs.
#include "common/log_event.h"

#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>

#include "common/utf8.h"

namespace tandem {
namespace {

constexpr const char* kTime = "%Y-%m-%dT%H:%M:%S.%e%z";
constexpr std::size_t kMaxPrintableBytes = 256;

std::atomic<LogFormat> chosen_format = LogFormat::kText;
thread_local std::span<const LogField> event_fields;

void append_hex(std::string& out, const char* introduction, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += introduction;
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// Whether a byte or a code point of one byte stands for itself in both forms.
bool is_plain(unsigned char c) { return c >= 0x20 && c != 0x7f && c != '"' && c != '\\'; }

// U+0080 to U+009F: terminals obey them as they obey C0.
bool is_c1(std::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xc2' &&
         static_cast<unsigned char>(sequence[1]) < 0xa0;
}

void append_json_text(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const Utf8Sequence next = next_utf8(text);
    const std::string_view sequence = text.substr(0, next.length);
    text.remove_prefix(next.length);
    const auto first = static_cast<unsigned char>(sequence.front());
    if (!next.valid) {
      out += "\xef\xbf\xbd";
    } else if (next.length > 1 || is_plain(first)) {
      out += sequence;
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += static_cast<char>(first);
    } else if (first == '\n') {
      out += "\\n";
    } else {
      append_hex(out, "\\u00", first);
    }
  }
  out += '"';
}

void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const Utf8Sequence next = next_utf8(text);
    const std::string_view sequence = text.substr(0, next.length);
    text.remove_prefix(next.length);
    const auto first = static_cast<unsigned char>(sequence.front());
    if (next.valid && (next.length > 1 ? !is_c1(sequence) : is_plain(first))) {
      out += sequence;
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += static_cast<char>(first);
    } else {
      for (const char c : sequence) append_hex(out, "\\x", static_cast<unsigned char>(c));
    }
  }
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 64> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 6);
  return std::string(text.data(), end.ptr);
}

std::string number_text(std::int64_t value) { return std::to_string(value); }

void append_text_value(std::string& out, std::string_view value) {
  bool bare = !value.empty();
  for (const char c : value) {
    bare = bare && is_plain(static_cast<unsigned char>(c)) && c != ' ' && c != '=' &&
           static_cast<unsigned char>(c) < 0x80;
  }
  if (!bare) out += '"';
  out += printable(value);
  if (!bare) out += '"';
}

class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& to) override {
    spdlog::memory_buf_t time;
    time_.format(message, time);
    std::string line = "{\"time\":\"" + std::string(time.data(), time.size()) + "\",\"level\":\"";
    const auto level = spdlog::level::to_string_view(message.level);
    line.append(level.data(), level.size());
    line += "\",\"message\":";
    append_json_text(line, std::string_view(message.payload.data(), message.payload.size()));
    for (const LogField& field : event_fields) {
      line += ",\"" + std::string(field.name) + "\":";
      if (const auto* text = std::get_if<std::string_view>(&field.value)) {
        append_json_text(line, *text);
      } else if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
        line += number_text(*integer);
      } else {
        line += number_text(std::get<double>(field.value));
      }
    }
    line += "}\n";
    to.append(line.data(), line.data() + line.size());
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>();
  }

 private:
  spdlog::pattern_formatter time_{kTime, spdlog::pattern_time_type::local, ""};
};

// Spdlog's own, with the fields behind the message.
class TextFields final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& to) override {
    std::string text;
    for (const LogField& field : event_fields) {
      text += ' ';
      text += field.name;
      text += '=';
      if (const auto* value = std::get_if<std::string_view>(&field.value)) {
        append_text_value(text, *value);
      } else if (const auto* integer = std::get_if<std::int64_t>(&field.value)) {
        text += number_text(*integer);
      } else {
        text += number_text(std::get<double>(field.value));
      }
    }
    to.append(text.data(), text.data() + text.size());
  }

  std::unique_ptr<spdlog::custom_flag_formatter> clone() const override {
    return std::make_unique<TextFields>();
  }
};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      break;
  }
  return spdlog::level::err;
}

}  // namespace

LogFormat log_format() { return chosen_format; }

void use_log_format(LogFormat format) {
  chosen_format = format;
  if (format == LogFormat::kJson) return spdlog::set_formatter(std::make_unique<JsonFormatter>());
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<TextFields>('*').set_pattern(std::string(kTime) + " %^%l%$ %v%*");
  spdlog::set_formatter(std::move(formatter));
}

void log_event(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  event_fields = fields;
  spdlog::default_logger_raw()->log(spdlog_level(level),
                                    spdlog::string_view_t(message.data(), message.size()));
  event_fields = {};
}

std::string printable(std::string_view text) {
  std::string out;
  append_escaped(out, text.substr(0, kMaxPrintableBytes));
  if (text.size() > kMaxPrintableBytes) out += "...";
  return out;
}

}  // namespace tandem
