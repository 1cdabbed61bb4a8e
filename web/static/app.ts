// The live layer. The server sends hints over one stream; every region of the page then fetches itself again. Everything
// works without this file: it only saves reloading.
import htmx from "htmx.org/dist/htmx.esm.js";
import "htmx.org/dist/ext/hx-sse.js";
import { showSelections } from "./select";

type State = "connecting" | "live" | "paused" | "reconnecting" | "stale" | "ended";

htmx.config.history = false;
// What a reader has opened stays open when its region is filled again.
htmx.config.morphIgnore = [...htmx.config.morphIgnore, "open"];

const words: Record<State, string> = {
  connecting: "Connecting", live: "Live", paused: "Paused", reconnecting: "Reconnecting…", stale: "Stale", ended: "Signed out",
};
const chip = document.getElementById("live");
const label = document.getElementById("live-state");
const button = document.getElementById("live-pause");
const signIn = document.getElementById("live-sign-in") as HTMLAnchorElement | null;
const announce = document.getElementById("announce");
const alarm = document.getElementById("alarm");

let state: State = "connecting";
let paused = false;
let connected = false;
let lastHint = Date.now();
let emergencies = countEmergencies();
let lastSpoken = 0;

function show(next: State, since?: number): void {
  if (state === "ended" || (state === next && next !== "stale")) return;
  state = next;
  if (!label) return;
  label.dataset.state = next;
  label.textContent = since ? `${words[next]} since ${new Date(since).toLocaleTimeString()}` : words[next];
}

/** Whether an answer says that whoever reads the page may not do so any more. */
const refused = (status?: number): boolean => status === 401 || status === 403;

/** The session has ended: the page stays as it is, asks for nothing any more, and leads to where one signs in and comes back. */
function signedOut(): void {
  show("ended");
  if (button) button.hidden = true;
  if (announce) announce.textContent = "Signed out: this page follows nothing any more.";
  if (!signIn) return;
  const base = signIn.pathname.slice(0, -"/login".length);
  signIn.search = new URLSearchParams({ next: location.pathname.slice(base.length) + location.search }).toString();
  signIn.hidden = false;
}

/** The page's region that an event of htmx belongs to, if any. */
function regionOf(event: Event): HTMLElement | null {
  const target = event.target as Element | null;
  return target?.closest?.<HTMLElement>("[hx-get]") ?? null;
}

function refreshAll(): void {
  document.body.dispatchEvent(new CustomEvent("resync"));
}

document.addEventListener("htmx:sse:after:connection", () => {
  const again = connected;
  connected = true;
  lastHint = Date.now();
  show(paused ? "paused" : "live");
  if (again && !paused) refreshAll(); // whatever was missed while there was no connection
});
document.addEventListener("htmx:sse:before:connection", (event) => {
  if (state === "ended") event.preventDefault();
  else if (connected && !paused) show("reconnecting");
});
document.addEventListener("htmx:sse:error", (event) => {
  if (refused((event as CustomEvent).detail.status)) signedOut();
  else if (!paused) show("reconnecting");
});
document.addEventListener("htmx:sse:close", () => show("stale", lastHint));
document.addEventListener("htmx:sse:before:message", (event) => {
  lastHint = Date.now();
  if (paused) event.preventDefault();
});

// A list in which somebody is selecting stands still: what is ticked must be what is seen.
document.addEventListener("htmx:before:request", (event) => {
  const region = regionOf(event);
  if (state === "ended" || region?.querySelector("input[name=sel]:checked")) event.preventDefault();
});

