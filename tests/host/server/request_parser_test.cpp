// SPDX-License-Identifier: Apache-2.0
//
// The OpenAI request parser: what is read, and that everything else is refused naming the field.
#include "server/openai/request_parser.h"

#include <gtest/gtest.h>

#include "host/server/json.h"
#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

using test::Json;

const RequestContext kContext{"fake", 258, {}, true};  // strict

Json completion(const Json& extra = Json::object()) {
  Json body = {{"model", "fake"}, {"prompt", "hi"}};
  body.update(extra);
  return body;
}

Json chat(const Json& extra = Json::object()) {
  Json body = {{"model", "fake"}, {"messages", {{{"role", "user"}, {"content", "hi"}}}}};
  body.update(extra);
  return body;
}

CompletionRequest parsed(const Json& extra) {
  return parse_completion_request(completion(extra).dump(), kContext);
}

ChatRequest parsed_chat(const Json& extra) {
  return parse_chat_request(chat(extra).dump(), kContext);
}

// The field that the 400 names; "accepted" when there is none.
template <typename Parse>
std::string refused_field(Parse parse) {
  try {
    parse();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400) << error.what();
    return error.param;
  }
  return "accepted";
}

std::string refused_completion(const Json& extra) {
  return refused_field([&] { parsed(extra); });
}

std::string refused_chat(const Json& extra) {
  return refused_field([&] { parsed_chat(extra); });
}

std::string refused_message(const Json& message) {
  return refused_chat({{"messages", Json::array({message})}});
}

TEST(RequestParser, ReadsEveryFieldOfACompletion) {
  const CompletionRequest request = parsed({{"max_tokens", 7},
                                            {"n", 3},
                                            {"temperature", 0.5},
                                            {"top_p", 0.25},
                                            {"top_k", 5},
                                            {"min_p", 0.125},
                                            {"repetition_penalty", 1.5},
                                            {"presence_penalty", -1},
                                            {"frequency_penalty", 2},
                                            {"logit_bias", {{"65", -100}, {"0", 2.5}}},
                                            {"seed", -1},
                                            {"stop", {"a", "b"}},
                                            {"stop_token_ids", {9}},
                                            {"logprobs", 0},
                                            {"echo", true},
                                            {"stream", true},
                                            {"stream_options", {{"include_usage", true}}},
                                            {"ignore_eos", true}});
  const GenerationOptions& options = request.options;
  EXPECT_EQ(options.max_tokens, 7);
  EXPECT_EQ(options.num_choices, 3);
  EXPECT_EQ(options.sampling.temperature, 0.5f);
  EXPECT_EQ(options.sampling.top_p, 0.25f);
  EXPECT_EQ(options.sampling.top_k, 5);
  EXPECT_EQ(options.sampling.min_p, 0.125f);
  EXPECT_EQ(options.sampling.repetition_penalty, 1.5f);
  EXPECT_EQ(options.sampling.presence_penalty, -1.0f);
  EXPECT_EQ(options.sampling.frequency_penalty, 2.0f);
  const std::vector<std::pair<server::TokenId, float>> bias = {{0, 2.5f}, {65, -100.0f}};
  EXPECT_EQ(options.sampling.logit_bias, bias);
  EXPECT_EQ(options.sampling.seed, 0xFFFFFFFFFFFFFFFFu);
  EXPECT_EQ(options.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.stop_tokens, (std::vector<server::TokenId>{9}));
  EXPECT_TRUE(options.logprobs && options.top_logprobs == 0);
  EXPECT_TRUE(request.echo && options.stream && options.include_usage && options.ignore_eos);
}

TEST(RequestParser, DefaultsAreThoseOfTheApi) {
  const GenerationOptions options = parsed(Json::object()).options;
  EXPECT_EQ(options.sampling.temperature, 1.0f);
  EXPECT_EQ(options.sampling.top_p, 1.0f);
  EXPECT_EQ(options.num_choices, 1);
  EXPECT_FALSE(options.sampling.seed || options.max_tokens || options.stream || options.logprobs);
}

