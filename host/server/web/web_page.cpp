// SPDX-License-Identifier: Apache-2.0
//
// Browsers keep no copy, because a new program has a new page, and it comes from the same machine.
#include "server/web/web_page.h"

#include <string>

namespace tandem::server {
namespace {

constexpr std::string_view kPage = "/ui", kFolder = "/ui/";

constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const char* content_type(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

const WebFile* file_at(std::string_view path, std::string_view start) {
  const std::string_view name = path == kPage ? start : path.substr(kFolder.size());
  for (const WebFile& file : web_files()) {
    if (file.name == name) return &file;
  }
  return nullptr;
}

}  // namespace

bool is_web_path(std::string_view path) { return path == kPage || path.starts_with(kFolder); }

std::optional<http::Response> moved_page(std::string_view path) {
  if (path != kFolder) return std::nullopt;
  http::Response response;
  response.status = 308;
  response.headers = {{"Location", std::string(kPage)}};
  return response;
}

std::optional<http::Response> web_page(const http::Request& request, std::string_view start) {
  const WebFile* file = file_at(request.path, start);
  if (file == nullptr) return std::nullopt;
  http::Response response;
  response.content_type = content_type(file->name);
  response.headers = {{"Content-Security-Policy", kPolicy},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"},
                      {"Cross-Origin-Opener-Policy", "same-origin"},
                      {"Cache-Control", "no-store"}};
  response.body = file->bytes;
  return response;
}

http::Header ask_for_key() {
  return {"WWW-Authenticate",
          "Basic realm=\"Tandem: any name, the API key as password\", "
          "charset=\"UTF-8\""};
}

}  // namespace tandem::server
