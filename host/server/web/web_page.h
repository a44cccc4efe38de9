// SPDX-License-Identifier: Apache-2.0
//
// The daemon's own web page: files that are compiled into the program (files/, web_files.cmake).
//
// "/ui" is the page, "/ui/NAME" its style sheet and modules. Everything comes from this server and
// nothing is inline; the Content-Security-Policy enforces this. Threads: pure functions.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "server/http/exchange.h"

namespace tandem::server {

struct WebFile {
  std::string_view name;  // "app.js"
  std::string_view bytes;
};

std::span<const WebFile> web_files();

// Whether the path belongs to the page, also for a file that does not exist.
bool is_web_path(std::string_view path);

// Redirects "/ui/" to "/ui". A browser sends a Basic key only below the folder of the path for
// which it got the key, and the page's data are above "/ui/". Empty: no redirect.
std::optional<http::Response> moved_page(std::string_view path);

// `start`: the file at "/ui". Empty if there is no such file.
std::optional<http::Response> web_page(const http::Request& request,
                                       std::string_view start = "index.html");

// Makes a browser ask its user for a key and send it with all requests of the page.
http::Header ask_for_key();

}  // namespace tandem::server