TEST(RequestParser, NullCountsAsAbsent) {
  EXPECT_EQ(refused_completion({{"temperature", nullptr},
                                {"stop", nullptr},
                                {"tools", nullptr},
                                {"anything_at_all", nullptr},
                                {"stream_options", nullptr}}),
            "accepted");
}

TEST(RequestParser, TakesAPromptInAllFourForms) {
  EXPECT_EQ(parsed({{"prompt", "text"}}).prompts.at(0).parts.at(0).text, "text");
  const auto texts = parsed({{"prompt", {"a", "b"}}}).prompts;
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[1].parts.at(0).text, "b");
  const auto ids = parsed({{"prompt", {1, 257}}}).prompts;
  ASSERT_EQ(ids.size(), 1u);
  EXPECT_EQ(ids[0].tokens, (std::vector<server::TokenId>{1, 257}));
  const auto lists = parsed({{"prompt", {{1}, {2, 3}}}}).prompts;
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[1].tokens, (std::vector<server::TokenId>{2, 3}));
}

TEST(RequestParser, RefusesPromptsOfOtherFormsNamingTheElement) {
  EXPECT_EQ(refused_completion({{"prompt", nullptr}}), "prompt");
  EXPECT_EQ(refused_completion({{"prompt", 5}}), "prompt");
  EXPECT_EQ(refused_completion({{"prompt", Json::object()}}), "prompt");
  EXPECT_EQ(refused_completion({{"prompt", Json::array()}}), "prompt");
  EXPECT_EQ(refused_completion({{"prompt", {"a", 1}}}), "prompt[1]");
  EXPECT_EQ(refused_completion({{"prompt", {1, "a"}}}), "prompt[1]");
  EXPECT_EQ(refused_completion({{"prompt", {1, 258}}}), "prompt[1]");
  EXPECT_EQ(refused_completion({{"prompt", {-1}}}), "prompt[0]");
  EXPECT_EQ(refused_completion({{"prompt", {1.0}}}), "prompt[0]");
  EXPECT_EQ(refused_completion({{"prompt", {18446744073709551615u}}}), "prompt[0]");
  EXPECT_EQ(refused_completion({{"prompt", {Json::array({1}), Json::array()}}}), "prompt[1]");
  EXPECT_EQ(refused_completion({{"prompt", Json::array({Json::array({Json::array({1})})})}}),
            "prompt[0][0]");
}

TEST(RequestParser, RefusesNumbersOutOfRangeNamingTheField) {
  const std::vector<std::pair<std::string, std::vector<Json>>> cases = {
      {"temperature", {-0.1, 2.1, "1", true, Json::array()}},
      {"top_p", {-0.1, 1.1}},
      {"min_p", {-0.1, 1.1}},
      {"top_k", {-2, 1.5, 1e10}},
      {"repetition_penalty", {0, -1, 101}},
      {"presence_penalty", {-2.1, 2.1}},
      {"frequency_penalty", {-2.1, 2.1}},
      {"n", {0, -1, 65, 1.0, "2"}},
      {"seed", {1.5, "1", 9223372036854775808u}},
      {"max_tokens", {-1, 0, 2147483648, 1.0}},
      {"logprobs", {-1, 21, true}},
      {"best_of", {0, 2}},
      {"stream", {0, "true"}},
      {"echo", {1}},
      {"ignore_eos", {1}},
  };
  for (const auto& [field, values] : cases) {
    for (const Json& value : values) {
      EXPECT_EQ(refused_completion({{field, value}}), field) << value;
    }
  }
}

TEST(RequestParser, RefusesNumbersThatJsonLetsOverflow) {
  const auto parse = [](const std::string& number) {
    return refused_field([&] {
      parse_completion_request(R"({"model":"fake","prompt":"a","temperature":)" + number + "}",
                               kContext);
    });
  };
  EXPECT_EQ(parse("1e400"), "");  // refused as JSON
  EXPECT_EQ(parse("NaN"), "");
  EXPECT_EQ(parse("-Infinity"), "");
  EXPECT_EQ(parse("1e300"), "temperature");
  EXPECT_EQ(parse("1e-400"), "accepted");
}