// An error page must never take the place of a region: what is shown stays, and is marked as old.
document.addEventListener("htmx:before:response", (event) => {
  const { ctx } = (event as CustomEvent).detail;
  const region = regionOf(event);
  if (!region) {
    if (refused(ctx.response.status)) signedOut(); // the stream itself, before it ever began
    return;
  }
  const failed = ctx.response.status >= 400 || ctx.response.raw.redirected;
  region.classList.toggle("old", failed);
  if (!failed) return;
  event.preventDefault();
  if (ctx.response.status === 401 || ctx.response.raw.redirected) signedOut();
  else show("stale", lastHint);
});
document.addEventListener("htmx:error", (event) => {
  const region = regionOf(event);
  if (!region) return;
  region.classList.add("old");
  show("stale", lastHint);
});
document.addEventListener("htmx:after:swap", () => {
  lastHint = Date.now(); // a page that asks by itself has no hints to wait for
  if (connected && !paused) show("live");
  rest();
  showSelections();
  speak();
  speakOfAlerts();
  followJob();
});

/** A page that follows nothing any more does not say that it is live. */
function rest(): void {
  if (chip) chip.hidden = document.querySelector("[hx-get]") === null;
}

button?.addEventListener("click", () => {
  paused = !paused;
  button.setAttribute("aria-pressed", String(paused));
  button.textContent = paused ? "Resume" : "Pause";
  show(paused ? "paused" : connected ? "live" : "reconnecting");
  if (!paused) refreshAll();
});

// No hint for four intervals although the connection stands: the collector is late, and so is what is shown.
setInterval(() => {
  const every = Number(document.querySelector<HTMLElement>("[data-every]")?.dataset.every ?? 15);
  if (!paused && state === "live" && Date.now() - lastHint > every * 4000) show("stale", lastHint);
}, 5000);

function countEmergencies(): number {
  return document.querySelectorAll("main .chip.t-emergency:not(.hollow)").length;
}

/** The words on a new emergency; pages of alerts have more than pipelines. */
function emergencyWords(): string {
  return document.querySelector("[data-alerts]") ? "An alert is in emergency." : "A pipeline is in emergency.";
}

/** Tells screen readers of a new emergency at once, and of nothing else: tables that talk are worse than silence. */
function speak(): void {
  const now = countEmergencies();
  if (now > emergencies && alarm) alarm.textContent = emergencyWords();
  else if (now < emergencies && announce && !document.querySelector("[data-alerts]") && Date.now() - lastSpoken > 10_000) {
    lastSpoken = Date.now();
    announce.textContent = now === 0 ? "No pipeline is in emergency any more." : "Fewer pipelines are in emergency.";
  }
  if (now === 0 && alarm) alarm.textContent = "";
  emergencies = now;
}

const alertsSaid = (): string => document.querySelector<HTMLElement>("[data-alerts]")?.dataset.alerts ?? "";
let alertsHeard = alertsSaid();

/** Tells screen readers when tiers of alerts change, at most once in ten seconds: what changed meanwhile is told with the next. */
function speakOfAlerts(): void {
  const now = alertsSaid();
  if (!announce || now === alertsHeard || Date.now() - lastSpoken <= 10_000) return;
  lastSpoken = Date.now();
  alertsHeard = now;
  announce.textContent = now;
}

let quarter = document.getElementById("progress")?.dataset.quarter ?? "";

/** Keeps the title of a job's page true, and tells screen readers of each quarter: more often would be noise. */
function followJob(): void {
  const progress = document.getElementById("progress");
  if (!progress?.dataset.title) return;
  document.title = `${progress.dataset.title} · Dedup Dashboard`;
  const now = progress.dataset.quarter ?? "";
  if (now === quarter) return;
  quarter = now;
  if (announce && now !== "0") announce.textContent = now === "" ? (progress.querySelector("h1")?.textContent ?? "") : `${now} %`;
}

// A provenance panel closes as menus do: by Escape, or by a click elsewhere.
function closePanels(except?: Element | null): void {
  for (const open of document.querySelectorAll<HTMLDetailsElement>("details.prov[open], details.menu[open]")) {
    if (!except || !open.contains(except)) open.open = false;
  }
}
document.addEventListener("click", (event) => closePanels(event.target as Element));
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  const inside = document.activeElement?.closest("details");
  closePanels();
  inside?.querySelector("summary")?.focus();
});

rest();
