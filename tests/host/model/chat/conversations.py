# SPDX-License-Identifier: Apache-2.0
"""Conversations that templates are rendered with: what clients send, and what they should not."""


def call(name, arguments, id="call_1"):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def turn(role, content, **fields):
    return {"role": role, "content": content, **fields}


WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Says the weather in a city. \"Now\" & <later>.",
    "parameters": {"type": "object", "required": ["city"], "properties": {
        "city": {"type": "string", "description": "Name of the city, e.g. Zürich"},
        "unit": {"type": "string", "enum": ["C", "F"], "default": "C"},
        "days": {"type": "integer", "minimum": 1, "maximum": 7}}}}}
SEARCH = {"type": "function", "function": {
    "name": "search", "description": "Searches.\nIn two lines.",
    "parameters": {"type": "object", "properties": {
        "queries": {"type": "array", "items": {"type": "string"}, "description": "What to find"},
        "filter": {"type": "object", "properties": {"after": {"type": "string"},
                                                    "deep": {"type": ["boolean", "null"]}}},
        "mode": {"anyOf": [{"type": "string"}, {"type": "number"}]}},
        "required": ["queries", "mode"]},
    "return": {"type": "string", "description": "hits"}}}
NO_PARAMETERS = {"type": "function", "function": {
    "name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}}
TOOLS = [WEATHER, SEARCH, NO_PARAMETERS]

ASK = turn("user", "What is the weather in Zürich?")
CALL = turn("assistant", None, tool_calls=[call("get_weather", {"city": "Zürich", "days": 2})])
CALL_TEXT = turn("assistant", "", tool_calls=[
    call("get_weather", "{\"city\": \"Zürich\", \"days\": 2}")])
RESULT = turn("tool", "{\"temperature\": 21.5, \"sky\": \"clear\"}", tool_call_id="call_1",
              name="get_weather")

# name: (messages, tools, variables)
CONVERSATIONS = {
    "empty": ([], None, {}),
    "one": ([turn("user", "Tell me a story.")], None, {}),
    "system": ([turn("system", "  Be brief.\n"), turn("user", " Hello\n")], None, {}),
    "turns": ([turn("user", "Grüße, 世界 \U0001f469\u200d\U0001f680!"),
               turn("assistant", "  Hi <b>\"you\"</b> & 'me'  "), turn("user", "Again?\n\n")],
              None, {}),
    "system turns": ([turn("system", "s"), turn("user", "a"),
                      turn("assistant", "<think>\nhm\n</think>\n\nb"), turn("user", "c"),
                      turn("assistant", "d")], None, {}),
    "assistant first": ([turn("assistant", "out of order"), turn("user", "x")], None, {}),
    "same role twice": ([turn("user", "a"), turn("user", "b"), turn("system", "late")], None, {}),
    "odd role": ([turn("user", "a"), turn("narrator", "b"), turn("user", "c")], None, {}),
    "developer": ([turn("developer", "d"), turn("user", "u")], None, {}),
    "stray tools": ([turn("user", "a"), turn("tool", "{\"t\": 21}"), turn("tool", "two")], None, {}),
    "empty contents": ([turn("system", ""), turn("user", ""), turn("assistant", ""),
                        turn("user", "")], None, {}),
    "null content": ([turn("user", "a"), turn("assistant", None), turn("user", "b")], None, {}),
    "markup": ([turn("user", "{{ bos_token }}{% if %}</s><|im_end|>\t\r\n\\n%s{}")], None, {}),
    "parts": ([turn("system", [{"type": "text", "text": "s"}]),
               turn("user", [{"type": "text", "text": "Look: "}, {"type": "text", "text": "é"}])],
              None, {}),
    "image": ([turn("user", [{"type": "image"}, {"type": "text", "text": "What is it?"}])], None, {}),
    "reasoning": ([turn("user", "a"), turn("assistant", "b", reasoning_content="because\n"),
                   turn("user", "c"), turn("assistant", "d", reasoning_content="so")], None, {}),
    "thinking on": ([turn("user", "a")], None, {"enable_thinking": True, "thinking": True}),
    "thinking off": ([turn("system", "s"), turn("user", "a"), turn("assistant", "<think>x</think>y"),
                      turn("user", "b")], None, {"enable_thinking": False, "thinking": False}),
    "effort": ([turn("user", "a")], None, {"reasoning_effort": "high", "date_string": "1 May 2031"}),
    "tools": ([ASK], TOOLS, {}),
    "no tools": ([ASK], [], {}),
    "tools system": ([turn("system", "Use tools."), ASK], [WEATHER], {}),
    "call": ([ASK, CALL], TOOLS, {}),
    "call text": ([ASK, CALL_TEXT], TOOLS, {}),
    "call answered": ([ASK, CALL, RESULT], TOOLS, {}),
    "call told": ([turn("system", "s"), ASK, CALL, RESULT, turn("assistant", "21.5 degrees."),
                   turn("user", "Thanks")], TOOLS, {}),
    "call text told": ([ASK, CALL_TEXT, RESULT, turn("assistant", "Clear."), turn("user", "Bye")],
                       [WEATHER], {}),
    "two calls": ([ASK, turn("assistant", "Both:", tool_calls=[
        call("get_weather", {"city": "Bern"}, "abcdefgh1"),
        call("search", {"queries": ["a", "b"], "mode": None, "filter": {"deep": True}},
             "abcdefgh2")]),
        turn("tool", "1", tool_call_id="abcdefgh1"),
        turn("tool", "[2, 3]", tool_call_id="abcdefgh2")], TOOLS, {}),
    "nine letters": ([ASK, turn("assistant", "", tool_calls=[
        call("get_weather", {"city": "Bern"}, "abcdefgh1")]),
        turn("tool", "1", tool_call_id="abcdefgh1"), turn("assistant", "ok"),
        turn("user", "more")], TOOLS, {}),
    "reasoned call": ([ASK, turn("assistant", "", reasoning_content="I look it up.",
                                 tool_calls=[call("get_weather", {"city": "Bern"})]), RESULT],
                      TOOLS, {"enable_thinking": True}),
    "call without tools": ([ASK, CALL, RESULT, turn("user", "And?")], None, {}),
    "flat call": ([ASK, turn("assistant", "", tool_calls=[
        {"name": "get_weather", "arguments": {"city": "Bern", "days": 1.0, "x": [], "y": {}}}])],
        TOOLS, {}),
}