TEST(RequestParser, RefusesStopsThatAreNoTexts) {
  EXPECT_EQ(refused_completion({{"stop", 1}}), "stop");
  EXPECT_EQ(refused_completion({{"stop", ""}}), "stop");
  EXPECT_EQ(refused_completion({{"stop", {"a", 1}}}), "stop[1]");
  EXPECT_EQ(refused_completion({{"stop", {"a", ""}}}), "stop[1]");
  EXPECT_EQ(refused_completion({{"stop", std::vector<std::string>(17, "a")}}), "stop");
  EXPECT_EQ(refused_completion({{"stop", std::string(1025, 'a')}}), "stop");
  EXPECT_EQ(refused_completion({{"stop", std::vector<std::string>(16, "a")}}), "accepted");
  EXPECT_EQ(refused_completion({{"stop_token_ids", {1, 258}}}), "stop_token_ids[1]");
}

TEST(RequestParser, LimitsStopsAndBiasesNamingTheNumbers) {
  RequestContext context = kContext;
  context.vocab_size = 1 << 16;
  const auto message = [&](const Json& extra) -> std::string {
    try {
      parse_completion_request(completion(extra).dump(), context);
    } catch (const ApiError& error) {
      return error.what();
    }
    return "accepted";
  };
  Json ids = Json::array(), bias = Json::object();
  for (int i = 0; i < 1024; ++i) {
    ids.push_back(i);
    bias.set(std::to_string(i).c_str(), -100);
  }
  EXPECT_EQ(message({{"stop_token_ids", ids}, {"logit_bias", bias}}), "accepted");
  ids.push_back(1024);
  bias.set("1024", 1);
  EXPECT_EQ(message({{"stop_token_ids", ids}}),
            "'stop_token_ids' must have at most 1024 tokens, got 1025");
  EXPECT_EQ(message({{"logit_bias", bias}}),
            "'logit_bias' must have at most 1024 tokens, got 1025");
  EXPECT_EQ(message({{"stop", std::vector<std::string>(17, "a")}}),
            "'stop' must have at most 16 texts, got 17");
}

TEST(RequestParser, RefusesBiasesForNoToken) {
  EXPECT_EQ(refused_completion({{"logit_bias", 1}}), "logit_bias");
  for (const char* key : {"258", "-1", "", "a", "1a", "01", "+1", " 1", "99999999999999"}) {
    EXPECT_EQ(refused_completion({{"logit_bias", {{key, 1}}}}), "logit_bias") << key;
  }
  EXPECT_EQ(refused_completion({{"logit_bias", {{"5", 101}}}}), "logit_bias.5");
  EXPECT_EQ(refused_completion({{"logit_bias", {{"5", "1"}}}}), "logit_bias.5");
}

TEST(RequestParser, RefusesFieldsThatWouldChangeTheOutput) {
  const std::vector<std::pair<std::string, Json>> fields = {
      {"functions", Json::array({Json::object()})},
      {"tool_choice", "required"},
      {"response_format", {{"type", "json_object"}}},
      {"suffix", "end"},
      {"audio", Json::object()},
      {"modalities", {"text", "audio"}},
      {"min_tokens", 4},
      {"guided_json", Json::object()},
      {"temprature", 0.1}};
  for (const auto& [field, value] : fields) {
    EXPECT_EQ(refused_completion({{field, value}}), field);
    EXPECT_EQ(refused_chat({{field, value}}), field);
  }
  EXPECT_EQ(refused_completion({{"tools", Json::array({Json::object()})}}), "tools");
}

TEST(RequestParser, AcceptsFieldsThatChangeNothing) {
  EXPECT_EQ(refused_chat({{"user", "me"},
                          {"metadata", {{"a", "b"}}},
                          {"store", true},
                          {"service_tier", "auto"},
                          {"parallel_tool_calls", true},
                          {"tools", Json::array()},
                          {"tool_choice", "none"},
                          {"response_format", {{"type", "text"}}},
                          {"modalities", {"text"}},
                          {"n", 2},
                          {"best_of", 2}}),
            "accepted");
}

