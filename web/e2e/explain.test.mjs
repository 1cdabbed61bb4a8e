// Duplicates explained: how a rate was found, why there are duplicates, and what happened at the time.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { startDemo, startBrowser, signIn } from "./demo.mjs";

let demo, browser;
before(async () => {
  demo = await startDemo();
  browser = await startBrowser();
  await demo.scene("explained");
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

test("a link to how a rate was found opens it, without JavaScript too, and the lines to report are there", async () => {
  for (const javaScriptEnabled of [true, false]) {
    const context = await signIn(browser, demo.url, { javaScriptEnabled });
    const page = await context.newPage();
    await page.goto(`${demo.url}/pipelines/cannot-tell#how`);
    const how = page.locator("#how");
    await how.waitFor({ state: "visible" });
    assert.match(await how.innerText(), /Enable notify-keyspace-events K\$gxe/);
    await page.locator("#report-lines > summary").click();
    assert.match(await page.locator("#report-lines pre").innerText(), /dedupstats:cannot-tell/);
    assert.deepEqual(context.faults, []);
    await context.close();
  }
});

test("a mark of the event track stands below its moment in the chart, says itself on focus and leads to its line", async () => {
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/all-sources`);
  const mark = page.getByRole("link", { name: /^Event 6: .*12 consumer restarts/ });
  const below = await mark.locator("line").evaluate((line) => line.getBoundingClientRect().x);
  const above = await page.locator("#chart-duplicates .plot line.event").nth(5).evaluate((line) => line.getBoundingClientRect().x);
  assert.ok(Math.abs(above - below) < 1, `drawn at ${above} and ${below}`);
  await mark.focus();
  assert.ok(await mark.locator(".event-say").isVisible());
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("li:target .kind").first().innerText(), "12 consumer restarts");
  await context.close();
});

test("on the overview each figure opens by key to its source, and on a phone the source stays on the screen", async () => {
  const context = await signIn(browser, demo.url, { viewport: { width: 390, height: 844 } });
  const page = await context.newPage();
  await page.goto(demo.url);
  const figures = page.locator(".pipelines tbody").nth(1).locator("details.prov");
  for (const figure of await figures.all()) {
    await figure.locator("summary").focus();
    await page.keyboard.press("Enter");
    const panel = figure.locator(".panel");
    assert.match(await panel.innerText(), /Quality: /);
    const box = await panel.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, `${box.x} to ${box.x + box.width}`);
  }
  await context.close();
});
