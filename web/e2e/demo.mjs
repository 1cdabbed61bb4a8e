// Starts the demo server and a browser for the tests, and watches every page for what must never happen.
import assert from "node:assert/strict";
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
export const results = join(root, "test-results");
export const password = "correct horse battery";
/** How long a page may take for anything, in milliseconds: it tells a page that hangs from one on a busy machine. */
export const patience = 120_000;

/** Builds and starts the demo server; options.account: false starts it without any account. */
export async function startDemo({ account = true } = {}) {
  const dir = mkdtempSync(join(tmpdir(), "dedup-demo-"));
  const binary = join(root, "bin", "demoserver");
  mkdirSync(results, { recursive: true });
  build("./lab/demo/demoserver");
  const args = ["-dir", dir];
  if (account) args.push("-password", password);
  const child = spawn(binary, args, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = {};
  await new Promise((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`the demo server ended with ${code}`)));
    child.stdout.on("data", (chunk) => {
      text += chunk;
      for (const line of text.split("\n")) {
        const [, key, value] = /^(Demo|Setup): (\S+)$/.exec(line) ?? [];
        if (key) lines[key] = value;
      }
      if (lines.Demo) resolve();
    });
  });
  const url = lines.Demo;
  return {
    url,
    setup: lines.Setup,
    pid: child.pid,
    scene: (name) => fetch(`${url}/demo/scene/${name}`, { method: "POST" }),
    async stop() {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGINT");
      await ended;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Builds programs, unless npm test has built all of them before. */
export function build(...programs) {
  if (process.env.npm_lifecycle_event === "test") return;
  execFileSync("go", ["build", "-o", join(root, "bin") + "/", ...programs], { cwd: root, stdio: "inherit" });
}

// Each new page would also get two pages of the browser's own for its address bar, which cost as much as ours. This list replaces
// that of Playwright, which is repeated.
const withoutFeatures = [
  "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
  "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades",
  "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding", "PreconnectToSearch", "ThirdPartyStoragePartitioning",
];

export function startBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: [`--disable-features=${withoutFeatures.join()}`, "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** Opens a context that is signed in, as the admin unless options.name says otherwise. Everything that a page must not do is collected in context.faults. */
export async function signIn(browser, url, { name = "viewer", ...options } = {}) {
  const context = await watched(browser, options);
  const page = await context.newPage();
  await page.goto(`${url}/login`);
  await page.getByLabel("Name").fill(name);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.waitForURL(`${url}/`);
  await page.close();
  return context;
}

export async function watched(browser, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(patience);
  context.faults = [];
  context.expected = [];
  context.on("console", (message) => {
    const text = message.text();
    if (message.type() === "error" && !context.expected.some((pattern) => pattern.test(text))) context.faults.push(text);
  });
  context.on("weberror", (error) => context.faults.push(String(error.error())));
  context.on("dialog", (dialog) => context.faults.push(`dialog: ${dialog.message()}`));
  return context;
}

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// The rules that look at colours. All others look at what the page holds, and where on the screen it is.
const colourRules = ["color-contrast", "link-in-text-block"];

/** The colours that a page can have. */
export const colours = {
  light: { colorScheme: "light", forcedColors: "none" },
  dark: { colorScheme: "dark", forcedColors: "none" },
  "forced-colors": { colorScheme: "light", forcedColors: "active" },
};
/** The sizes that pages are looked at in. */
export const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 }, "narrow phone": { width: 320, height: 640 } };

/** Returns which elements the page shows, and where. */
function shapeOf(page) {
  return page.evaluate(() => {
    const places = [...document.querySelectorAll("*")].map((e) => {
      const { x, y, width, height } = e.getBoundingClientRect();
      return e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) ? [e.localName, x, y, width, height].join(" ") : "";
    });
    return places.join("\n");
  });
}

/** Looks at the page as it stands in each of the colours: it must have no accessibility faults and fit its screen. Where the same things are shown in the same places as in the first ones, only colours are new. */
export async function look(page, what, inColours = Object.keys(colours)) {
  let first;
  for (const name of inColours) {
    await page.emulateMedia({ ...colours[name], reducedMotion: "reduce" }); // no colour fades into the next
    const shape = await shapeOf(page);
    assert.deepEqual(await faultsOf(page, shape === first ? colourRules : tags), [], `${what} in ${name}`);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `${what} in ${name} is ${wide} px wider than the screen`);
    first ??= shape;
  }
  await page.emulateMedia({ ...colours.light, reducedMotion: "no-preference" });
}

/** Returns the accessibility faults of the page as it stands. Only they cross over: all that axe finds in order is megabytes. */
export async function faultsOf(page, rules = tags) {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  return page.evaluate(async (only) => {
    const { violations } = await window.axe.run(document, { runOnly: only, resultTypes: ["violations"] });
    return violations.map((v) => `${v.id}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(", ")} (${v.nodes.length})`);
  }, rules);
}
