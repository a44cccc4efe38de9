// SPDX-License-Identifier: Apache-2.0
//
// What reaches a chat template besides the texts of messages, and that all else is refused or
// named.
#include "server/openai/conversation.h"

#include <gmock/gmock.h>

#include <set>

#include "host/server/server_fixture.h"
#include "server/openai/api_error.h"

namespace tandem::server::openai {
namespace {

using test::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Reading {
  bool strict = false;
  std::set<std::string> unread = {};  // names that the template does not read
};

ChatRequest parsed(const std::string& members, const Reading& reading = {}) {
  RequestContext context{"fake", 258, {}, reading.strict};
  context.template_reads = [&](std::string_view name) {
    return !reading.unread.contains(std::string(name));
  };
  const std::string user = R"("messages": [{"role": "user", "content": "hi"}])";
  const bool has_messages = members.find("\"messages\": [") != std::string::npos;
  return parse_chat_request("{" + members + (has_messages ? "" : ", " + user) + "}", context);
}

// The field that the 400 names; "accepted" when there is none.
std::string refused(const std::string& members, const Reading& reading = {}) {
  try {
    parsed(members, reading);
  } catch (const ApiError& error) {
    EXPECT_EQ(error.status, 400) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(error.param));
    return error.param;
  }
  return "accepted";
}

ChatMessage message(const std::string& text) {
  return parsed(R"("messages": [)" + text + "]").conversation.messages.at(0);
}

std::string refused_message(const std::string& text) {
  return refused(R"("messages": [)" + text + "]");
}

std::string calling(const std::string& calls) {
  return R"({"role": "assistant", "content": null, "tool_calls": )" + calls + "}";
}

const std::string kTools =
    R"("tools": [{"type": "function", "function": {"name": "look", "parameters": {"b": 1, "a": 2}}}])";

TEST(Conversation, ToolsReachTheTemplateInTheirOrder) {
  const std::string tools = parsed(kTools).conversation.tools;
  EXPECT_EQ(tools,
            R"([{"type":"function","function":{"name":"look","parameters":{"b":1,"a":2}}}])");
  EXPECT_EQ(parsed(R"("tools": [])").conversation.tools, "");
  EXPECT_EQ(parsed(kTools + R"(, "tool_choice": "auto")", {.strict = true}).conversation.tools,
            tools);
}

TEST(Conversation, ToolsAreCheckedOneByOne) {
  const auto tool = [](const std::string& text) { return refused(R"("tools": [)" + text + "]"); };
  EXPECT_EQ(refused(R"("tools": {})"), "tools");
  EXPECT_EQ(tool("5"), "tools[0]");
  EXPECT_EQ(tool("{}"), "tools[0].type");
  EXPECT_EQ(tool(R"({"type": "custom", "function": {"name": "a"}})"), "tools[0].type");
  EXPECT_EQ(tool(R"({"type": "function"})"), "tools[0].function");
  EXPECT_EQ(tool(R"({"type": "function", "function": {}})"), "tools[0].function.name");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": ""}})"), "tools[0].function.name");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": "a", "description": 1}})"),
            "tools[0].function.description");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": "a", "parameters": []}})"),
            "tools[0].function.parameters");
  EXPECT_EQ(tool(R"({"type": "function", "function": {"name": "a"}}, 5)"), "tools[1]");
}

TEST(Conversation, NoToolsAreShownWhereNoneShallBeCalled) {
  EXPECT_EQ(parsed(kTools + R"(, "tool_choice": "none")", {.strict = true}).conversation.tools, "");
}

TEST(Conversation, ACallThatCannotBeEnforcedIsNamedOrRefused) {
  for (const char* choice :
       {R"("required")", R"({"type": "function", "function": {"name": "look"}})"}) {
    const std::string body = kTools + R"(, "tool_choice": )" + choice;
    const ChatRequest request = parsed(body);
    EXPECT_THAT(request.options.ignored, ElementsAre("tool_choice"));
    EXPECT_NE(request.conversation.tools, "") << "the model may still call";
    EXPECT_EQ(refused(body, {.strict = true}), "tool_choice");
  }
  EXPECT_EQ(refused(R"("tool_choice": "always")"), "tool_choice");
  EXPECT_EQ(refused(R"("tool_choice": 5)"), "tool_choice");
  EXPECT_EQ(refused(R"("tool_choice": {"type": "function", "function": {}})"),
            "tool_choice.function.name");
}

