// SPDX-License-Identifier: Apache-2.0
//
// Words from left to right: the event, its trigger's keys, the fault, its keys.
#include "emulation/faults/fault_script.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "emulation/faults/fault_words.h"

namespace tandem::emulation {
namespace {

// One statement being read; errors name the script, the line and the field.
class Statement {
 public:
  Statement(const std::string& text, const std::string& script, uint32_t line)
      : words_(text), place_(script + ":" + std::to_string(line)), line_(line) {}

  bool next() {
    word_.clear();
    if (!(words_ >> word_)) return false;
    if (!key().empty() && !keys_.insert(key()).second) fail(key(), "is given twice");
    return true;
  }
  const std::string& word() const { return word_; }
  uint32_t line() const { return line_; }
  // "key=value" of the present word; a word without '=' has no key.
  std::string key() const {
    const size_t equal = word_.find('=');
    return equal == std::string::npos ? "" : word_.substr(0, equal);
  }
  std::string value() const { return word_.substr(word_.find('=') + 1); }

  [[noreturn]] void fail(const std::string& field, const std::string& problem) const {
    throw std::runtime_error(place_ + ": field '" + field + "': " + problem);
  }
  // The value that `read` makes of text.
  template <typename Reader>
  auto as(const std::string& field, const std::string& text, const Reader& read) const {
    try {
      return read(text);
    } catch (const std::exception& error) {
      fail(field, error.what());
    }
  }

 private:
  std::istringstream words_;
  std::string word_;
  std::set<std::string> keys_;  // so far
  const std::string place_;
  const uint32_t line_;
};

void read_trigger_key(const Statement& statement, FaultRule& rule) {
  const std::string key = statement.key();
  const std::string value = statement.value();
  const bool timed = rule.event == FaultEvent::kAfter;
  if (key == "card") {
    rule.card = statement.as(key, value, read_card);
  } else if (key == "every" && !timed) {
    rule.every = statement.as(key, value, read_count);
  } else if (key == "p" && !timed) {
    rule.probability = statement.as(key, value, read_share);
  } else if (key == "skip" && !timed) {
    rule.skip = statement.as(key, value, read_count);
  } else if (key == "count" && !timed) {
    rule.most = statement.as(key, value, read_count);
  } else if (key == "unit" && rule.event == FaultEvent::kLaunch) {
    if (value.empty()) statement.fail(key, "is empty; write a unit, or kernel:unit");
    rule.unit = value;
  } else if (key == "direction" && rule.event == FaultEvent::kSync) {
    rule.direction = statement.as(key, value, read_direction);
  } else {
    statement.fail(key, std::string("does not belong to the event '") + event_word(rule.event) +
                            "'; it takes " + trigger_keys(rule.event));
  }
}

void read_fault_key(const Statement& statement, CardFault& fault) {
  const std::string key = statement.key();
  const std::string value = statement.value();
  if (!has_key(fault.kind, key)) {
    statement.fail(key, std::string("does not belong to the fault '") + fault_word(fault.kind) +
                            "'; it takes " + fault_keys(fault.kind));
  }
  if (key == "for") fault.lasts = statement.as(key, value, read_time);
  if (key == "delay") fault.delay = statement.as(key, value, read_time);
  if (key == "by") fault.by = statement.as(key, value, read_time);
  if (key == "factor") fault.factor = statement.as(key, value, read_share);
  if (key == "bytes") fault.bytes = statement.as(key, value, read_bytes);
  if (key == "offset") fault.offset = statement.as(key, value, read_number);
  if (key == "address") fault.address = statement.as(key, value, read_number);
  if (key == "bit") fault.bit = statement.as(key, value, read_bit);
  if (key == "ecc") fault.ecc = statement.as(key, value, read_ecc);
  if (key == "error") fault.error = statement.as(key, value, read_error);
}

void check_rule(const Statement& statement, const FaultRule& rule) {
  const CardFault& fault = rule.fault;
  if (rule.number != 0 && rule.every != 0) {
    statement.fail("every", "cannot be combined with a number; give one of them");
  }
  if (fault.kind == FaultKind::kLate && fault.by.count() == 0) {
    statement.fail("by", "is missing; say how late: late by=20ms");
  }
  if (fault.kind == FaultKind::kSlow && !(fault.factor < 1)) {
    statement.fail("factor", "is missing or 1; say how slow: slow factor=0.1");
  }
  if (fault.kind == FaultKind::kShort && fault.bytes == 0) {
    statement.fail("bytes", "is missing; say how much memory is left: short bytes=64M");
  }
  if (fault.kind == FaultKind::kStall && !fault.lasts) {
    statement.fail("for", "is missing; say how long: stall for=200ms");
  }
  if (rule.number != 0 && rule.skip != 0) {
    statement.fail("skip", "cannot be combined with a number; give one of them");
  }
  if (fault.error != 0 &&
      (rule.event == FaultEvent::kOpen || rule.event == FaultEvent::kAllocate)) {
    statement.fail("error", std::string("is not for ") + event_word(rule.event) +
                                ", whose errors XRT does not pass on");
  }
  const bool of_sync = rule.event == FaultEvent::kSync;
  if (fault.offset && !of_sync) statement.fail("offset", "is for sync; at a launch it is address=");
  if (fault.address && of_sync) statement.fail("address", "is for launch; at a sync it is offset=");
}

// The words up to the fault.
void read_trigger(Statement& statement, FaultRule& rule) {
  const std::string event = event_word(rule.event);
  bool first = true;
  while (statement.next()) {
    if (!statement.key().empty()) {
      read_trigger_key(statement, rule);
    } else if (const auto kind = find_fault(statement.word())) {
      rule.fault.kind = *kind;
      if (!may_happen(*kind, rule.event)) {
        statement.fail(statement.word(), "cannot happen at '" + event +
                                             "'; these can happen: " + faults_at(rule.event));
      }
      if (rule.event == FaultEvent::kAfter && rule.after.count() == 0) {
        statement.fail(event, "needs a time: after 500ms " + statement.word());
      }
      return;
    } else if (first && rule.event == FaultEvent::kAfter) {
      rule.after = statement.as(event, statement.word(), read_time);
    } else if (first && is_number(statement.word())) {
      rule.number = statement.as(event, statement.word(), read_count);
    } else {
      statement.fail(statement.word(), "is not a fault; at '" + event +
                                           "' these can happen: " + faults_at(rule.event));
    }
    first = false;
  }
  statement.fail(event, "has no fault after it; these can happen: " + faults_at(rule.event));
}

void read_statement(Statement& statement, FaultScript& script) {
  if (!statement.next()) return;
  if (statement.word() == "seed") {
    if (!statement.next()) statement.fail("seed", "is not followed by a number");
    script.seed = statement.as("seed", statement.word(), read_number);
    if (statement.next())
      statement.fail(statement.word(), "is not allowed after the seed's number");
    return;
  }
  const auto event = find_event(statement.word());
  if (!event) {
    statement.fail(statement.word(), "is not an event; a line begins with seed, " + all_events());
  }
  FaultRule rule;
  rule.event = *event;
  rule.line = statement.line();
  read_trigger(statement, rule);
  while (statement.next()) {
    if (statement.key().empty())
      statement.fail(statement.word(), "is not a key=value of the fault");
    read_fault_key(statement, rule.fault);
  }
  check_rule(statement, rule);
  script.rules.push_back(rule);
}

// The shortest text that reads as the same number.
std::string number_text(double number) {
  char text[32];
  const auto [end, code] = std::to_chars(std::begin(text), std::end(text), number);
  return std::string(text, end);
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || std::filesystem::is_directory(path)) {
    throw std::runtime_error("the script of faults '" + path + "' cannot be read");
  }
  return text.str();
}

}  // namespace

