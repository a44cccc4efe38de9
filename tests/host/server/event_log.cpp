// SPDX-License-Identifier: Apache-2.0
//
// Lines are parsed at each call.
#include "host/server/event_log.h"

#include <sstream>
#include <stdexcept>

#include "host/server/server_fixture.h"

namespace tandem::test {

std::vector<Json> EventLog::events(const std::string& message) const {
  std::vector<Json> result;
  std::istringstream lines(text());
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line);
    if (event["message"].text() == message) result.push_back(event);
  }
  return result;
}

std::vector<Json> EventLog::requests(std::size_t count) const {
  const std::string message = "[server] request";
  if (!eventually([&] { return events(message).size() >= count; })) {
    throw std::runtime_error("the log lacks lines of requests:\n" + text());
  }
  return events(message);
}

}  // namespace tandem::test