TEST(Conversation, WhatTheTemplateDoesNotReadIsNamedOrRefused) {
  const auto ignored = [](const std::string& members, const std::set<std::string>& unread) {
    return parsed(members, {.unread = unread}).options.ignored;
  };
  EXPECT_THAT(ignored(kTools, {"tools"}), ElementsAre("tools"));
  EXPECT_EQ(parsed(kTools, {.unread = {"tools"}}).conversation.tools, "");
  EXPECT_EQ(refused(kTools, {.strict = true, .unread = {"tools"}}), "tools");
  const std::string calls =
      R"("messages": [)" +
      calling(R"([{"type": "function", "function": {"name": "a", "arguments": ""}}])") + "]";
  EXPECT_THAT(ignored(calls, {"tool_calls"}), ElementsAre("messages[0].tool_calls"));
  EXPECT_EQ(refused(calls, {.strict = true, .unread = {"tool_calls"}}), "messages[0].tool_calls");
  EXPECT_THAT(ignored(R"("chat_template_kwargs": {"a": 1, "b": 2})", {"b"}),
              ElementsAre("chat_template_kwargs.b"));
  EXPECT_THAT(
      ignored(R"("reasoning_effort": "low")", {"reasoning_effort", "enable_thinking", "thinking"}),
      ElementsAre("reasoning_effort"));
}

TEST(Conversation, MessagesKeepTheirNamesAndCalls) {
  EXPECT_EQ(message(R"({"role": "user", "content": "a"})").fields, "");
  EXPECT_EQ(message(R"({"role": "user", "content": "a", "name": "eve"})").fields,
            R"({"name":"eve"})");
  const ChatMessage answer =
      message(R"({"role": "tool", "content": "42", "tool_call_id": "c1", "name": "look"})");
  EXPECT_EQ(answer.content, "42");
  EXPECT_EQ(answer.fields, R"({"name":"look","tool_call_id":"c1"})");
  const std::string call =
      R"([{"id": "c1", "type": "function",
           "function": {"name": "look", "arguments": "{\"z\": 1.5, \"a\": [\"é\"]}"}}])";
  EXPECT_EQ(message(calling(call)).fields,
            R"({"tool_calls":[{"id":"c1","type":"function","function":{"name":"look",)"
            R"("arguments":{"z":1.5,"a":["é"]}}}],"content":null})");
  const ChatMessage both =
      message(R"({"role": "assistant", "content": "so", "tool_calls": )" + call + "}");
  EXPECT_EQ(both.content, "so");
  EXPECT_THAT(both.fields, Not(HasSubstr("content")));
}

