// SPDX-License-Identifier: Apache-2.0
//
// A name is compared without its port and without a final dot.
#include "server/host_check.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "server/http/wire.h"

namespace tandem::server {
namespace {

bool is_port(std::string_view text) {
  return text.size() <= 5 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The name in "name:port"; none when there is something else behind it.
std::optional<std::string_view> without_port(std::string_view host) {
  const bool is_bracketed = host.starts_with('[');
  const std::size_t end = is_bracketed ? host.find(']') : host.find(':');
  if (end == std::string_view::npos) {
    if (is_bracketed) return std::nullopt;
    return host;
  }
  const std::string_view rest = host.substr(is_bracketed ? end + 1 : end);
  if (!rest.empty() && (rest.front() != ':' || !is_port(rest.substr(1)))) return std::nullopt;
  return is_bracketed ? host.substr(1, end - 1) : host.substr(0, end);
}

bool is_ip_address(const std::string& text, bool is_bracketed) {
  in6_addr address;
  return ::inet_pton(is_bracketed ? AF_INET6 : AF_INET, text.c_str(), &address) == 1;
}

}  // namespace

HostCheck::HostCheck(std::vector<std::string> names) : names_(std::move(names)) {}

bool HostCheck::accepts(std::string_view host) const {
  const auto is_name = [](std::string_view name) {
    return [name](const std::string& known) {
      return known == "*" || http::equals_ignoring_case(known, name);
    };
  };
  const auto found = without_port(host);
  if (!found || found->empty()) return false;
  std::string_view name = *found;
  if (is_ip_address(std::string(name), host.starts_with('['))) return true;
  if (name.ends_with('.')) name.remove_suffix(1);
  constexpr std::string_view kLoopback = "localhost";
  if (http::equals_ignoring_case(name, kLoopback)) return true;
  constexpr std::string_view kBelowLoopback = ".localhost";  // RFC 6761: never resolved elsewhere
  if (name.size() > kBelowLoopback.size() &&
      http::equals_ignoring_case(name.substr(name.size() - kBelowLoopback.size()),
                                 kBelowLoopback)) {
    return true;
  }
  return std::any_of(names_.begin(), names_.end(), is_name(name));
}

}  // namespace tandem::server
