// SPDX-License-Identifier: Apache-2.0
//
// The forms of findings. GitHub's: "Workflow commands for GitHub Actions"; SARIF: OASIS, 2.1.0.
#include <algorithm>
#include <filesystem>
#include <set>

#include "apps/card/card_report.h"
#include "common/counted.h"

namespace tandem::apps {
namespace {

using nlohmann::ordered_json;

std::string place_text(const std::string& file, int line) {
  if (file.empty()) return {};
  return line > 0 ? file + ":" + std::to_string(line) : file;
}

// "kernel 'k', unit 'u', argument 'a'"; unknown parts are left out.
std::string subject_text(const CardFinding& finding) {
  std::string text;
  for (const auto& [name, value] : {std::pair{"kernel", &finding.kernel},
                                    {"unit", &finding.unit},
                                    {"argument", &finding.argument}}) {
    if (value->empty()) continue;
    text += (text.empty() ? "" : ", ") + std::string(name) + " '" + *value + "'";
  }
  return text;
}

std::string word(const ordered_json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string waits_text(const ordered_json& cycle) {
  std::string text;
  for (const ordered_json& wait : cycle) {
    if (!wait.is_object()) continue;
    const std::string line = word(wait, "line");
    const std::string file = word(wait, "file");
    text += "    process '" + word(wait, "process") + "' waits for " + word(wait, "waits_for") +
            " in stream '" + word(wait, "stream") + "', which holds " + word(wait, "held");
    const std::string depth = word(wait, "depth");
    if (depth != "0" && !depth.empty()) text += " of " + depth;
    if (!file.empty()) text += ": " + file + (line.empty() ? "" : ":" + line);
    text += "\n";
  }
  return text;
}

std::string depths_text(const ordered_json& depths) {
  std::string text;
  for (const auto& [stream, depth] : depths.items()) {
    text += "    stream '" + stream + "' passes with depth " + depth.dump() + "\n";
  }
  return text;
}

// A value of an annotation's properties; in the message only the first three matter.
std::string escaped(const std::string& text, bool is_property) {
  std::string out;
  for (const char c : text) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\r') {
      out += "%0D";
    } else if (c == '\n') {
      out += "%0A";
    } else if (is_property && c == ':') {
      out += "%3A";
    } else if (is_property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

std::string below(const std::string& file, const std::string& workspace) {
  const bool is_below = !workspace.empty() && file.size() > workspace.size() + 1 &&
                        file.compare(0, workspace.size(), workspace) == 0 &&
                        file[workspace.size()] == '/';
  return is_below ? file.substr(workspace.size() + 1) : file;
}

// `text` with every path below `folder` relative to it.
std::string with_paths_below(std::string text, const std::string& folder) {
  if (folder.empty()) return text;
  const std::string prefix = folder + "/";
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    const bool begins_a_path =
        at == 0 || std::string_view(" '\"(\n").find(text[at - 1]) != std::string_view::npos;
    if (begins_a_path) {
      text.erase(at, prefix.size());
    } else {
      at += prefix.size();
    }
  }
  return text;
}

std::string uri_of(const std::string& file) {
  static const char* const kDigits = "0123456789ABCDEF";
  std::string uri = file.starts_with("/") ? "file://" : "";
  for (const char c : file) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain =
        std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos;
    if (is_plain) {
      uri += c;
    } else {
      uri += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return uri;
}

ordered_json sarif_result(const CardFinding& finding) {
  const std::string subject = subject_text(finding);
  const std::string text = subject.empty() ? finding.message : subject + ": " + finding.message;
  ordered_json result = {{"ruleId", finding.kind},
                         {"level", finding.severity},
                         {"message", {{"text", text}}},
                         {"occurrenceCount", finding.count}};
  if (finding.file.empty()) return result;
  ordered_json place = {{"artifactLocation", {{"uri", uri_of(finding.file)}}}};
  if (finding.line > 0) place["region"] = {{"startLine", finding.line}};
  result["locations"] = ordered_json::array({{{"physicalLocation", std::move(place)}}});
  return result;
}

}  // namespace

std::string finding_text(const CardFinding& finding, const std::string& folder) {
  const std::string place = place_text(finding.file, finding.line);
  const std::string subject = subject_text(finding);
  std::string text = (place.empty() ? "" : place + ": ") + finding.severity + ": " + finding.kind;
  if (!subject.empty()) text += " in " + subject;
  if (finding.count > 1) text += " (" + std::to_string(finding.count) + " times)";
  text += ": " + finding.message + "\n";
  if (finding.members.contains("cycle")) text += waits_text(finding.members["cycle"]);
  if (finding.members.contains("depths_needed")) {
    text += depths_text(finding.members["depths_needed"]);
  }
  const std::string advice = card_advice(finding);
  if (!advice.empty()) text += "    what to do: " + advice + "\n";
  return with_paths_below(std::move(text), folder);
}

std::string finding_text_here(const CardFinding& finding) {
  std::error_code none;
  return finding_text(finding, std::filesystem::current_path(none).string());
}

std::string summary_text(const std::vector<CardFinding>& findings) {
  std::int64_t errors = 0;
  for (const CardFinding& finding : findings) errors += finding.severity == "error" ? 1 : 0;
  const auto all = static_cast<std::int64_t>(findings.size());
  if (all == 0) return "no bugs";
  return counted(all, "bug") + ": " + counted(errors, "error") + ", " +
         counted(all - errors, "warning");
}

std::string github_annotation(const CardFinding& finding, const std::string& workspace) {
  const std::string level = finding.severity == "error"     ? "error"
                            : finding.severity == "warning" ? "warning"
                                                            : "notice";
  std::string properties;
  if (!finding.file.empty()) {
    properties = "file=" + escaped(below(finding.file, workspace), true) + ",";
    if (finding.line > 0) properties += "line=" + std::to_string(finding.line) + ",";
  }
  properties += "title=" + escaped(finding.kind, true);
  const std::string subject = subject_text(finding);
  return "::" + level + " " + properties +
         "::" + escaped((subject.empty() ? "" : subject + ": ") + finding.message, false);
}

ordered_json findings_json(const std::vector<CardFinding>& findings) {
  std::int64_t errors = 0;
  ordered_json lines = ordered_json::array();
  for (const CardFinding& finding : findings) {
    errors += finding.severity == "error" ? 1 : 0;
    ordered_json line = finding.members;
    line["count"] = finding.count;
    const std::string advice = card_advice(finding);
    line["advice"] = advice.empty() ? ordered_json(nullptr) : ordered_json(advice);
    lines.push_back(std::move(line));
  }
  return {{"errors", errors},
          {"warnings", static_cast<std::int64_t>(findings.size()) - errors},
          {"findings", std::move(lines)}};
}

ordered_json findings_sarif(const std::vector<CardFinding>& findings, const std::string& version) {
  std::set<std::string> kinds;
  ordered_json results = ordered_json::array(), rules = ordered_json::array();
  for (const CardFinding& finding : findings) {
    results.push_back(sarif_result(finding));
    if (!kinds.insert(finding.kind).second) continue;
    ordered_json rule = {{"id", finding.kind}};
    const std::string advice = card_advice(finding.kind);
    if (!advice.empty()) rule["help"] = {{"text", advice}};
    rules.push_back(std::move(rule));
  }
  const ordered_json driver = {
      {"name", "tandem card"}, {"version", version}, {"rules", std::move(rules)}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", ordered_json::array(
                       {{{"tool", {{"driver", driver}}}, {"results", std::move(results)}}})}};
}

}  // namespace tandem::apps