TEST(Conversation, ArgumentsAreAnObjectOrItsText) {
  const auto arguments = [](const std::string& text) {
    return calling(R"([{"type": "function", "function": {"name": "f", "arguments": )" + text +
                   "}}]");
  };
  EXPECT_THAT(message(arguments(R"({"a": 1})")).fields, HasSubstr(R"("arguments":{"a":1})"));
  EXPECT_THAT(message(arguments(R"("")")).fields, HasSubstr(R"("arguments":{})"));
  const std::string path = "messages[0].tool_calls[0].function.arguments";
  for (const char* wrong : {"5", R"("5")", R"("{")", R"("[]")", "[]", "null"}) {
    EXPECT_EQ(refused_message(arguments(wrong)), path) << wrong;
  }
  const std::string deep = R"("{\"a\":)" + std::string(40, '[') + std::string(40, ']') + R"(}")";
  EXPECT_EQ(refused_message(arguments(deep)), path);
}

TEST(Conversation, MessagesWithWrongFieldsAreRefused) {
  EXPECT_EQ(refused_message(R"({"role": "user", "content": "a", "name": 5})"), "messages[0].name");
  EXPECT_EQ(refused_message(R"({"role": "user", "content": "a", "name": ""})"), "messages[0].name");
  EXPECT_EQ(refused_message(R"({"role": "tool", "content": "a", "tool_call_id": []})"),
            "messages[0].tool_call_id");
  EXPECT_EQ(refused_message(R"({"role": "user", "content": "a", "tool_call_id": "c"})"),
            "messages[0].tool_call_id");
  EXPECT_EQ(refused_message(R"({"role": "assistant", "content": null})"), "messages[0].content");
  EXPECT_EQ(refused_message(R"({"role": "tool", "tool_call_id": "c"})"), "messages[0].content");
  EXPECT_EQ(refused_message(R"({"role": "assistant", "content": null, "tool_calls": []})"),
            "messages[0].content");
  const std::string call = R"([{"type": "function", "function": {"name": "f", "arguments": ""}}])";
  EXPECT_EQ(refused_message(R"({"role": "user", "content": "a", "tool_calls": )" + call + "}"),
            "messages[0].tool_calls");
  EXPECT_EQ(refused_message(calling("5")), "messages[0].tool_calls");
  EXPECT_EQ(refused_message(calling("[5]")), "messages[0].tool_calls[0]");
  EXPECT_EQ(refused_message(calling(R"([{"function": {}}])")), "messages[0].tool_calls[0].type");
  EXPECT_EQ(refused_message(calling(R"([{"type": "function", "function": {"name": "f"}}])")),
            "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(refused_message(calling(
                R"([{"id": 5, "type": "function", "function": {"name": "f", "arguments": ""}}])")),
            "messages[0].tool_calls[0].id");
}

TEST(Conversation, VariablesReachTheTemplate) {
  const auto variables = [](const std::string& members, const std::set<std::string>& unread = {}) {
    return parsed(members, {.unread = unread}).conversation.variables;
  };
  EXPECT_EQ(variables(R"("n": 1)"), "");
  EXPECT_EQ(variables(R"("chat_template_kwargs": {})"), "");
  EXPECT_EQ(variables(R"("chat_template_kwargs": {"z": [1], "enable_thinking": false})"),
            R"({"z":[1],"enable_thinking":false})");
  EXPECT_EQ(variables(R"("chat_template_kwargs": {"a": 1, "b": 2})", {"a"}), R"({"b":2})");
  EXPECT_EQ(refused(R"("chat_template_kwargs": [])"), "chat_template_kwargs");
  for (const char* own : {"messages", "tools", "add_generation_prompt", "bos_token", "eos_token"}) {
    EXPECT_EQ(refused(R"("chat_template_kwargs": {")" + std::string(own) + R"(": 1})"),
              std::string("chat_template_kwargs.") + own);
  }
}

TEST(Conversation, AnEffortIsMappedToWhatTheTemplateReads) {
  const auto variables = [](const std::string& members, const std::set<std::string>& unread) {
    const ChatRequest request = parsed(members, {.unread = unread});
    EXPECT_THAT(request.options.ignored, IsEmpty());
    return request.conversation.variables;
  };
  const std::string low = R"("reasoning_effort": "low")", none = R"("reasoning_effort": "none")";
  EXPECT_EQ(variables(low, {"enable_thinking", "thinking"}), R"({"reasoning_effort":"low"})");
  EXPECT_EQ(variables(low, {"reasoning_effort", "thinking"}), R"({"enable_thinking":true})");
  EXPECT_EQ(variables(none, {"reasoning_effort", "enable_thinking"}), R"({"thinking":false})");
  EXPECT_EQ(variables(R"("chat_template_kwargs": {"thinking": 7}, )" + none,
                      {"reasoning_effort", "enable_thinking"}),
            R"({"thinking":7})");
  EXPECT_EQ(refused(R"("reasoning_effort": 5)"), "reasoning_effort");
  EXPECT_EQ(refused(R"("reasoning_effort": "hgih")"), "reasoning_effort");
}

