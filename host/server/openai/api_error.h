// SPDX-License-Identifier: Apache-2.0
//
// ApiError: an error for the client, in the form of OpenAI's error object.
//
// Thrown while a request is read, and caught on the same thread, which answers with it.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "server/generation_service.h"
#include "server/http/exchange.h"

namespace tandem::server::openai {

struct ApiError : std::runtime_error {
  // `param`: the wrong field ("messages[0].content"); empty: null. The same for `code`.
  ApiError(int http_status, const std::string& message, std::string at_fault = {},
           std::string error_code = {})
      : std::runtime_error(message),
        status(http_status),
        param(std::move(at_fault)),
        code(std::move(error_code)) {}

  int status;
  std::string param;
  std::string code;
  int retry_after_seconds = 1;  // with 429 and 503
};

// The text of an error without the module that it begins with, of which clients know nothing:
// "[sampler] top_p must be in 0..1" -> "top_p must be in 0..1".
std::string text_for_client(const std::exception& error);

// 503 if the service is stopping, 429 if the queue is full. Not for kAccepted.
ApiError not_admitted(SubmitStatus status, int retry_after_seconds);

// The word by which programs know the error: its code, otherwise its type.
std::string error_word(const ApiError& error);

// {"error": {"message", "type", "param", "code"}}; the type follows from the status.
std::string error_body(const ApiError& error);
http::Response error_response(const ApiError& error);

}  // namespace tandem::server::openai
