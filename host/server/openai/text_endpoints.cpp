// SPDX-License-Identifier: Apache-2.0
//
// The answer is posted back to the connection's strand.
#include "server/openai/text_endpoints.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/error.h"
#include "common/utf8.h"
#include "server/openai/api_error.h"
#include "server/openai/conversation.h"
#include "server/openai/field_reader.h"
#include "server/openai/generation_options.h"
#include "server/openai/json_document.h"
#include "server/openai/json_text.h"
#include "server/openai/prompt_tokens.h"
#include "server/openai/request_parser.h"

namespace tandem::server::openai {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t kMostTokens = std::size_t{1} << 20;  // of one request

constexpr int kRetrySeconds = 1;  // after 503

using Work = std::string (*)(const std::string& body, const ApiContext& context);

// One request on the pool. The exchange keeps it; only the strand touches the exchange.
class PooledAnswer final : public http::PendingAnswer {
 public:
  explicit PooledAnswer(http::Exchange& exchange) : exchange_(exchange) {}
  void abandon() override { over_ = true; }
  void server_stops() override {
    respond(error_response(not_admitted(SubmitStatus::kStopping, kRetrySeconds)));
  }

  void respond(http::Response response) {
    if (!std::exchange(over_, true)) exchange_.respond(std::move(response));
  }

 private:
  http::Exchange& exchange_;
  bool over_ = false;
};

http::Response answer_of(Work work, const std::string& body, const ApiContext& context) {
  try {
    http::Response response;
    response.body = work(body, context);
    const auto share = std::make_shared<AnswerMemory::Share>(context.answers);
    share->hold(response.body.size());
    response.held = share;
    return response;
  } catch (const ApiError& error) {
    return error_response(error);
  } catch (const std::exception& error) {
    spdlog::error("[server] a request failed: {}", error.what());
    return error_response(ApiError(500, "the server failed to handle this request"));
  }
}

void start(http::Exchange& exchange, std::shared_ptr<const ApiContext> context, Work work) {
  const auto answer = std::make_shared<PooledAnswer>(exchange);
  auto run = [post = exchange.poster(), weak = std::weak_ptr(answer), context, work,
              body = std::make_shared<std::string>(exchange.take_body())] {
    auto response = std::make_shared<http::Response>(answer_of(work, *body, *context));
    post([weak, response] {
      if (const auto asked = weak.lock()) asked->respond(std::move(*response));
    });
  };
  if (!context->pool->try_post(std::move(run))) {
    throw ApiError(503, "the server has too many requests to read; try again later", "", "busy");
  }
  exchange.keep(answer);
}

void append_tokens(std::string& out, const std::vector<TokenId>& tokens,
                   const GenerationService& service, bool with_pieces) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0) out += ',';
    if (!with_pieces) {
      append_number(out, std::int64_t{tokens[i]});
      continue;
    }
    out += R"({"id":)";
    append_number(out, std::int64_t{tokens[i]});
    out += R"(,"piece":)";
    const std::string bytes = service.token_bytes(tokens[i]);
    if (is_valid_utf8(bytes)) {
      append_quoted(out, bytes);
    } else {
      out += json(std::vector<std::uint8_t>(bytes.begin(), bytes.end())).dump();
    }
    out += '}';
  }
}

std::vector<TokenId> tokens_of(FieldReader& fields, const ApiContext& context) {
  const GenerationService& service = context.service;
  const json* content = fields.find("content");
  const json* prompt = fields.find("prompt");
  if ((content != nullptr) == (prompt != nullptr)) {
    fail_field("content", "or 'prompt' is required, but not both");
  }
  const char* name = content != nullptr ? "content" : "prompt";
  const std::string& text = string_value(content != nullptr ? *content : *prompt, name);
  const auto special = fields.boolean("add_special_tokens");
  TokenizeOptions options;
  options.add_special = fields.boolean("add_special").value_or(special.value_or(prompt != nullptr));
  options.max_tokens = kMostTokens;
  const bool parse_special = fields.boolean("parse_special").value_or(true);
  try {
    return service.tokenize({{text, parse_special}}, options);
  } catch (const PromptTooLong&) {
    fail_field(name, "has more than " + std::to_string(kMostTokens) + " tokens");
  } catch (const Error& error) {
    throw ApiError(400, text_for_client(error), name);
  }
}

// Reads tools and variables as a chat does.
Conversation conversation_of(FieldReader& fields, const ApiContext& context) {
  const RequestContext reading{{}, 0, context.limits};
  std::vector<std::string> ignored;
  return read_conversation(fields, reading, &ignored);
}

std::string tokenize(const std::string& body, const ApiContext& context) {
  const json document = parse_document(body);
  FieldReader fields(document, "");
  const bool with_pieces = fields.boolean("with_pieces").value_or(false);
  std::vector<TokenId> tokens;
  if (fields.find("messages") != nullptr) {
    tokens = tokens_of_chat(conversation_of(fields, context), context.service);
  } else {
    tokens = tokens_of(fields, context);
  }
  std::string out = R"({"tokens":[)";
  append_tokens(out, tokens, context.service, with_pieces);
  out += R"(],"count":)";
  append_number(out, static_cast<std::int64_t>(tokens.size()));
  out += R"(,"max_model_len":)";
  append_number(out, std::int64_t{context.service.max_request_tokens()});
  return out + "}";
}

std::string detokenize(const std::string& body, const ApiContext& context) {
  const json document = parse_document(body);
  FieldReader fields(document, "");
  const RequestContext vocabulary{{}, context.service.vocab_size(), {}};
  const auto tokens = read_token_ids(fields.require("tokens"), "tokens", vocabulary);
  std::string quoted;
  append_quoted(quoted, context.service.detokenize(tokens));
  return R"({"content":)" + quoted + R"(,"prompt":)" + quoted + "}";
}

}  // namespace

void handle_tokenize(http::Exchange& exchange, std::shared_ptr<const ApiContext> context) {
  start(exchange, std::move(context), tokenize);
}

void handle_detokenize(http::Exchange& exchange, std::shared_ptr<const ApiContext> context) {
  start(exchange, std::move(context), detokenize);
}

}  // namespace tandem::server::openai
