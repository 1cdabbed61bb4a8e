// The night of an operator on real servers, without JavaScript: a message loops on the marker of a dead consumer.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { startBrowser, watched, password, patience } from "./demo.mjs";
import { startPlayground } from "./playground.mjs";

// The consumer of this message dies between SETNX and EXPIRE: the message is returned by every consumer that gets it.
const looping = "shipping-1-0000020";
// A marker whose message nobody has: planted by the test.
const planted = "planted-1";

let ground, browser, context, page;
before(async () => {
  // Work that takes a while leaves markers with an expiry for the dashboard to see.
  const knobs = ["shipping.max-processing=8s", "shipping.rate=10", "shipping.work=80ms", "shipping.crash=0", "shipping.reject=0", "shipping.failure=0"];
  ground = await startPlayground({ only: ["shipping"], knobs });
  browser = await startBrowser();
  context = await watched(browser, { javaScriptEnabled: false });
  page = await context.newPage();
});
after(async () => {
  await browser?.close();
  await ground?.stop();
});

/** Asks again and again until the answer pleases, and fails with the last one. */
async function until(what, ask, pleases) {
  const deadline = Date.now() + patience;
  for (;;) {
    const answer = await ask();
    if (pleases(answer)) return answer;
    if (Date.now() > deadline) assert.fail(`${what}: still ${JSON.stringify(answer)} after ${patience / 1000} s`);
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Opens an address again and again until its text matches. */
const openUntil = (what, path, text) =>
  until(what, async () => (await page.goto(ground.url + path), page.locator("main").innerText()), (answer) => text.test(answer));

/** Goes from the overview over the stuck link to the page of one marker that is probably dead or an orphan. */
async function openStuck(id) {
  await page.goto(ground.url);
  await page.locator("#row-shipping").getByRole("link", { name: /stuck/ }).click();
  await page.getByRole("heading", { level: 1, name: "Markers of shipping" }).waitFor();
  await page.locator(".rows").getByRole("link", { name: id }).click();
  await page.getByRole("heading", { level: 1, name: id }).waitFor();
}

/** Clears the marker of this page through its review and returns the address of the result. */
async function clear(reason) {
  await page.getByRole("button", { name: "Review clearing", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "Review: clear 1 marker" }).waitFor();
  await page.getByLabel("Reason, for the audit").fill(reason);
  await page.getByRole("button", { name: "Clear 1 marker" }).click();
  await page.waitForURL(/\/operations\//);
  // The page loads itself again while the marker is watched.
  await page.getByRole("heading", { level: 1, name: "Cleared 1 of 1 marker" }).waitFor();
  return page.url();
}

test("the first admin signs in by the link that the playground prints", async () => {
  await page.goto(ground.setup);
  await page.getByLabel("Name").fill("nina");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Make the account and sign in" }).click();
  await page.waitForURL(`${ground.url}/`);
});

test("a looping message is found from the overview, and its marker is judged", async () => {
  await ground.redis("shipping", `SET msg:${planted} processing`);
  await openUntil("both markers are called stuck", "/", /\b2 stuck\b/);
  await openStuck(looping);
  const { pathname, search } = new URL(page.url());
  await openUntil("the marker is called dead, not only looping", pathname + search, /Verdict: probably dead/);
  assert.match(await page.locator(".reasons").innerText(), /its owner ended between the two commands/);
  assert.match(await page.locator(".big-life").innerText(), /never expires/);
});

let result;
test("its clearing is reviewed, carried out with a reason, and audited", async () => {
  const before = await ground.truth("shipping");
  assert.ok(before.looping > 0, "no message loops");
  result = await clear("a consumer was killed at 03:10");
  assert.match(await page.locator(".c-result").innerText(), /^cleared$/);
  await page.getByRole("link", { name: "Its entries in the audit" }).click();
  const entries = await page.locator(".entries").innerText();
  for (const part of ["nina", `msg:${looping}`, "a consumer was killed at 03:10"]) assert.ok(entries.includes(part), `the audit lacks ${part}: ${entries}`);
});

test("the message runs, its loop ends, and the overview has one stuck marker less", async () => {
  await openUntil("the marker is done", `/lookup?id=${looping}`, /\bdone\b/);
  // The deliveries that were on their way back when the marker went are over by now: nothing is returned any more.
  const { looping: returned } = await ground.truth("shipping");
  await openUntil("one stuck marker is left", "/", /\b1 stuck\b/);
  const truth = await ground.truth("shipping");
  assert.equal(truth.looping, returned);
  assert.equal(truth.double_effects, 0);
});

test("the result says that the message was done since, and why nothing is left to undo", async () => {
  await page.goto(result);
  await page.getByText("Nothing is left to undo: its message has a marker again.").waitFor();
  assert.match(await page.locator(".c-now").innerText(), /^done/);
  assert.equal(await page.getByRole("button", { name: "Review undoing this" }).count(), 0);
  assert.equal(await ground.redis("shipping", `GET msg:${looping}`), "done");
});

test("the clearing of a marker without a message is undone", async () => {
  await openStuck(planted);
  result = await clear("nobody has its message");
  assert.equal(await ground.redis("shipping", `EXISTS msg:${planted}`), ":0");
  await page.getByRole("button", { name: "Review undoing this" }).click();
  await page.getByRole("heading", { level: 1, name: "Review: restore 1 marker" }).waitFor();
  await page.getByLabel("Reason, for the audit").fill("its message is on paper");
  await page.getByRole("button", { name: "Restore 1 marker" }).click();
  await page.getByRole("heading", { level: 1, name: "Restored 1 of 1 marker" }).waitFor();
  assert.equal(await ground.redis("shipping", `GET msg:${planted}`), "processing");
  assert.equal(await ground.redis("shipping", `TTL msg:${planted}`), ":-1");
  await page.getByRole("link", { name: "Its entries in the audit" }).click();
  assert.match(await page.locator(".entries").innerText(), /its message is on paper/);
  await page.goto(result);
  await page.getByText("This was undone").waitFor();
});

test("no page wrote an error", () => assert.deepEqual(context.faults, []));