TEST(Conversation, AStrictServerKnowsNoVariables) {
  EXPECT_EQ(refused(R"("chat_template_kwargs": {"a": 1})", {.strict = true}),
            "chat_template_kwargs");
  EXPECT_EQ(refused(R"("reasoning_effort": "low")", {.strict = true}), "reasoning_effort");
}

std::string repeated(const std::string& text, int count) {
  std::string result = text;
  for (int i = 1; i < count; ++i) result += "," + text;
  return result;
}

TEST(Conversation, NumbersOfToolsCallsAndVariablesAreLimited) {
  const std::string tool = R"({"type": "function", "function": {"name": "f", "arguments": ""}})";
  EXPECT_EQ(refused(R"("tools": [)" + repeated(tool, 128) + "]"), "accepted");
  EXPECT_EQ(refused(R"("tools": [)" + repeated(tool, 129) + "]"), "tools");
  EXPECT_EQ(refused_message(calling("[" + repeated(tool, 128) + "]")), "accepted");
  EXPECT_EQ(refused_message(calling("[" + repeated(tool, 129) + "]")), "messages[0].tool_calls");
  const auto variables = [](int count) {
    Json json = Json::object();
    for (int i = 0; i < count; ++i) json.set(("v" + std::to_string(i)).c_str(), i);
    return R"("chat_template_kwargs": )" + json.dump();
  };
  EXPECT_EQ(refused(variables(64)), "accepted");
  EXPECT_EQ(refused(variables(65)), "chat_template_kwargs");
  const auto named = [](std::size_t bytes) {
    return refused_message(R"({"role": "user", "content": "a", "name": ")" +
                           std::string(bytes, 'x') + R"("})");
  };
  EXPECT_EQ(named(256), "accepted");
  EXPECT_EQ(named(257), "messages[0].name");
}

TEST(Conversation, BytesOfToolsCallsAndVariablesCountTogether) {
  const std::string half(std::size_t{600} << 10, 'x');
  const std::string tools =
      R"("tools": [{"type": "function", "function": {"name": "f", "description": ")" + half +
      R"("}}])";
  const std::string variables = R"("chat_template_kwargs": {"a": ")" + half + R"("})";
  const std::string calls = R"("messages": [)" +
                            calling(R"([{"type": "function", "function": {"name": "f", )"
                                    R"("arguments": {"a": ")" +
                                    half + R"("}}}])") +
                            "]";
  EXPECT_EQ(refused(tools), "accepted");
  EXPECT_EQ(refused(variables), "accepted");
  EXPECT_EQ(refused(calls), "accepted");
  EXPECT_EQ(refused(tools + ", " + variables), "chat_template_kwargs");
  EXPECT_EQ(refused(tools + ", " + calls), "tools") << "messages come first";
  EXPECT_EQ(refused(variables + R"(, "tool_choice": "none", )" + tools), "chat_template_kwargs");
}

TEST(Conversation, AnswersNameWhatIsNotHonoured) {
  test::RunningServer running({.max_request_tokens = 4096, .unread_names = {"tools"}});
  test::HttpClient client(running.port());
  const test::Reply reply =
      client.post("/v1/chat/completions", test::chat_body(Json::parse("{" + kTools + "}")));
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_THAT(reply.headers.at("warning"), HasSubstr("ignored: tools\""));
}

TEST(Conversation, TokenCountsIncludeTools) {
  test::RunningServer running({.max_request_tokens = 4096});
  test::HttpClient client(running.port());
  const auto count = [&](const std::string& members) {
    const Json reply =
        client
            .post("/tokenize",
                  R"({"messages": [{"role": "user", "content": "hi"}])" + members + "}")
            .json();
    return reply["count"].integer();
  };
  const std::int64_t plain = count("");
  const std::string tools =
      R"([{"type":"function","function":{"name":"look","parameters":{"b":1,"a":2}}}])";
  const auto bytes = [](const std::string& text) { return static_cast<std::int64_t>(text.size()); };
  EXPECT_EQ(count(", " + kTools), plain + bytes(tools + "\n"));
  EXPECT_EQ(count(R"(, "chat_template_kwargs": {"a": 1})"), plain + bytes("{\"a\":1}\n"));
}

}  // namespace
}  // namespace tandem::server::openai
