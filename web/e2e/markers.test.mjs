// From a stuck marker to its undoing, as an admin meets it: without JavaScript, and with it.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { startDemo, startBrowser, signIn, look as lookAt, sizes } from "./demo.mjs";

let demo, browser;
before(async () => {
  demo = await startDemo();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

/** Clears the first orphan through its review and returns its id and the address of the result. */
async function clearOrphan(page, reason) {
  await page.goto(`${demo.url}/pipelines/orders/markers`);
  await page.getByRole("link", { name: /^orphan/ }).click();
  const row = page.locator(".rows tbody tr").first();
  const name = await row.locator("th a").innerText();
  await row.getByRole("checkbox").check();
  await page.getByRole("button", { name: "Review clearing of the selected" }).click();
  await page.getByRole("heading", { level: 1, name: "Review: clear 1 marker" }).waitFor();
  assert.match(await page.locator(".c-effect").innerText(), /runs only if its producer sends it again/);
  await page.getByLabel("Reason, for the audit").fill(reason);
  await page.getByRole("button", { name: "Clear 1 marker" }).click();
  await page.waitForURL(/\/operations\//);
  return { name, result: page.url() };
}

test("without JavaScript a stuck marker is found, judged, reviewed, cleared, audited and put back", async () => {
  const context = await signIn(browser, demo.url, { javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(demo.url);
  await page.locator("#row-orders").getByRole("link", { name: /stuck/ }).click();
  await page.getByRole("heading", { level: 1, name: "Markers of orders" }).waitFor();
  await page.getByRole("link", { name: /^orphan/ }).click();
  await page.locator(".rows th a").first().click();
  await page.getByRole("heading", { name: "Verdict: orphan" }).waitFor();
  assert.match(await page.locator(".reasons").innerText(), /no delivery was out at/);

  const { name, result } = await clearOrphan(page, "consumer-2 was killed at 03:10");
  await page.getByRole("heading", { level: 1, name: "Cleared 1 of 1 marker" }).waitFor(); // the page loads itself again
  await page.getByRole("link", { name: "Its entries in the audit" }).click();
  assert.match(await page.locator(".entries").innerText(), /consumer-2 was killed at 03:10/);
  await page.goto(`${demo.url}/lookup?id=${name}`);
  await page.getByRole("heading", { name: /^No marker in 2 stores/ }).waitFor();

  await page.goto(result);
  await page.getByRole("button", { name: "Review undoing this" }).click();
  await page.getByLabel("Reason, for the audit").fill("it was needed");
  await page.getByRole("button", { name: "Restore 1 marker" }).click();
  await page.getByRole("heading", { level: 1, name: "Restored 1 of 1 marker" }).waitFor();
  await page.goto(`${demo.url}/lookup?id=${name}`);
  await page.getByRole("heading", { name: /^1 marker in 2 stores/ }).waitFor();
  assert.deepEqual(context.faults, []);
  await context.close();
});

test("the page of an operation follows it to its end and two minutes on, and then rests", async () => {
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.clock.install(); // it goes on by itself, and can be wound forward
  await clearOrphan(page, "to see it end");
  await page.getByRole("heading", { level: 1, name: "Cleared 1 of 1 marker" }).waitFor();
  await page.getByRole("button", { name: "Review undoing this" }).waitFor();
  let asked = 0;
  page.on("request", (request) => (asked += request.url().includes("/operations/") ? 1 : 0));
  for (let i = 0; i < 2; i++) {
    const answered = page.waitForResponse("**/operations/**"); // the next one is asked for once the last was answered
    await page.clock.runFor(10_000);
    await answered;
  }
  await page.waitForFunction(() => document.querySelector("#live-state").dataset.state === "live");
  assert.ok(asked >= 2, `${asked} requests in 20 s after the end`);
  // The server says when it is over: the page of one that ended long ago comes in the place of the region.
  await page.route("**/operations/**", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replaceAll(/ hx-get="[^"]*"/g, "") });
  });
  await page.clock.runFor(6_000);
  await page.locator("#progress:not([hx-get])").waitFor();
  assert.ok(await page.locator("#live").isHidden());
  assert.deepEqual(context.faults, []);
  await context.close();
});

test("a list stands still while somebody selects", async () => {
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/orders/markers?sort=-age`);
  await page.locator("#live-state[data-state=live]").waitFor();
  const first = page.locator(".rows tbody tr").first();
  const name = await first.locator("th a").innerText();
  await first.getByRole("checkbox").check();
  await page.evaluate(() => {
    window.held = 0;
    document.addEventListener("htmx:before:request", (event) => (window.held += event.defaultPrevented ? 1 : 0));
  });
  await demo.scene("mixed");
  await page.waitForFunction(() => window.held > 0); // the list was about to be fetched, and was not
  assert.equal(await first.locator("th a").innerText(), name);
  assert.ok(await first.getByRole("checkbox").isChecked());
  await context.close();
});

test("a page of the list is selected at once, what is selected is counted, and nothing cannot be reviewed", async () => {
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/orders/markers`);
  const review = page.getByRole("button", { name: "Review clearing of the selected" });
  const all = page.locator("thead").getByRole("checkbox", { name: "All on this page" });
  await all.waitFor();
  assert.ok(await review.isDisabled());
  const rows = await page.locator("input[name=sel]").count();
  await all.check();
  assert.equal(await page.locator("input[name=sel]:checked").count(), rows);
  assert.equal(await page.locator(".picked .n").innerText(), `${rows} of ${rows} selected`);
  await page.locator("input[name=sel]").first().uncheck();
  assert.equal(await page.locator(".picked .n").innerText(), `${rows - 1} of ${rows} selected`);
  assert.equal(await all.evaluate((box) => box.indeterminate), true);
  assert.ok(await review.isEnabled());
  await all.check();
  await all.uncheck();
  assert.ok(await review.isDisabled());
  assert.deepEqual(context.faults, []);
  await context.close();
});

test("without JavaScript the review of nothing is a page that leads back to the list", async () => {
  const context = await signIn(browser, demo.url, { javaScriptEnabled: false });
  context.expected.push(/status of 400/);
  const page = await context.newPage();
  const list = `${demo.url}/pipelines/orders/markers?state=processing`;
  await page.goto(list);
  assert.equal(await page.getByRole("checkbox", { name: "All on this page" }).count(), 0);
  await page.getByRole("button", { name: "Review clearing of the selected" }).click();
  await page.getByRole("heading", { level: 1, name: "No marker was selected" }).waitFor();
  await page.getByRole("link", { name: "Back to where you were" }).click();
  assert.equal(page.url(), list);
  await context.close();
});

test("the pages of acting have no accessibility faults in any mode", async () => {
  for (const [size, inColours] of Object.entries({ desktop: ["light", "dark", "forced-colors"], phone: ["light"] })) {
    const context = await signIn(browser, demo.url, { viewport: sizes[size] });
    context.expected.push(/status of 503/); // the store sessions never answers
    const page = await context.newPage();
    const look = async (what) => {
      if (await page.locator("details.data > summary").count()) await page.locator("details.data > summary").first().click();
      await lookAt(page, `${what} on a ${size}`, inColours);
      if (size !== "phone") return;
      for (const narrow of [360, sizes["narrow phone"].width]) {
        await page.setViewportSize({ ...sizes.phone, width: narrow });
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        assert.ok(wide <= 0, `${what} is ${wide} px wider than ${narrow} px`);
      }
      await page.setViewportSize(sizes.phone);
    };
    await page.goto(`${demo.url}/pipelines/orders/markers?verdict=still+working`);
    await page.locator(".rows th a").first().click();
    await look("one marker");
    for (const path of ["/pipelines/orders/markers", "/pipelines/orders/markers?state=gave-up", "/pipelines/orders/markers?state=no-expiry", "/pipelines/orders/markers?state=done",
      "/pipelines/orders/markers?q=nothing", "/pipelines/payments/markers", "/pipelines/mailings/markers", "/lookup", "/lookup?id=order:88012", "/audit", "/operations",
      "/markers/one?store=orders&key=gone", "/markers/one?store=sessions&key=silent"]) {
      await page.goto(demo.url + path);
      await look(path);
    }
    await page.goto(`${demo.url}/pipelines/orders/markers?verdict=still+working`);
    await page.getByRole("button", { name: /^Review (all|the only)/ }).click();
    await page.waitForURL(/\/plans\//);
    await look("a plan that leaves all out");
    await page.goto(`${demo.url}/pipelines/orders/markers?verdict=probably+dead`);
    await page.getByRole("button", { name: /^Review (all|the only)/ }).click();
    await page.waitForURL(/\/plans\//);
    await look("a plan");
    await page.goto(`${demo.url}/operations`);
    await page.locator(".rows th a").first().click();
    await look("an operation");
    await demo.scene("outage");
    await page.goto(`${demo.url}/pipelines/orders/markers`);
    await look("a list whose store does not answer");
    await demo.scene("mixed");
    assert.deepEqual(context.faults, []);
    await context.close();
  }
});
