// What readers meet: every page in every mode, without script errors, without accessibility faults, within its budget.
import { after, before, describe, test } from "node:test";
import assert from "node:assert/strict";
import { join } from "node:path";
import { startDemo, startBrowser, signIn, watched, results, password, faultsOf, look, colours, sizes } from "./demo.mjs";

let demo, browser;
before(async () => {
  demo = await startDemo();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

// Scene, path, and what it is looked at in besides light on a desktop.
const all = ["dark", "forced-colors", "phone"];
const pages = [
  ["mixed", "/", all],
  ["mixed", "/pipelines/orders", all],
  ["mixed", "/pipelines/invoices?range=7d", []],
  ["mixed", "/pipelines/mailings", ["dark"]],
  ["mixed", "/?q=nothing", []],
  ["mixed", "/?sort=nonsense", all],
  ["outage", "/", all],
  ["outage", "/pipelines/orders", all],
  ["explained", "/", ["phone", "dark"]],
  ["explained", "/pipelines/all-sources#how", all],
  ["explained", "/pipelines/cannot-tell#how", ["phone"]],
  ["explained", "/pipelines/disputed#how", []],
  ["hostile", "/", ["phone"]],
  ["hostile", "/pipelines/orders", ["phone"]],
  ["stale", "/", ["dark"]],
  ["starting", "/", []],
  ["empty", "/", []],
  ["no-history", "/pipelines/orders", []],
];

for (const size of ["desktop", "phone"]) {
  test(`pages have no accessibility faults, no errors and no sideways scrolling on a ${size}`, async () => {
    const context = await signIn(browser, demo.url, { viewport: sizes[size] });
    context.expected.push(/status of 400/);
    for (const [scene, path, also] of pages) {
      if (size === "phone" && !also.includes("phone")) continue;
      const inColours = size === "phone" ? ["light"] : Object.keys(colours).filter((name) => name === "light" || also.includes(name));
      await demo.scene(scene);
      const page = await context.newPage();
      await page.goto(demo.url + path);
      // Open one of each that can be opened: what is hidden is not checked.
      if (await page.locator("details.data > summary").count()) await page.locator("details.data > summary").first().click();
      if (await page.locator(".prov > summary").count()) await page.locator(".prov > summary").first().click();
      await look(page, `${scene} ${path} on a ${size}`, inColours);
      for (const name of scene === "mixed" ? inColours : []) {
        await page.emulateMedia(colours[name]);
        await page.screenshot({ path: join(results, `e2e-${size}-${name}-${scene}${path.replace(/\W+/g, "-")}.png`), fullPage: true });
      }
      await page.close();
    }
    assert.deepEqual(context.faults, []);
    await context.close();
  });
}

test("on a phone the windows of a pipeline have one head each, and every table fits", async () => {
  await demo.scene("outage");
  const context = await signIn(browser, demo.url, { viewport: sizes.phone });
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/orders`);
  const text = await page.locator(".windows").innerText();
  assert.equal(text.split("so far").length - 1, 1, text);
  for (const table of await page.locator("#detail table, .windows").all()) {
    const box = await table.boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 390, `${await table.getAttribute("id")} reaches ${box.x + box.width} px`);
  }
  await context.close();
});

/** The first admin is made and changes their password, on a phone without JavaScript. */
async function changesPassword(fresh) {
  const context = await watched(browser, { viewport: sizes.phone, javaScriptEnabled: false });
  context.expected.push(/status of 422/);
  const page = await context.newPage();
  await page.goto(fresh.setup);
  await page.getByLabel("Name").fill("root");
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Make the account and sign in" }).click();
  await page.locator("details.menu summary").click();
  await page.getByRole("link", { name: "Your account" }).click();
  for (const [old, says] of [["not the old one", "The old password is wrong"], [password, "The password was changed"]]) {
    await page.getByLabel("Old password").fill(old);
    await page.getByLabel("New password", { exact: true }).fill("a fresh password");
    await page.getByLabel("New password again").fill("a fresh password");
    await page.getByRole("button", { name: "Change the password" }).click();
    await page.getByText(says).waitFor();
  }
  assert.deepEqual(context.faults, []);
  await context.close();
}

test("the sign-in page, the setup page and their mistakes are accessible", async () => {
  const fresh = await startDemo({ account: false });
  try {
    for (const [size, inColours] of Object.entries({ desktop: Object.keys(colours), phone: ["light"] })) {
      const context = await watched(browser, { viewport: sizes[size] });
      const page = await context.newPage();
      context.expected.push(/status of 422/);
      await page.goto(`${demo.url}/login`);
      await look(page, `the sign-in page on a ${size}`, inColours);
      await page.goto(fresh.setup);
      await look(page, `the setup page on a ${size}`, inColours);
      assert.deepEqual(context.faults, []);
      await context.close();
    }
    const context = await watched(browser);
    context.expected.push(/status of 422/);
    const page = await context.newPage();
    await page.goto(`${demo.url}/login`);
    await page.getByLabel("Name").fill("viewer");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").filter({ hasText: "wrong" }).waitFor();
    assert.deepEqual(await faultsOf(page), []);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.goto(`${demo.url}/account`);
    await page.getByText("dashboard hash-password").waitFor();
    await look(page, "the account page of somebody in the configuration");
    await context.close();
    await changesPassword(fresh);
  } finally {
    await fresh.stop();
  }
});

describe("without JavaScript", () => {
  test("a rate that may be of two tiers is one number with its band, a bar, and a source that leads to the evidence", async () => {
    await demo.scene("mixed");
    for (const options of [{}, { viewport: sizes.phone, colorScheme: "dark" }]) {
      const context = await signIn(browser, demo.url, { javaScriptEnabled: false, ...options });
      const page = await context.newPage();
      for (const [path, place] of [["/", "#row-invoices .c-dup"], ["/pipelines/invoices", ".now .part >> nth=0"]]) {
        await page.goto(demo.url + path);
        const cell = page.locator(place);
        // No line breaks between a number and its unit: those spaces are of another kind.
        assert.match((await cell.innerText()).replace(/\s/g, " "), /1\.4 % ± 0\.6.*residual · 15 m/);
        const bar = cell.getByRole("img", { name: "between 0.80 % and 1.92 %: normal to warning" });
        const box = await bar.boundingBox();
        assert.ok(box.width > 60 && box.height < 20, JSON.stringify(box));
        const part = await bar.locator(".part").boundingBox();
        assert.ok(part.width > 10 && part.x > box.x && part.x + part.width < box.x + box.width, JSON.stringify([box, part]));
        await cell.getByRole("link", { name: "residual" }).click();
        assert.match(page.url(), /\/pipelines\/invoices#how$/);
        await page.locator("#how").waitFor(); // the page may still be on its way
      }
      assert.deepEqual(context.faults, []);
      await context.close();
    }
  });

  test("the overview filters, sorts and leads to a pipeline with charts, data tables and CSV", async () => {
    await demo.scene("mixed");
    const context = await signIn(browser, demo.url, { javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(demo.url);
    const names = () => page.locator("th.c-name > a").allInnerTexts();
    assert.deepEqual((await names()).slice(0, 3), ["inventory", "payments", "orders"]);
    await page.getByRole("checkbox", { name: "warning" }).check();
    await page.getByRole("button", { name: "Apply" }).click();
    // Those whose alerts came to fire meanwhile are there too.
    const warned = await names();
    assert.ok(warned.includes("orders") && !warned.includes("inventory") && !warned.includes("payments"), warned.join());
    assert.match(page.url(), /tier=warning/);
    await page.getByRole("link", { name: "Clear" }).click();
    await page.getByRole("link", { name: "Dead letters", exact: true }).click();
    assert.match(page.url(), /sort=-dead-letters/);
    assert.equal(await page.locator("th[aria-sort]").innerText(), "Dead letters");
    await page.getByRole("link", { name: "orders", exact: true }).click();
    await page.getByRole("heading", { level: 1, name: "orders" }).waitFor();
    await page.locator("figure.chart").nth(4).waitFor(); // the page may still be on its way
    assert.equal(await page.locator("figure.chart").count(), 5);
    await page.locator("#chart-duplicates summary").click();
    await page.locator("#chart-duplicates tbody tr").first().waitFor();
    await page.getByRole("link", { name: "6h" }).click();
    assert.match(page.url(), /range=6h/);
    const csv = await context.request.get(demo.url + (await page.locator("#chart-duplicates .csv").getAttribute("href")));
    assert.match(await csv.text(), /^time,/);
    await context.close();
  });

  test("a figure opens to show where it came from", async () => {
    const context = await signIn(browser, demo.url, { javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${demo.url}/pipelines/invoices`);
    await page.locator(".part summary").first().click();
    const panel = page.locator(".part .panel").first();
    assert.match(await panel.innerText(), /residual interval/);
    assert.match(await panel.innerText(), /Sample size/);
    await context.close();
  });

  test("the theme and the time zone are kept", async () => {
    const context = await signIn(browser, demo.url, { javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${demo.url}/?tier=warning`);
    await page.getByText("display and account").locator("..").click();
    await page.getByLabel("Dark").check();
    await page.getByLabel("Time zone").fill("Asia/Shanghai");
    await page.getByRole("button", { name: "Save" }).click();
    assert.match(page.url(), /tier=warning/);
    assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
    assert.match(await page.locator(".fresh time").getAttribute("title"), /CST/);
    await context.close();
  });
});

test("the first load stays within its budget", async () => {
  const budgets = [["mixed", "/", 55_000, 3000], ["many", "/", 55_000, 3500], ["mixed", "/pipelines/inventory", 75_000, 4000]];
  for (const [scene, path, limit, most] of budgets) {
    await demo.scene(scene);
    const context = await signIn(browser, demo.url);
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Network.enable");
    await session.send("Network.setCacheDisabled", { cacheDisabled: true });
    let bytes = 0;
    let requests = 0;
    session.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
    session.on("Network.requestWillBeSent", () => requests++);
    await page.goto(demo.url + path, { waitUntil: "load" });
    const [nodes, start] = await page.evaluate(() => [document.querySelectorAll("*").length, performance.getEntriesByType("navigation")[0].responseStart]);
    console.log(`${scene} ${path}: ${bytes} bytes in ${requests} requests, ${nodes} nodes, first byte after ${Math.round(start)} ms`);
    assert.ok(bytes <= limit, `${path} loads ${bytes} bytes, more than ${limit}`);
    assert.ok(nodes <= most, `${path} has ${nodes} nodes`);
    await context.close();
  }
});

test("every page of the navigation is in sight, beside its badges and what fires", async () => {
  await demo.scene("mixed");
  for (const [width, rows] of [[390, 3], [768, 2], [1024, 1], [1280, 1], [1440, 1]]) {
    const context = await signIn(browser, demo.url, { viewport: { width, height: 900 } });
    context.expected.push(/400/);
    const page = await context.newPage();
    for (const path of ["/", "/?sort=nonsense"]) {
      await page.goto(demo.url + path);
      const pages = await page.locator(".top nav a:visible").all();
      assert.ok(pages.length >= 6, `${pages.length} pages at ${width} px`);
      for (const link of pages) {
        const { x, width: wide } = await link.boundingBox();
        assert.ok(x >= 0 && x + wide <= width, `${await link.innerText()} is cut at ${width} px`);
      }
      const { height } = await page.locator(".top").boundingBox();
      assert.ok(height <= rows * 40 + 12, `the header is ${height} px high at ${width} px`);
      assert.match(await page.locator(".top nav").innerText(), /Alerts\s+\d+/);
      assert.match(await page.locator(".banner").innerText(), /in emergency|severe/);
    }
    await context.close();
  }
});

test("the keyboard reaches the table in the order of the page, and skips to the content", async () => {
  await demo.scene("mixed");
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.goto(demo.url);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to content");
  const seen = [];
  const menu = "viewer admin display and account";
  for (let i = 0; i < 60; i++) {
    await page.keyboard.press("Tab");
    seen.push(await page.evaluate(() => document.activeElement.textContent.trim().replace(/\s+/g, " ") || document.activeElement.name));
    if (seen.at(-1) === menu) await page.keyboard.press("Enter");
  }
  const order = ["Overview", menu, "Sign out", "Reload", "q", "Apply", "inventory", "payments"].map((word) => seen.indexOf(word));
  assert.ok(order.every((place, i) => place >= 0 && (i === 0 || place > order[i - 1])), `${order} of ${seen}`);
  await context.close();
});
