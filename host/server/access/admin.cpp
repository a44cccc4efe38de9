// SPDX-License-Identifier: Apache-2.0
//
// Requests of these routes are not listed, because they end at once.
#include "server/access/admin.h"

#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "common/counted.h"
#include "common/log_event.h"
#include "common/recent_log.h"
#include "server/openai/api_error.h"
#include "server/openai/field_reader.h"
#include "server/openai/json_document.h"

namespace tandem::server {
namespace {

using nlohmann::ordered_json;
using openai::ApiError;

http::Response json_answer(int status, const ordered_json& body) {
  http::Response response;
  response.status = status;
  response.body = body.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
  return response;
}

// The one field of a body.
std::string read_field(std::string_view body, const char* name) {
  const ordered_json document = openai::parse_document(body);
  openai::FieldReader fields(document, "");
  std::string value = openai::string_value(fields.require(name), name);
  fields.check_unread(nullptr);
  return value;
}

// Of an operator, or of the page that shows the others.
bool is_operators(const RequestRecord& record) {
  const std::string& route = record.identity().route;
  return route.starts_with("/admin/") || route == "/ui/state";
}

}  // namespace

http::Response Admin::requests() const {
  ordered_json list = ordered_json::array();
  for (const auto& record : ledger_.in_progress()) {
    if (is_operators(*record)) continue;
    const std::string key = record->caller();
    list.push_back({{"id", record->id()},
                    {"key", key.empty() ? ordered_json(nullptr) : ordered_json(key)},
                    {"client", record->identity().peer},
                    {"method", record->identity().method},
                    {"route", record->identity().route},
                    {"seconds", record->seconds()},
                    {"choices", record->num_generations()},
                    {"prompt_tokens", record->prompt_tokens()},
                    {"completion_tokens", record->completion_tokens()}});
  }
  return json_answer(200, {{"requests", std::move(list)}});
}

http::Response Admin::cancel(std::string_view body) {
  const std::string id = read_field(body, "id");
  int count = 0;
  for (const auto& record : ledger_.in_progress()) {
    if (is_operators(*record) || record->id() != id) continue;
    for (const GenerationId generation : record->cancel()) service_.cancel(generation);
    ++count;
  }
  if (count == 0) {
    throw ApiError(404, "no request in progress has the id '" + id + "'; see /admin/requests", "id",
                   "request_not_found");
  }
  spdlog::info("[server] an operator cancelled {} with the id {}", counted(count, "request"),
               printable(id));
  return json_answer(200, {{"cancelled", count}});
}

http::Response Admin::drain() {
  if (!drain_) throw ApiError(501, "this program cannot be drained over HTTP; end it by a signal");
  if (!draining_.exchange(true)) {
    spdlog::info("[server] an operator asks to drain");
    drain_();
  }
  return json_answer(202, {{"status", "draining"}});
}

http::Response Admin::log_level(std::string_view body) {
  const std::string name = read_field(body, "level");
  for (const char* known : {"trace", "debug", "info", "warn", "error", "off"}) {
    if (name != known) continue;
    spdlog::set_level(spdlog::level::from_str(name));
    spdlog::info("[server] an operator set the log level to {}", name);
    return json_answer(200, {{"level", name}});
  }
  throw ApiError(400, "'level' must be trace, debug, info, warn, error or off", "level");
}

http::Response Admin::log() const { return json_answer(200, {{"lines", recent_log()}}); }

}  // namespace tandem::server
