// SPDX-License-Identifier: Apache-2.0
//
// Text is inserted before lines; a counter is a load, an addition and a store.
#include "bitstreams/compiler/timing/instrument.h"

#include <algorithm>
#include <map>

namespace tandem::timing {
namespace {

// A value or label as the IR writes it: unnamed ones are numbers, which quotes would make names.
std::string written(const std::string& name) {
  const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
  return is_number ? "%" + name : "%\"" + name + "\"";
}

class Writer {
 public:
  Writer(const IrModule& module, const Analysis& analysis, const std::string& stem)
      : module_(module), analysis_(analysis), stem_(stem) {
    opaque_ = std::any_of(module.lines.begin(), module.lines.end(), [](const std::string& line) {
      return line.starts_with("define ") &&
             (line.find("(ptr") != std::string::npos || line.find(", ptr") != std::string::npos);
    });
    count_type_ = "[" + std::to_string(std::max(analysis.model.num_counters, 1)) + " x i64]";
    site_type_ = "[" +
                 std::to_string(std::max<size_t>(analysis.model.sites.size(), 1) * kSiteWords) +
                 " x i64]";
  }

  std::string run() {
    for (const EntryCounter& each : analysis_.entries) add_entry(each);
    for (const BlockCounter& each : analysis_.blocks) add_to_counter(each.line, each.counter, "1");
    for (const SitePoint& each : analysis_.sites) add_access(each);
    for (const StreamHook& each : analysis_.streams) add_stream(each);
    std::string text;
    for (size_t line = 0; line < module_.lines.size(); ++line) {
      const auto found = before_.find(line);
      if (found != before_.end()) text += found->second;
      text += module_.lines[line] + "\n";
    }
    return text + globals();
  }

 private:
  std::string pointer(const std::string& type) const { return opaque_ ? "ptr" : type + "*"; }

  std::string word_of(const char* name, const std::string& type, int index) const {
    return pointer("i64") + " getelementptr inbounds (" + type + ", " + pointer(type) + " @" +
           name + stem_ + ", i64 0, i64 " + std::to_string(index) + ")";
  }

  void add_to_counter(size_t line, int counter, const std::string& value) {
    const std::string at = word_of("tandem_time_counts_", count_type_, counter);
    const std::string name = "%tandem.count." + std::to_string(number_++);
    before_[line] += "  " + name + " = load i64, " + at + "\n  " + name + ".new = add i64 " + name +
                     ", " + value + "\n  store i64 " + name + ".new, " + at + "\n";
  }

  void add_entry(const EntryCounter& each) {
    const std::string name = "%tandem.entry." + std::to_string(number_++);
    std::string phi = "  " + name + " = phi i64";
    const char* separator = " ";
    for (const auto* labels : {&each.entering, &each.back}) {
      for (const std::string& label : *labels) {
        phi += std::string(separator) + "[ " + (labels == &each.entering ? "1" : "0") + ", " +
               written(label) + " ]";
        separator = ", ";
      }
    }
    before_[each.phi_line] = phi + "\n" + before_[each.phi_line];
    add_to_counter(each.line, each.counter, name);
  }

  void add_access(const SitePoint& each) {
    std::string value = written(each.pointer.substr(1));
    std::string& text = before_[each.line];
    if (each.pointer_type != "ptr" && each.pointer_type != "i8*") {
      const std::string cast = "%tandem.at." + std::to_string(number_++);
      text += "  " + cast + " = bitcast " + each.pointer_type + " " + value + " to i8*\n";
      value = cast;
    }
    text += "  call void @tandem_time_access(" + pointer("i8") + " " + value + ", " +
            word_of("tandem_time_sites_", site_type_, each.site * kSiteWords) + ", i64 " +
            each.size + ")\n";
  }

  void add_stream(const StreamHook& each) {
    std::string& text = before_[each.line];
    std::string value = each.pointer.empty() ? "null" : each.pointer;
    if (each.pointer_type != "ptr" && !each.pointer.empty()) {
      const std::string cast = "%tandem.stream." + std::to_string(number_++);
      text += "  " + cast + " = bitcast " + each.pointer_type + " " + value + " to i8*\n";
      value = cast;
    }
    text += "  call void @tandem_time_stream(" + pointer("i8") + " " + value + ", i64 " +
            std::to_string(each.number) + ")\n";
  }

  std::string globals() const {
    const std::string json = write_model(analysis_.model);
    std::string escaped;
    for (const char c : json) {
      static constexpr char kHex[] = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\' || byte < 32) {
        escaped += std::string("\\") + kHex[byte >> 4] + kHex[byte & 15];
      } else {
        escaped += c;
      }
    }
    return "\n@tandem_time_model_" + stem_ + " = constant [" + std::to_string(json.size() + 1) +
           " x i8] c\"" + escaped + "\\00\"\n@tandem_time_counts_" + stem_ + " = global " +
           count_type_ + " zeroinitializer\n@tandem_time_sites_" + stem_ + " = global " +
           site_type_ + " zeroinitializer, align 64\n" + declaration();
  }

  // A source that has the kernel also has empty functions of these names.
  std::string declaration() const {
    for (const IrFunction& each : module_.functions) {
      if (each.name == "tandem_time_access") return {};
    }
    return "declare void @tandem_time_access(" + pointer("i8") + ", " + pointer("i64") +
           ", i64)\ndeclare void @tandem_time_stream(" + pointer("i8") + ", i64)\n";
  }

  const IrModule& module_;
  const Analysis& analysis_;
  const std::string stem_;
  bool opaque_ = false;
  std::string count_type_, site_type_;
  std::map<size_t, std::string> before_;  // by line
  int number_ = 0;
};

}  // namespace

std::string instrument(const IrModule& module, const Analysis& analysis, const std::string& stem) {
  return Writer(module, analysis, stem).run();
}

}  // namespace tandem::timing
