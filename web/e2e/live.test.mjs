// The live layer: hints arrive, regions follow, and nothing that a reader does is lost.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { password, startDemo, startBrowser, signIn } from "./demo.mjs";

let demo, browser, context, page;
before(async () => {
  demo = await startDemo();
  browser = await startBrowser();
  context = await signIn(browser, demo.url);
  page = await context.newPage();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const live = () => page.locator("#live-state[data-state=live]").waitFor();
const tierOf = (name) => page.locator(`#row-${name} .c-tier .chip`).first().innerText();

test("a hint brings the new state, and keeps filters, typed text, focus and what is open", async () => {
  await demo.scene("healthy");
  await page.goto(`${demo.url}/?sort=name`);
  await live();
  await page.getByRole("searchbox", { name: "Find" }).fill("half typ");
  assert.equal(await page.locator("th.c-name").count(), 2);
  await demo.scene("mixed");
  await page.locator("#row-inventory").waitFor();
  assert.equal(await tierOf("inventory"), "emergency");
  assert.equal(await page.locator("th[aria-sort=ascending]").innerText(), "Pipeline");
  assert.equal(await page.getByRole("searchbox", { name: "Find" }).inputValue(), "half typ");
  assert.equal(await page.evaluate(() => document.activeElement.name), "q");
  assert.match(await page.locator("#alarm").innerText(), /emergency/);
});

test("a figure that is open stays open while its page follows the data", async () => {
  await demo.scene("mixed");
  await page.goto(`${demo.url}/pipelines/orders`);
  await live();
  await page.locator(".windows .prov summary").first().click();
  const asOf = await page.locator(".fresh time").getAttribute("datetime");
  await page.waitForFunction((before) => {
    return new Date().toISOString().slice(0, 19) > new Date(Date.parse(before) + 7000).toISOString().slice(0, 19);
  }, asOf);
  await demo.scene("mixed");
  await page.waitForFunction((before) => document.querySelector(".fresh time").getAttribute("datetime") !== before, asOf);
  assert.ok(await page.locator(".windows .panel").first().isVisible());
  await page.keyboard.press("Escape");
  await page.locator(".windows .panel").first().waitFor({ state: "hidden" });
});

test("Pause holds the page still, and Resume catches up", async () => {
  await demo.scene("healthy");
  await page.goto(demo.url);
  await live();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator("#live-state[data-state=paused]").waitFor();
  await page.evaluate(() => {
    window.hints = 0;
    document.addEventListener("htmx:sse:before:message", () => (window.hints += 1));
  });
  let asked = 0;
  const count = (request) => (asked += request.headers()["hx-request"] ? 1 : 0);
  page.on("request", count);
  await demo.scene("mixed");
  await page.waitForFunction(() => window.hints > 0); // the hint has come, and what follows it would be on its way
  await page.evaluate(() => fetch("healthz"));
  page.off("request", count);
  assert.equal(asked, 0, "a hint was followed while the page was paused");
  assert.equal(await page.locator("th.c-name").count(), 2);
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator("#row-inventory").waitFor();
  await live();
});

test("an ended session is said, and does not replace the page", async () => {
  await demo.scene("mixed");
  await page.goto(demo.url);
  await live();
  context.expected.push(/status of 401/);
  const cookies = await context.cookies();
  await context.clearCookies();
  await demo.scene("mixed");
  await page.locator("#live-state[data-state=ended]").waitFor();
  assert.ok(await page.locator("#row-inventory").isVisible());
  await context.addCookies(cookies);
});

test("a page whose session was ended elsewhere says so, asks for nothing any more, and leads back by signing in", async () => {
  const own = await signIn(browser, demo.url);
  own.expected.push(/status (of )?401/);
  const [left, other] = [await own.newPage(), await own.newPage()];
  await demo.scene("mixed");
  await left.goto(`${demo.url}/?sort=name&tier=emergency`);
  await left.locator("#live-state[data-state=live]").waitFor();
  await other.goto(`${demo.url}/docs`);
  await other.locator("details.menu > summary").click();
  await other.getByRole("button", { name: "Sign out", exact: true }).click();
  await left.bringToFront();
  await left.locator("#live-state[data-state=ended]").waitFor();
  assert.equal(await left.locator("#live-state").innerText(), "Signed out");
  assert.ok(await left.locator("#row-inventory").isVisible());
  assert.ok(!(await left.getByRole("button", { name: "Pause" }).isVisible()));
  let asked = 0;
  left.on("request", () => (asked += 1));
  await left.evaluate(() => document.body.dispatchEvent(new CustomEvent("resync")));
  await left.waitForTimeout(4000); // twice as long as the stream says to wait before it is tried again
  assert.equal(asked, 0, "a page that is signed out still asks");
  await left.getByRole("link", { name: "Sign in" }).click();
  await left.getByLabel("Name").fill("viewer");
  await left.getByLabel("Password").fill(password);
  await left.getByRole("button", { name: "Sign in" }).click();
  await left.waitForURL(`${demo.url}/?sort=name&tier=emergency`);
  await left.locator("#live-state[data-state=live]").waitFor();
  assert.deepEqual(own.faults, []);
  await own.close();
});

test("no page wrote an error", () => assert.deepEqual(context.faults, []));
