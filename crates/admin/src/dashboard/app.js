// The page as a whole: views, and the clock that asks the server each second
// for what is shown. It rests while nobody looks.

import { Refused, get, hasToken, query, setToken } from "./api.js";
import { Config } from "./config.js";
import { byId, say } from "./dom.js";
import { clock } from "./format.js";
import { History, LONGEST_S } from "./history.js";
import { Log } from "./log.js";
import { Objects } from "./objects.js";
import { Overview } from "./overview.js";
import { Purge } from "./purge.js";
import { State, headline } from "./state.js";

const EVERY_MS = 1_000;
/** Between two attempts while the server is away. */
const AWAY_MS = [1_000, 2_000, 3_000, 5_000];
/** Rows asked for again, so that none is missed between two questions. */
const OVERLAP_S = 3;
const VIEWS = ["overview", "objects", "purge", "log", "config"];

const overview = new Overview();
const state = new State();
const purge = new Purge();
const objects = new Objects((url) => {
  select("purge");
  purge.prepare(url);
});
const log = new Log();
const config = new Config();
/** What is asked for only while its view is shown. */
const asking = { objects, purge, config };

const history = new History();
let view = "overview";
let paused = false;
let timer = null;
let askedAt = 0;
let pid = null;
/** Since when it does not answer, seconds since 1970. */
let awaySince = null;
let failures = 0;
let busy = false;

/** Asks for everything that is shown, and shows it. */
async function look() {
  const since = history.until === 0 ? LONGEST_S : Math.ceil((performance.now() - askedAt) / 1000) + OVERLAP_S;
  const seconds = Math.min(LONGEST_S, since);
  const begun = performance.now();
  const [status, figures, past] = await Promise.all([
    get("/api/v1/status"), get("/api/v1/counters"), get(`/api/v1/history${query({ seconds })}`),
  ]);
  if (pid !== null && pid !== status.pid) {
    history.clear();
    // Another process: all of its past is wanted, not its last seconds.
    history.add(await get(`/api/v1/history${query({ seconds: LONGEST_S })}`));
  } else {
    history.add(past);
  }
  askedAt = begun;
  pid = status.pid;
  const seen = { status, figures, history };
  for (const part of [overview, state, purge, config]) part.update(seen);
  say(byId("server"), headline(status));
  await asking[view]?.tick();
  return status;
}

async function tick() {
  clearTimeout(timer);
  if (paused || document.hidden || busy || byId("ask-token").open) return;
  busy = true;
  const begun = performance.now();
  let wait = EVERY_MS;
  try {
    const status = await look();
    failures = 0;
    awaySince = null;
    if (!paused) live("live", status.draining ? "draining" : "live");
    notice(null);
  } catch (error) {
    wait = failed(error);
  }
  busy = false;
  timer = setTimeout(tick, Math.max(200, wait - (performance.now() - begun)));
}

/** Says what is wrong; gives the time to wait. */
function failed(error) {
  if (!(error instanceof Refused)) {
    live("down", "error");
    notice(`This page failed: ${error.message}`);
    console.error(error);
  } else if (error.status === 401) {
    askToken();
  } else if (error.status === 0) {
    awaySince ??= Date.now() / 1000;
    live("down", "no answer");
    notice(`The server does not answer since ${clock(awaySince)}. It is asked again all the time.`);
  } else {
    live("down", "refused");
    notice(error.message);
  }
  failures += 1;
  return AWAY_MS[Math.min(failures, AWAY_MS.length) - 1];
}

function live(kind, words) {
  byId("live").dataset.state = kind;
  say(byId("live"), words);
}

function notice(words) {
  byId("notice").hidden = words === null;
  if (words !== null) say(byId("notice"), words);
}

function askToken() {
  live("down", "token needed");
  const dialog = byId("ask-token");
  if (dialog.open) return;
  say(byId("token-wrong"), hasToken() ? "The server does not know this token." : "");
  byId("token").value = "";
  dialog.showModal();
}

byId("token-form").addEventListener("submit", () => {
  setToken(byId("token").value.trim());
  byId("forget").hidden = false;
});
// Closed without a token it comes again with the next question.
byId("ask-token").addEventListener("close", resume);
byId("forget").hidden = !hasToken();
byId("forget").addEventListener("click", () => {
  setToken(null);
  location.reload();
});

/** Goes on at once. */
function resume() {
  log.follow(view === "log" && !paused && !document.hidden && !byId("ask-token").open);
  tick();
}

byId("pause").addEventListener("click", () => {
  paused = !paused;
  byId("pause").setAttribute("aria-pressed", String(paused));
  say(byId("pause"), paused ? "Go on" : "Pause");
  if (paused) live("paused", "paused");
  resume();
});
document.addEventListener("visibilitychange", resume);

/** Shows a view and keeps it in the address, so that it can be linked to. */
function select(name) {
  view = VIEWS.includes(name) ? name : "overview";
  for (const own of VIEWS) {
    byId(own).hidden = own !== view;
    byId(`tab-${own}`).setAttribute("aria-selected", String(own === view));
    byId(`tab-${own}`).tabIndex = own === view ? 0 : -1;
  }
  if (named() !== view) window.history.replaceState(null, "", `#/${view}`);
  resume();
}

for (const own of VIEWS) byId(`tab-${own}`).addEventListener("click", () => select(own));
document.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
  const now = VIEWS.indexOf(view);
  const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: VIEWS.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  select(VIEWS[(to + VIEWS.length) % VIEWS.length]);
  byId(`tab-${view}`).focus();
});
/** The view in the address. With the slash it is no element's name, to which the browser would scroll. */
function named() {
  return location.hash.slice(2);
}

window.addEventListener("hashchange", () => select(named()));
select(named());
