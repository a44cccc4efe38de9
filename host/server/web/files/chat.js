// SPDX-License-Identifier: Apache-2.0
//
// The chat playground. One answer streams at a time; leaving its conversation does not stop it.
import {streamChat} from "./api.js";
import {Conversations} from "./conversations.js";
import {element} from "./elements.js";

const kSampling = "tandem.sampling";
const kNames = {user: "You", assistant: "Model", system: "System"};

// The fields of a request: numbers that are set, and the system message in front.
export function requestOf(messages, sampling) {
  const {system, ...fields} = sampling;
  const body = {messages: messages.map(({role, content}) => ({role, content}))};
  if (system) body.messages.unshift({role: "system", content: system});
  for (const [name, text] of Object.entries(fields)) {
    if (text !== "" && Number.isFinite(Number(text))) body[name] = Number(text);
  }
  return body;
}

export class Chat {
  #conversations = new Conversations(localStorage);
  #running = null;  // {controller, conversation, message}
  #place = (id) => document.getElementById(id);

  constructor() {
    this.#restoreSampling();
    this.#place("new-chat").addEventListener("click", () => this.#change(() => this.#conversations.add()));
    this.#place("stop").addEventListener("click", () => this.#running?.controller.abort());
    this.#place("regenerate").addEventListener("click", () => this.#regenerate());
    this.#place("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#place("prompt").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        this.#send();
      }
      if (event.key === "Escape") this.#running?.controller.abort();
    });
    this.#show();
  }

  #inputs() {
    return [...this.#place("sampling").querySelectorAll("input, textarea")];
  }

  #sampling() {
    return Object.fromEntries(this.#inputs().map((input) => [input.name, input.value.trim()]));
  }

  #restoreSampling() {
    let kept = {};
    try {
      kept = JSON.parse(localStorage.getItem(kSampling)) ?? {};
    } catch {
      // damaged: begin without
    }
    for (const input of this.#inputs()) {
      input.value = kept[input.name] ?? "";
      input.addEventListener("change", () => localStorage.setItem(kSampling, JSON.stringify(this.#sampling())));
    }
  }

  #change(act) {
    act();
    this.#show();
    this.#place("prompt").focus();
  }

  #send() {
    const prompt = this.#place("prompt");
    if (this.#running || prompt.value.trim() === "") return;
    this.#conversations.say("user", prompt.value.trim());
    prompt.value = "";
    this.#answer();
  }

  #regenerate() {
    if (!this.#running && this.#conversations.takeBackAnswer()) this.#answer();
  }

  async #answer() {
    const conversation = this.#conversations.current;
    const body = requestOf(conversation.messages, this.#sampling());
    const message = this.#conversations.say("assistant", "");
    this.#running = {controller: new AbortController(), conversation, message};
    this.#show();
    this.#note("waiting for the first token");
    const started = performance.now();
    try {
      await this.#stream(body, started);
    } catch (error) {
      this.#note(error.name === "AbortError" ? "stopped" : error.message, error.name !== "AbortError");
    }
    if (message.content === "") conversation.messages.splice(conversation.messages.indexOf(message), 1);
    this.#running = null;
    this.#conversations.save();
    this.#show();
  }

  async #stream(body, started) {
    const {controller, message} = this.#running;
    let first, usage, reason;
    for await (const event of streamChat(body, controller.signal)) {
      usage = event.usage ?? usage;
      const choice = event.choices[0];
      reason = choice?.finish_reason ?? reason;
      const piece = choice?.delta?.content;
      if (!piece) continue;
      first ??= performance.now();
      message.content += piece;
      this.#showPiece(piece);
      this.#note("answering");
    }
    const ended = performance.now();
    const tokens = usage?.completion_tokens ?? 0;
    const pace = tokens > 1 && ended > first ? `, ${((tokens - 1) / (ended - first) * 1e3).toFixed(1)} tokens/s` : "";
    this.#note(`${tokens} tokens, first after ${((first ?? ended) - started).toFixed(0)} ms${pace}` +
      (reason === "length" ? ", cut at the limit" : ""));
  }

  #note(text, isBad = false) {
    const note = this.#place("chat-note");
    note.textContent = text;
    note.classList.toggle("bad", isBad);
  }

  // What is shown stays: a long answer costs no more per piece than a short one.
  #showPiece(piece) {
    if (this.#running.conversation !== this.#conversations.current) return;
    this.#place("messages").lastElementChild.lastElementChild.append(piece);
  }

  #show() {
    const {list, current} = this.#conversations;
    this.#place("messages").replaceChildren(...current.messages.map(({role, content}) =>
      element("li", {"data-role": role}, element("b", {}, kNames[role] ?? role), element("span", {}, content))));
    this.#place("messages").setAttribute("aria-busy", String(this.#running !== null));
    this.#place("chats").replaceChildren(...list.map((each) => element("li", {},
      element("button", {type: "button", "aria-current": each === current ? "true" : undefined,
        click: () => this.#change(() => this.#conversations.select(each.id))}, each.title),
      element("button", {type: "button", "aria-label": `Delete ${each.title}`, disabled: this.#running?.conversation === each,
        click: () => this.#change(() => this.#conversations.remove(each.id))}, "\u00d7"))));
    this.#place("send").disabled = this.#running !== null;
    this.#place("stop").disabled = this.#running === null;
    this.#place("regenerate").disabled = this.#running !== null || !current.messages.some(({role}) => role === "user");
  }
}
