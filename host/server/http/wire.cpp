// SPDX-License-Identifier: Apache-2.0
//
// Serialises answer heads and chunks (RFC 9112 sections 4, 6, 7) and reads request targets
// (section 3.2). CR and LF in a header value become spaces, so that text of a request that is
// quoted in a header cannot start another header.
#include "server/http/wire.h"

#include <array>
#include <cctype>
#include <cstdio>
#include <ctime>

namespace tandem::server::http {
namespace {

const char* reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

std::string http_date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 40> text{};
  const std::size_t size =
      std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &utc);
  return std::string(text.data(), size);
}

void append_header(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ");
  for (const char c : value) out.push_back(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
  out.append("\r\n");
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool percent_decode(std::string_view text, std::string* out) {
  out->clear();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out->push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return false;
    const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0 || high + low == 0) return false;  // NUL would end it elsewhere
    out->push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return true;
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  for (const Header& header : headers) {
    if (header.name == name) return header.value;
  }
  return {};
}

std::string response_head(const Response& response, Framing framing, bool keep_alive) {
  std::string out =
      "HTTP/1.1 " + std::to_string(response.status) + " " + reason_phrase(response.status) + "\r\n";
  append_header(out, "Date", http_date());
  append_header(out, "Server", "tandem");
  if (response.status != 204) append_header(out, "Content-Type", response.content_type);
  for (const Header& header : response.headers) append_header(out, header.name, header.value);
  if (framing == Framing::kChunked) append_header(out, "Transfer-Encoding", "chunked");
  if (framing == Framing::kLength && response.status != 204) {
    append_header(out, "Content-Length", std::to_string(response.body.size()));
  }
  append_header(out, "Connection", keep_alive ? "keep-alive" : "close");
  out.append("\r\n");
  return out;
}

void append_chunk(std::string& out, std::string_view data) {
  std::array<char, 20> size{};
  const int length = std::snprintf(size.data(), size.size(), "%zx\r\n", data.size());
  out.append(size.data(), static_cast<std::size_t>(length)).append(data).append("\r\n");
}

std::string_view target_authority(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    return target.substr(0, target.find_first_of("/?#"));
  }
  return {};
}

bool split_target(std::string_view target, std::string* path, std::string* query) {
  const std::string_view authority = target_authority(target);
  if (!authority.empty()) {
    target.remove_prefix(static_cast<std::size_t>(authority.data() - target.data()) +
                         authority.size());
    if (target.empty()) target = "/";
  }
  if (target == "*") {  // OPTIONS * HTTP/1.1
    path->assign(1, '*');
    query->clear();
    return true;
  }
  if (target.empty() || target.front() != '/') return false;
  const std::size_t mark = target.find_first_of("?#");
  *query = mark == std::string_view::npos || target[mark] == '#'
               ? std::string()
               : std::string(target.substr(mark + 1));
  return percent_decode(target.substr(0, mark), path);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(a[i])) !=
        std::tolower(static_cast<unsigned char>(b[i]))) {
      return false;
    }
  }
  return true;
}

}  // namespace tandem::server::http
