// SPDX-License-Identifier: Apache-2.0
//
// From the body of a chat with tools to the text that a template makes of it.
#include <gtest/gtest.h>

#include "apps/serve/service_messages.h"
#include "server/openai/request_parser.h"

namespace tandem::apps {
namespace {

constexpr const char* kTemplate = R"({%- if tools -%}
You may call:
{% for tool in tools -%}
* {{ tool.function.name }}({{ tool.function.parameters.properties | join(', ') }}): {{ tool | tojson }}
{% endfor %}
{%- endif -%}
{%- for message in messages -%}
<{{ message.role }}{% if message.name %} {{ message.name }}{% endif %}>
{%- if message.content is not none %}{{ message.content }}{% endif %}
{%- for call in message.tool_calls or [] -%}
[{{ call.id }} {{ call.function.name }}
{%- for key, value in call.function.arguments | items %} {{ key }}={{ value }}{% endfor %}]
{%- endfor -%}
{%- if message.tool_call_id %} (for {{ message.tool_call_id }}){% endif %}{{ '\n' }}
{%- endfor -%}
<assistant>{% if not enable_thinking | default(true) %}<quick>{% endif %})";

std::string rendered(const std::string& body) {
  const model::ChatTemplate chat_template(kTemplate, "<s>", "</s>");
  server::openai::RequestContext context{"m", 10, {}};
  context.template_reads = [&](std::string_view name) { return chat_template.reads(name); };
  auto request = server::openai::parse_chat_request(body, context);
  const model::ChatInputs inputs = chat_inputs(request.conversation);
  return chat_template.render(model_messages(std::move(request.conversation.messages)), inputs);
}

TEST(ChatTools, ATemplateSeesToolsCallsAndTheirAnswers) {
  EXPECT_EQ(rendered(R"({
    "tools": [{"type": "function", "function": {"name": "weather", "parameters": {
        "type": "object", "properties": {"town": {"type": "string"}, "day": {"type": "integer"}}}}}],
    "messages": [
      {"role": "user", "name": "eve", "content": "Rain in Ulm?"},
      {"role": "assistant", "content": null, "tool_calls": [
        {"id": "c1", "type": "function",
         "function": {"name": "weather", "arguments": "{\"town\": \"Ulm\", \"day\": 2}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "dry"}],
    "reasoning_effort": "none"})"),
            R"(You may call:
* weather(town, day): {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {"town": {"type": "string"}, "day": {"type": "integer"}}}}}
<user eve>Rain in Ulm?
<assistant>[c1 weather town=Ulm day=2]
<tool>dry (for c1)
<assistant><quick>)");
}

TEST(ChatTools, ATemplateWithoutToolsIsAsBefore) {
  EXPECT_EQ(rendered(R"({"messages": [{"role": "user", "content": "Hi"}], "tools": [],
                         "chat_template_kwargs": {"enable_thinking": true}})"),
            "<user>Hi\n<assistant>");
}

TEST(ChatTools, ATemplateReadsTheNamesOfItsProgramOnly) {
  const model::ChatTemplate chat_template(
      "tools {% if 'effort' in kinds %}{{ a.thinking }}{% endif %}", "", "");
  for (const char* name : {"effort", "kinds", "thinking"}) EXPECT_TRUE(chat_template.reads(name));
  EXPECT_FALSE(chat_template.reads("tools")) << "it is only printed";
  EXPECT_FALSE(chat_template.reads("think"));
}

}  // namespace
}  // namespace tandem::apps
