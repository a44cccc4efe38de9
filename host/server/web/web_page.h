// SPDX-License-Identifier: Apache-2.0
//
// The daemon's own page: files that are compiled into the program (files/, web_files.cmake).
//
// "/ui" is the page, "/ui/NAME" its style sheet and modules. Nothing comes from elsewhere, nothing
// is inline, and the Content-Security-Policy says so. Threads: pure functions.
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

// Whether the path is the page's, also of a file that it lacks.
bool is_web_path(std::string_view path);

// "/ui/" moves to "/ui": a browser sends a Basic key below the folder of the path that it gave the
// key for, and the page's data lie above "/ui/". Nothing: the path stays.
std::optional<http::Response> moved_page(std::string_view path);

// `start`: the file at "/ui". Nothing: there is no such file.
std::optional<http::Response> web_page(const http::Request& request,
                                       std::string_view start = "index.html");

// A browser asks its user for a key and sends it with all requests of the page.
http::Header ask_for_key();

}  // namespace tandem::server
