// SPDX-License-Identifier: Apache-2.0
//
// Requests to the daemon. The browser sends the user's key itself, where the daemon needs one.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function checked(response) {
  if (response.ok) return response;
  let message = `the daemon answers ${response.status}`;
  try {
    message = (await response.json()).error.message;
  } catch {
    // no error object: the status says it
  }
  throw new ApiError(response.status, message);
}

export async function getJson(path) {
  return (await checked(await fetch(path))).json();
}

export async function getText(path) {
  return (await checked(await fetch(path))).text();
}

// The data of server-sent events in a text that comes in pieces. push() returns those that are whole.
export class EventLines {
  #rest = "";

  push(piece) {
    const lines = (this.#rest + piece).split(/\r?\n/);
    this.#rest = lines.pop();
    return lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
  }
}

// Yields the objects of a streamed answer; ends at [DONE]. `signal` stops the request.
export async function* streamChat(body, signal) {
  const response = await checked(await fetch("/v1/chat/completions", {
    method: "POST",
    headers: {"Content-Type": "application/json"},
    body: JSON.stringify({...body, stream: true, stream_options: {include_usage: true}}),
    signal,
  }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const events = new EventLines();
  for (;;) {
    const {value, done} = await reader.read();
    if (done) throw new ApiError(0, "the answer ended early: the daemon has closed the connection");
    for (const data of events.push(value)) {
      if (data === "[DONE]") return;
      const event = JSON.parse(data);
      if (event.error) throw new ApiError(0, event.error.message);
      yield event;
    }
  }
}