TEST(RequestParser, AnotherBestOfIsRefusedWithTheNumberOfChoices) {
  try {
    parsed({{"n", 2}, {"best_of", 3}});
    ADD_FAILURE() << "accepted";
  } catch (const ApiError& error) {
    EXPECT_STREQ(error.what(),
                 "'best_of' must be 1 or equal to 'n' (here 2): this server returns every choice "
                 "that it generates");
  }
}

TEST(RequestParser, BestOfOneIsTheDefaultForAnyNumberOfChoices) {
  EXPECT_EQ(parse_completion_request(completion({{"n", 2}, {"best_of", 1}}).dump(),
                                     {"fake", 258, {}, false})
                .options.num_choices,
            2);
}

// Of a request to a server that is not strict.
GenerationOptions options_of(const Json& extra, std::optional<int> best_priority = {}) {
  RequestContext context{"fake", 258, {}, false};
  context.limits.best_priority = best_priority;
  return parse_completion_request(completion(extra).dump(), context).options;
}

TEST(RequestParser, ReadsThePriorityAndTheTierThatStandsForOne) {
  EXPECT_EQ(options_of(Json::object()).priority, 0);
  EXPECT_EQ(options_of({{"priority", -3}}).priority, -3);
  EXPECT_EQ(options_of({{"service_tier", "priority"}}).priority, -10);
  EXPECT_EQ(options_of({{"service_tier", "flex"}}).priority, 10);
  EXPECT_EQ(options_of({{"service_tier", "default"}}).priority, 0);
  EXPECT_EQ(options_of({{"service_tier", "flex"}, {"priority", 2}}).priority, 2);
  EXPECT_EQ(refused_field([] { options_of({{"priority", "high"}}); }), "priority");
  EXPECT_EQ(refused_field([] { options_of({{"priority", 2'000'000}}); }), "priority");
  EXPECT_EQ(refused_chat({{"priority", 2}}), "priority") << "strict";
  EXPECT_EQ(refused_chat({{"service_tier", 1}}), "service_tier");
  EXPECT_EQ(parsed({{"service_tier", "flex"}}).options.priority, 10);
}

TEST(RequestParser, NoPriorityIsBetterThanTheBestThatIsAllowed) {
  EXPECT_EQ(options_of({{"priority", -3}}, -2).priority, -2);
  EXPECT_TRUE(options_of({{"priority", -3}}, -2).asked_better_priority);
  EXPECT_EQ(options_of({{"service_tier", "priority"}}, -2).priority, -2);
  EXPECT_EQ(options_of({{"priority", -2}}, -2).priority, -2);
  EXPECT_FALSE(options_of({{"priority", -2}}, -2).asked_better_priority);
  EXPECT_EQ(options_of({{"priority", 7}}, -2).priority, 7);
  EXPECT_EQ(options_of(Json::object(), -2).priority, 0);
  EXPECT_EQ(options_of(Json::object(), 5).priority, 5) << "what is not said counts as 0";
  EXPECT_FALSE(options_of(Json::object(), 5).asked_better_priority);
}

TEST(RequestParser, UsageOptionsNeedAStream) {
  const Json options = {{"include_usage", true}};
  EXPECT_EQ(refused_completion({{"stream_options", options}}), "stream_options");
  EXPECT_EQ(refused_completion({{"stream", true}, {"stream_options", {{"include_usage", 1}}}}),
            "stream_options.include_usage");
  EXPECT_EQ(refused_completion({{"stream", true}, {"stream_options", {{"other", 1}}}}),
            "stream_options.other");
}

TEST(RequestParser, LimitsTheNumberOfChoices) {
  EXPECT_EQ(refused_completion({{"prompt", {"a", "b"}}, {"n", 33}}), "n");
  EXPECT_EQ(refused_completion({{"prompt", {"a", "b"}}, {"n", 32}}), "accepted");
  EXPECT_EQ(refused_completion({{"prompt", std::vector<std::string>(65, "a")}}), "prompt");
}

