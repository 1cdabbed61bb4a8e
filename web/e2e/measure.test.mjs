// Measuring exactly: the button, the page that follows, the result; with and without scripts, on a phone, in the dark.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { startDemo, startBrowser, signIn, look, sizes, results } from "./demo.mjs";

let demo, browser;
before(async () => {
  demo = await startDemo();
  await demo.scene("mixed");
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const picture = async (page, name) => process.env.PICTURES && (await page.screenshot({ path: join(results, `measure-${name}.png`), fullPage: true }));

test("a press measures, the page follows by itself, and shows the rate first", async () => {
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/orders#measure`);
  await picture(page, "pipeline");
  await page.getByRole("button", { name: "Measure exactly (60 s)" }).click();
  await page.waitForURL(/\/measurements\//);
  await page.locator("#live-state[data-state=live]").waitFor();
  await page.getByText(/deliveries seen/).waitFor();
  await look(page, "a measurement under way");
  await picture(page, "running");
  await page.evaluate(() => { window.stays = true; });
  await page.locator(".measured-rate").waitFor();
  assert.equal(await page.evaluate(() => window.stays), true, "the page was loaded again");
  assert.match((await page.locator(".measured-rate").innerText()).replace(/\s+/g, " "), /^2\.94 % ± 0\.06 of 12,376 messages$/);
  for (const [name, size] of Object.entries(sizes)) {
    await page.setViewportSize(size);
    await look(page, `a result on a ${name}`);
    await picture(page, `result-${name.replace(" ", "-")}`);
  }
  await page.setViewportSize(sizes.desktop);
  await page.emulateMedia({ colorScheme: "dark" });
  await picture(page, "result-dark");
  await page.goto(`${demo.url}/pipelines/orders`);
  assert.match(await page.locator("#measured-last").innerText(), /2\.94 %.*0\.07 points too high/);
  await page.goto(`${demo.url}/pipelines/orders/measurements`);
  await look(page, "the list of measurements");
  await picture(page, "list");
  assert.deepEqual(context.faults, []);
  await context.close();
});

test("without scripts the page loads itself again, can be stopped, and says why a pipeline cannot be measured", async () => {
  const context = await signIn(browser, demo.url, { javaScriptEnabled: false, viewport: sizes.phone });
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/payments`);
  await page.getByRole("button", { name: "Measure exactly (60 s)" }).click();
  await page.waitForURL(/\/measurements\//);
  assert.match(await page.locator("pre.lines").innerText(), /trace_on[\s\S]*sleep 60[\s\S]*trace_off/);
  await picture(page, "waiting-phone");
  await page.getByRole("button", { name: /^Stop/ }).click();
  await page.getByText("incomplete").first().waitFor();
  await picture(page, "stopped-phone");
  context.expected.push(/409/);
  await page.goto(`${demo.url}/pipelines/inventory`);
  await page.getByRole("button", { name: "Measure exactly (60 s)" }).click();
  await page.getByText(/3,100 messages a second/).waitFor();
  await picture(page, "refused-phone");
  await page.goto(`${demo.url}/pipelines/points`);
  assert.equal(await page.locator("#measure").count(), 0, "measurements that are off are offered");
  await context.close();
});

test("a figure that may be of several tiers leads to the button that measures it", async () => {
  for (const options of [{}, { javaScriptEnabled: false, viewport: sizes.phone }]) {
    const context = await signIn(browser, demo.url, options);
    const page = await context.newPage();
    for (const [path, place] of [["/", "#row-invoices .c-dup"], ["/pipelines/invoices", ".now .part >> nth=0"]]) {
      await page.goto(demo.url + path);
      const link = page.locator(place).getByRole("link", { name: "Measure exactly (60 s)" });
      assert.ok((await link.boundingBox()).height >= 24, "the link is too small to hit");
      if (options.viewport === undefined) await look(page, `figures that offer a measurement at ${path}`);
      await link.click();
      assert.match(page.url(), /\/pipelines\/invoices#measure$/);
      const box = await page.getByRole("button", { name: "Measure exactly (60 s)" }).boundingBox();
      assert.ok(box.y >= 0 && box.y + box.height <= page.viewportSize().height, "the button is not in sight");
    }
    assert.equal(await page.locator(".part:not(:has(.band)) .measure").count(), 0, "a figure of one tier offers it");
    assert.deepEqual(context.faults, []);
    await context.close();
  }
});
