// SPDX-License-Identifier: Apache-2.0
//
// Views, theme, and the loop that asks for what the visible view shows.
import {getJson, getText} from "./api.js";
import {Chat} from "./chat.js";
import {showLatency} from "./metrics.js";
import {showConfiguration, showLog, showReports} from "./operator.js";
import {showClients, showSequences, showTotals} from "./requests.js";
import {showDevices} from "./status.js";
import {showPlan, showSteps, StepHistory} from "./steps.js";
import {keepTheme} from "./theme.js";
import {showTraffic} from "./traffic.js";

const kViews = ["chat", "devices", "steps", "requests", "latency", "traffic", "log", "configuration"];
let pauseMs = 2000;  // until the daemon says how long
let access = null;  // {metrics, admin}: what this browser may ask
const history = new StepHistory();
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

const kNotMetrics = "this key may not see the daemon's state: it needs the role metrics or admin";

// What the view shows, from the routes that this browser may ask.
async function refresh() {
  access ??= await getJson("/ui/access");
  if (!access.metrics) return say(kNotMetrics, true);
  const name = view();
  const state = await getJson(name === "requests" ? "/ui/state?requests" : "/ui/state");
  pauseMs = state.next_ms;
  showState(state.status);
  history.add(state.status);
  await kShow[name]?.(state.status, state);
  place(`view-${name}`).removeAttribute("aria-busy");
}

const kShow = {
  devices(status) {
    showDevices(place("devices"), status);
    return showReports(place("reports"), access);
  },
  steps(status) {
    showPlan(place("plan"), status.plan);
    showSteps(place("steps"), history);
  },
  requests(status, {sequences, clients}) {
    showTotals(place("totals"), status);
    showSequences(place("sequences"), sequences);
    showClients(place("requests"), clients);
  },
  async latency() {
    showLatency(place("latency"), await getText("/metrics"));
  },
  traffic(status) {
    showTraffic(place("traffic"), status.devices);
  },
  log() {
    return showLog(place("log"), access, place("only-alarms").checked);
  },
  configuration() {
    return showConfiguration(place("configuration"), access);
  },
};

// A hidden page asks for nothing.
async function watch() {
  for (;;) {
    if (!document.hidden) {
      try {
        await refresh();
      } catch (error) {
        access = null;  // the daemon may be another one by now
        say(error.message, true);
      }
    }
    await new Promise((resolve) => {
      wake = resolve;
      setTimeout(resolve, pauseMs);
    });
  }
}

let wake = () => {};
keepTheme(place("theme"));
addEventListener("hashchange", () => {
  showView();
  place("main").focus();
  wake();
});
place("only-alarms").addEventListener("change", () => wake());
document.addEventListener("visibilitychange", () => wake());
showView();
new Chat();
watch();