TEST(RequestParser, ScoringAPromptNeedsNoOutput) {
  EXPECT_EQ(parsed({{"max_tokens", 0}, {"echo", true}}).options.max_tokens, 0);
}

TEST(RequestParser, AnotherModelIsNotFound) {
  try {
    parsed({{"model", "gpt-4"}});
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 404);
    EXPECT_EQ(error.code, "model_not_found");
    EXPECT_EQ(error.param, "model");
  }
  EXPECT_EQ(refused_completion({{"model", 5}}), "model");
  EXPECT_EQ(refused_completion({{"model", nullptr}}), "accepted");
}

TEST(RequestParser, ReadsAConversation) {
  const Json messages = Json::parse(R"([
    {"role": "developer", "content": "be brief"},
    {"role": "user", "name": "eve", "content": [{"type": "text", "text": "a"},
                                                {"type": "text", "text": "b"}]},
    {"role": "assistant", "content": "c", "refusal": null, "tool_calls": null, "annotations": []},
    {"role": "tool", "tool_call_id": "x", "content": "d"}])");
  const auto read = parsed_chat({{"messages", messages}}).conversation.messages;
  ASSERT_EQ(read.size(), 4u);
  EXPECT_EQ(read[0].role, "system");
  EXPECT_EQ(read[1].content, "ab");
  EXPECT_EQ(read[2].role, "assistant");
  EXPECT_EQ(read[3].content, "d");
}

TEST(RequestParser, RefusesMessagesNamingThePart) {
  EXPECT_EQ(refused_chat({{"messages", nullptr}}), "messages");
  EXPECT_EQ(refused_chat({{"messages", Json::array()}}), "messages");
  EXPECT_EQ(refused_chat({{"messages", "hi"}}), "messages");
  EXPECT_EQ(refused_chat({{"messages", {"hi"}}}), "messages[0]");
  EXPECT_EQ(refused_message({{"content", "a"}}), "messages[0].role");
  EXPECT_EQ(refused_message({{"role", "function"}, {"content", "a"}}), "messages[0].role");
  EXPECT_EQ(refused_message({{"role", "user"}}), "messages[0].content");
  EXPECT_EQ(refused_message({{"role", "user"}, {"content", 5}}), "messages[0].content");
  EXPECT_EQ(refused_message({{"role", "user"}, {"content", {"a"}}}), "messages[0].content[0]");
  const Json image = {{"type", "image_url"}, {"image_url", {{"url", "x"}}}};
  EXPECT_EQ(refused_message({{"role", "user"}, {"content", Json::array({image})}}),
            "messages[0].content[0].type");
  EXPECT_EQ(refused_message({{"role", "user"}, {"content", "a"}, {"weight", 1}}),
            "messages[0].weight");
}

TEST(RequestParser, ChatLogprobsAreABooleanAndACount) {
  const auto options = parsed_chat({{"logprobs", true}, {"top_logprobs", 20}}).options;
  EXPECT_TRUE(options.logprobs);
  EXPECT_EQ(options.top_logprobs, 20);
  EXPECT_EQ(refused_chat({{"logprobs", 5}}), "logprobs");
  EXPECT_EQ(refused_chat({{"top_logprobs", 1}}), "top_logprobs");
  EXPECT_EQ(refused_chat({{"logprobs", true}, {"top_logprobs", 21}}), "top_logprobs");
}

TEST(RequestParser, ChatTakesItsLimitUnderEitherName) {
  EXPECT_EQ(parsed_chat({{"max_tokens", 5}}).options.max_tokens, 5);
  EXPECT_EQ(parsed_chat({{"max_completion_tokens", 5}}).options.max_tokens, 5);
  EXPECT_EQ(refused_chat({{"max_tokens", 5}, {"max_completion_tokens", 6}}), "max_tokens");
  EXPECT_EQ(refused_chat({{"max_tokens", 0}}), "max_tokens");
}

}  // namespace
}  // namespace tandem::server::openai
