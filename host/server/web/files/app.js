// SPDX-License-Identifier: Apache-2.0
//
// Views, theme, and the loop that asks for what the visible view shows.
import {getJson, getText} from "./api.js";
import {Chat} from "./chat.js";
import {showLatency} from "./metrics.js";
import {showDevices, showPlan, showRequests, showTotals} from "./status.js";

const kViews = ["chat", "devices", "requests", "latency"];
const kTheme = "tandem.theme";
const kPauseMs = 2000;
const place = (id) => document.getElementById(id);

function view() {
  const name = location.hash.slice(1);
  return kViews.includes(name) ? name : kViews[0];
}

function showView() {
  for (const name of kViews) {
    place(`view-${name}`).hidden = name !== view();
    const link = document.querySelector(`nav a[href="#${name}"]`);
    if (name === view()) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `Tandem - ${place(`title-${view()}`).textContent}`;
}

function useTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

function say(text, isBad) {
  const state = place("state");
  if (state.textContent !== text) state.textContent = text;
  state.classList.toggle("bad", isBad);
}

function showState(status) {
  place("model").textContent = status.model;
  if (status.broken) say("broken: no request can be served", true);
  else if (status.degraded) say(`lost: ${status.lost_devices.join(", ")}`, true);
  else say(status.draining ? "draining" : `serving, ${status.running} running, ${status.waiting} waiting`, false);
}

async function refresh() {
  const status = await getJson("/status");
  showState(status);
  if (view() === "devices") {
    showDevices(place("devices"), status);
    showPlan(place("plan"), status.plan);
  } else if (view() === "requests") {
    showTotals(place("totals"), status);
    await showRequests(place("requests"));
  } else if (view() === "latency") {
    showLatency(place("latency"), await getText("/metrics"));
  }
}

// A hidden page asks for nothing.
async function watch() {
  for (;;) {
    if (!document.hidden) {
      try {
        await refresh();
      } catch (error) {
        say(error.message, true);
      }
    }
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, kPauseMs);
    });
  }
}

let wake = () => {};
place("theme").value = localStorage.getItem(kTheme) ?? "auto";
useTheme(place("theme").value);
place("theme").addEventListener("change", (event) => {
  localStorage.setItem(kTheme, event.target.value);
  useTheme(event.target.value);
});
addEventListener("hashchange", () => {
  showView();
  place("main").focus();
  wake();
});
document.addEventListener("visibilitychange", () => wake());
showView();
new Chat();
watch();
