// SPDX-License-Identifier: Apache-2.0
//
// A run that has not ended counts as busy, too.
#include "apps/card/card_view.h"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "apps/card/card_report.h"
#include "apps/card/card_times.h"

namespace tandem::apps {
namespace {

using Json = nlohmann::ordered_json;

std::uint64_t count_member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->get<std::uint64_t>() : 0;
}

const WatchedCard* find_card(const std::vector<WatchedCard>& cards, int process) {
  const auto found = std::find_if(cards.begin(), cards.end(), [process](const WatchedCard& card) {
    return card.process == process && card.answer.is_object();
  });
  return found == cards.end() ? nullptr : &*found;
}

std::uint64_t busy_of(const Json& unit) {
  return count_member(unit, "busy_ns") + count_member(unit, "running_ns");
}

// The share of `ns` in which the unit ran a kernel; null if it is new.
Json busy_share(const Json* before, const Json& unit, double ns) {
  if (before == nullptr || !(ns > 0)) return nullptr;
  for (const Json& each : list_member(*before, "units")) {
    if (text_member(each, "unit") != text_member(unit, "unit") ||
        text_member(each, "kernel") != text_member(unit, "kernel")) {
      continue;
    }
    const std::uint64_t was = busy_of(each), is = busy_of(unit);
    return is < was ? Json() : Json(std::min(1.0, static_cast<double>(is - was) / ns));
  }
  return nullptr;
}

Json rate(const Json* before, const Json& now, const char* name, double ns) {
  if (before == nullptr || !(ns > 0) || count_member(now, name) < count_member(*before, name))
    return nullptr;
  return static_cast<double>(count_member(now, name) - count_member(*before, name)) / ns;
}

void add_answer(const WatchedCard* before, const WatchedCard& card, Json& view) {
  const Json& now = card.answer;
  const Json* const then = before == nullptr ? nullptr : &before->answer;
  const double ns = before == nullptr
                        ? 0
                        : std::chrono::duration<double, std::nano>(card.at - before->at).count();
  view["platform"] = text_member(now, "platform");
  view["applications"] = list_member(now, "applications");
  view["memory_bytes"] = count_member(now, "memory_bytes");
  view["used_bytes"] = count_member(now, "memory_bytes") -
                       std::min(count_member(now, "memory_bytes"), count_member(now, "free_bytes"));
  view["bytes_to_device"] = count_member(now, "bytes_to_device");
  view["bytes_from_device"] = count_member(now, "bytes_from_device");
  view["to_device_gb_per_s"] = rate(then, now, "bytes_to_device", ns);
  view["from_device_gb_per_s"] = rate(then, now, "bytes_from_device", ns);
  view["findings"] = count_member(now, "findings");
  auto& units = view["units"] = Json::array();
  for (const Json& unit : list_member(now, "units")) {
    units.push_back({{"kernel", text_member(unit, "kernel")},
                     {"unit", text_member(unit, "unit")},
                     {"state", text_member(unit, "state")},
                     {"commands", count_member(unit, "commands")},
                     {"launches", count_member(unit, "launches")},
                     {"busy_share", busy_share(then, unit, ns)},
                     {"waits", list_member(unit, "waits")}});
  }
  view["streams"] = list_member(now, "streams");
}

std::string percent(const Json& share) {
  return share.is_number() ? fmt::format("{:.0f} %", 100 * share.get<double>()) : "-";
}

std::string gigabytes(const Json& value) {
  return value.is_number() ? fmt::format("{:.2f}", value.get<double>()) : "-";
}

std::string stream_level(const Json& stream) {
  const std::uint64_t held = count_member(stream, "held"), depth = count_member(stream, "depth");
  return depth == 0 ? fmt::format("{} held", held) : fmt::format("{} of {} held", held, depth);
}

std::string card_lines(const Json& card) {
  std::string text = fmt::format("card {} ({}): {}", count_member(card, "process"),
                                 text_member(card, "card"), text_member(card, "state"));
  if (!card.contains("platform")) return text + "\n";
  text += fmt::format(", {}, used by", text_member(card, "platform"));
  for (const Json& process : list_member(card, "applications")) text += " " + process.dump();
  text += "\n";
  text += fmt::format(
      "  memory {:.1f} of {:.1f} MiB used; to the device {} GB/s, from it {} GB/s; {} "
      "findings\n",
      static_cast<double>(count_member(card, "used_bytes")) / (1 << 20),
      static_cast<double>(count_member(card, "memory_bytes")) / (1 << 20),
      gigabytes(card["to_device_gb_per_s"]), gigabytes(card["from_device_gb_per_s"]),
      count_member(card, "findings"));
  if (list_member(card, "units").empty()) return text + "  no bitstream is loaded\n";
  text += fmt::format("  {:<24} {:<24} {:<6} {:>8} {:>9} {:>6}\n", "kernel", "unit", "state",
                      "commands", "launches", "busy");
  for (const Json& unit : list_member(card, "units")) {
    text += fmt::format("  {:<24} {:<24} {:<6} {:>8} {:>9} {:>6}\n", text_member(unit, "kernel"),
                        text_member(unit, "unit"), text_member(unit, "state"),
                        count_member(unit, "commands"), count_member(unit, "launches"),
                        percent(unit["busy_share"]));
    for (const Json& wait : list_member(unit, "waits")) {
      if (wait.is_string()) text += "    " + wait.get<std::string>() + "\n";
    }
  }
  for (const Json& stream : list_member(card, "streams")) {
    text +=
        fmt::format("  stream {} ({} -> {}): {}\n", text_member(stream, "stream"),
                    text_member(stream, "from"), text_member(stream, "to"), stream_level(stream));
  }
  return text;
}

}  // namespace

Json cards_json(const std::vector<WatchedCard>& before, const std::vector<WatchedCard>& now) {
  Json view{{"cards", Json::array()}};
  for (const WatchedCard& card : now) {
    Json entry{{"process", card.process}, {"card", card.role}, {"state", card.state}};
    if (card.answer.is_object()) add_answer(find_card(before, card.process), card, entry);
    view["cards"].push_back(std::move(entry));
  }
  return view;
}

std::string cards_text(const Json& view, std::size_t width) {
  std::string all;
  for (const Json& card : list_member(view, "cards")) all += card_lines(card);
  if (all.empty()) all = "no emulated card runs for this user\n";
  if (width == 0) return all;
  std::string text;
  std::size_t column = 0;
  for (const char c : all) {
    const bool continues = (static_cast<unsigned char>(c) & 0xc0) == 0x80;  // of a character
    if (c == '\n') column = 0;
    if (c == '\n' || column + (continues ? 0 : 1) <= width) text += c;
    if (c != '\n' && !continues) ++column;
  }
  return text;
}

}  // namespace tandem::apps
