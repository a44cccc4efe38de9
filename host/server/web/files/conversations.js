// SPDX-License-Identifier: Apache-2.0
//
// Conversations, kept in the browser's storage: [{id, title, messages: [{role, content}]}], the newest first.

const kKey = "tandem.conversations";
const kMost = 50;
const kTitleLength = 40;

export class Conversations {
  #storage;

  // `storage`: localStorage, or what has its getItem and setItem.
  constructor(storage) {
    this.#storage = storage;
    this.list = [];
    try {
      const kept = JSON.parse(storage.getItem(kKey) ?? "[]");
      if (Array.isArray(kept)) this.list = kept.filter((each) => each?.id && Array.isArray(each.messages));
    } catch {
      // what cannot be read is left behind
    }
    if (this.list.length === 0) this.add();
    this.current = this.list[0];
  }

  add() {
    this.current = {id: crypto.randomUUID?.() ?? String(Date.now()) + Math.random(), title: "New conversation", messages: []};
    this.list.unshift(this.current);
    this.list.length = Math.min(this.list.length, kMost);
    this.save();
  }

  select(id) {
    this.current = this.list.find((each) => each.id === id) ?? this.current;
  }

  remove(id) {
    this.list = this.list.filter((each) => each.id !== id);
    if (this.list.length === 0) this.add();
    if (this.current.id === id) this.current = this.list[0];
    this.save();
  }

  say(role, content) {
    const message = {role, content};
    if (role === "user" && this.current.messages.length === 0) this.current.title = content.slice(0, kTitleLength);
    this.current.messages.push(message);
    if (role === "user") this.save();
    return message;
  }

  // Takes the last answer away, so that the question before it can be asked again. False: there is no question.
  takeBackAnswer() {
    const messages = this.current.messages;
    while (messages.at(-1)?.role === "assistant") messages.pop();
    return messages.at(-1)?.role === "user";
  }

  // A full storage loses the oldest conversations.
  save() {
    for (let count = this.list.length; count > 0; --count) {
      try {
        this.#storage.setItem(kKey, JSON.stringify(this.list.slice(0, count)));
        return;
      } catch {
        // try with one less
      }
    }
  }
}