FaultScript parse_fault_script(const std::string& text, const std::string& name) {
  FaultScript script;
  std::istringstream lines(text);
  uint32_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream statements(line.substr(0, line.find('#')));
    for (std::string words; std::getline(statements, words, ';');) {
      Statement statement(words, name, number);
      read_statement(statement, script);
    }
  }
  return script;
}

FaultScript read_fault_script(const std::string& value) {
  if (!value.empty() && value[0] == '@') {
    return parse_fault_script(read_text(value.substr(1)), value.substr(1));
  }
  std::error_code none;
  const bool is_path =
      value.find_first_of(" \t\n;") == std::string::npos &&
      (value.find('/') != std::string::npos || std::filesystem::exists(value, none));
  return is_path ? parse_fault_script(read_text(value), value)
                 : parse_fault_script(value, "TANDEM_FAULTS");
}

std::string fault_statement(const FaultRule& rule) {
  std::ostringstream out;
  out << event_word(rule.event);
  if (rule.event == FaultEvent::kAfter) out << " " << time_text(rule.after);
  if (rule.number != 0) out << " " << rule.number;
  if (rule.every != 0) out << " every=" << rule.every;
  if (rule.probability != 1) out << " p=" << number_text(rule.probability);
  if (rule.skip != 0) out << " skip=" << rule.skip;
  if (rule.most != 0) out << " count=" << rule.most;
  if (rule.card) out << " card=" << *rule.card;
  if (!rule.unit.empty()) out << " unit=" << rule.unit;
  if (rule.direction != LinkDirection::kBoth)
    out << " direction=" << direction_word(rule.direction);
  const CardFault& fault = rule.fault;
  out << " " << fault_word(fault.kind);
  if (fault.lasts) out << " for=" << time_text(*fault.lasts);
  if (fault.delay.count() != 0) out << " delay=" << time_text(fault.delay);
  if (fault.by.count() != 0) out << " by=" << time_text(fault.by);
  if (fault.factor != 1) out << " factor=" << number_text(fault.factor);
  if (fault.bytes != 0) out << " bytes=" << fault.bytes;
  if (fault.offset) out << " offset=" << *fault.offset;
  if (fault.address) out << " address=" << *fault.address;
  if (fault.bit) out << " bit=" << *fault.bit;
  if (fault.ecc != Ecc::kNone) out << " ecc=" << ecc_word(fault.ecc);
  if (fault.error != 0) out << " error=" << error_word(fault.error);
  return out.str();
}

}  // namespace tandem::emulation
