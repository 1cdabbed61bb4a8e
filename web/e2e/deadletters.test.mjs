// From a group of dead letters to a job that has moved them, as people meet it: without JavaScript, and with it.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { gunzipSync, gzipSync } from "node:zlib";
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

/** Looks at the head of a pipeline's dead-letter queue. */
async function look(page, pipeline, limit = "1000") {
  await page.goto(`${demo.url}/pipelines/${pipeline}/dead-letters`);
  await page.getByRole("combobox", { name: "Messages" }).selectOption(limit);
  await page.getByRole("button", { name: /^Look (at the queue|again)$/ }).click();
  await page.getByRole("heading", { name: "What a requeue would do" }).waitFor();
}

/** Signs a review and starts its job. */
async function start(page, button, reason) {
  await page.getByLabel("Reason, for the audit").fill(reason);
  const confirm = page.getByLabel(/to confirm/);
  if (await confirm.count()) await confirm.fill(await page.locator(".sign code").innerText());
  await page.getByRole("button", { name: button }).click();
  await page.waitForURL(/\/jobs\//);
  return page.url();
}

/** Loads the page of a job until it is in a state; without JavaScript the page does so by itself, every two seconds. */
async function inState(page, state) {
  await page.locator(".title .chip", { hasText: state }).waitFor();
}

for (const [how, options] of Object.entries({ "without JavaScript": { javaScriptEnabled: false }, "with JavaScript": {} })) {
  test(`${how} a group is previewed, tried by a canary, paused, resumed, cancelled and found in the audit`, async () => {
    const context = await signIn(browser, demo.url, options);
    const page = await context.newPage();
    await page.goto(`${demo.url}/dead-letters`);
    await page.locator(".dead-list").getByRole("link", { name: "inventory", exact: true }).click();
    await page.getByText("they are marked as redelivered afterwards").waitFor({ state: "attached" }); // before the button that looks
    await look(page, "inventory", "10000");
    await page.getByRole("navigation", { name: "Group by" }).getByRole("link", { name: "exception", exact: true }).click();
    await page.locator(".groups").getByRole("link", { name: "java.net.SocketTimeoutException" }).click();
    assert.match(await page.locator("#messages .count").innerText(), /^[\d,]+ of [\d,]+ that were looked at match$/);

    await page.getByRole("button", { name: /^Preview requeue of all .* that match$/ }).click();
    await page.getByRole("heading", { level: 1, name: /^Review: requeue [\d,]+ messages$/ }).waitFor();
    assert.match(await page.locator(".verdict").innerText(), /from inventory\.reserve\.dlq to inventory\.reserve/);
    await page.getByLabel("First, as a canary").selectOption("10");
    await page.getByLabel("At most").selectOption("10"); // slow enough to be paused and cancelled on a busy machine
    await page.getByRole("button", { name: "Apply and preview again" }).click();
    await page.getByText("the first 10 as a canary").waitFor();

    const job = await start(page, /^Requeue [\d,]+ messages$/, `the gateway is back, ${how}`);
    if (options.javaScriptEnabled === false) await page.waitForURL(/\/jobs\/\w+\?auto=1$/); // it loads itself again, and says so
    await page.getByText("All 10 were done within the time").waitFor();
    await page.getByRole("button", { name: "Pause the job" }).click();
    await inState(page, "paused");
    await page.getByRole("button", { name: "Resume the job" }).click();
    await inState(page, "running");
    if (options.javaScriptEnabled !== false) assert.match(await page.title(), /^\d+ % · Requeue · /);
    await page.getByRole("button", { name: "Cancel the rest" }).click();
    await inState(page, "cancelled");
    await page.getByRole("heading", { name: "Did it work?" }).waitFor();
    await page.getByRole("link", { name: "Its entries in the audit" }).click();
    assert.match(await page.locator(".entries").innerText(), new RegExp(`the gateway is back, ${how}`));

    await page.goto(job);
    await page.getByRole("link", { name: "Every message of this job" }).click();
    await page.locator(".job-items th a").first().click(); // to the look-up of its id
    await page.getByRole("heading", { name: "What happened to it" }).waitFor();
    assert.match(await page.locator(".timeline").innerText(), /Requeued by .*: moved to inventory\.reserve/);
    assert.deepEqual(context.faults, []);
    await context.close();
  });

  test(`${how} one message is read, revealed, edited and requeued`, async () => {
    const context = await signIn(browser, demo.url, options);
    const page = await context.newPage();
    await look(page, "inventory");
    await page.goto(`${demo.url}/pipelines/inventory/dead-letters?filter=class%3Aruns`); // the others are left out unless it is chosen
    await page.locator(".letters .c-id a").first().click();
    assert.match(await page.locator("#payload .value").innerText(), /"email": "\*\*\*"/);
    await page.getByRole("button", { name: "Show it as it is" }).click();
    assert.match(await page.locator("#payload .value").innerText(), /@example\.com/);
    await page.getByRole("button", { name: "Bytes" }).click();
    await page.locator(".dump").waitFor();
    await page.getByRole("link", { name: "Edit and requeue" }).click();
    const body = page.getByRole("textbox", { name: "Body", exact: true });
    await body.fill((await body.inputValue()).replace('"country":"DE"', '"country":"AT"'));
    await page.getByRole("textbox", { name: "Value of tenant" }).fill("red");
    await page.getByRole("button", { name: "Review the change" }).click();
    await page.getByRole("heading", { level: 1, name: "Review: requeue 1 edited message" }).waitFor();
    assert.match(await page.locator(".diff .added").innerText(), /"country": "AT"/);
    assert.match(await page.locator(".diff .removed").innerText(), /"country": "DE"/);
    assert.match(await page.locator("main").innerText(), /it stays [0-9a-f-]{36}/);
    assert.match(await page.locator(".pairs").first().innerText(), /tenant[\s\S]*→ “red”/);
    await start(page, "Requeue 1 edited message", "the country was wrong");
    await inState(page, "done");
    assert.deepEqual(context.faults, []);
    await context.close();
  });

  test(`${how} one message is discarded to the parking queue and restored from it`, async () => {
    const context = await signIn(browser, demo.url, options);
    const page = await context.newPage();
    await look(page, "shipping-labels");
    const row = page.locator(".letters tbody tr").first();
    const id = await row.locator(".c-id a").innerText();
    await row.getByRole("checkbox").check();
    await page.getByRole("button", { name: "Preview discard of the selected" }).click();
    await page.getByText("can be restored from there").waitFor();
    await start(page, "Discard 1 message", "it was a test order");
    await inState(page, "done");
    await page.getByRole("link", { name: "Restore from the parking queue" }).click();
    await page.getByRole("button", { name: /^Look (at the queue|again)$/ }).click();
    await page.locator(".letters .c-id a", { hasText: id }).waitFor();
    await page.locator(".letters tbody tr").first().getByRole("checkbox").check();
    await page.getByRole("button", { name: "Preview restore of the selected" }).click();
    await start(page, "Restore 1 message", "it was none");
    await inState(page, "done");
    await look(page, "shipping-labels");
    await page.locator(".letters .c-id a", { hasText: id }).waitFor();
    assert.deepEqual(context.faults, []);
    await context.close();
  });
}

test("a queue that must not be looked at says why, and is moved as a whole", async () => {
  const context = await signIn(browser, demo.url);
  const page = await context.newPage();
  await page.goto(`${demo.url}/pipelines/payments/dead-letters`);
  await page.getByText("a message that is put back for the third time is destroyed").first().waitFor();
  assert.equal(await page.getByRole("button", { name: /^Look/ }).count(), 0);
  await page.getByRole("button", { name: "Preview requeue of the whole queue" }).click();
  await page.getByRole("heading", { level: 1, name: "Review: requeue 47 messages" }).waitFor();
  await context.close();
});

test("a filter that cannot be read is said beside its field, and keeps what was typed", async () => {
  const context = await signIn(browser, demo.url);
  context.expected.push(/status of 422/);
  const page = await context.newPage();
  await look(page, "orders");
  await page.getByRole("searchbox", { name: "Filter" }).fill("nonsense");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.locator("#filter-error").waitFor();
  assert.equal(await page.getByRole("searchbox", { name: "Filter" }).inputValue(), "nonsense");
  assert.equal(await page.locator("[aria-describedby=filter-error]").count(), 1);
  assert.deepEqual(context.faults, []);
  await context.close();
});

test("the pages of dead letters have no accessibility faults and no overflow in any mode, and keep to their size", async () => {
  for (const [size, inColours] of Object.entries({ desktop: ["light", "dark", "forced-colors"], phone: ["light"] })) {
    const context = await signIn(browser, demo.url, { viewport: sizes[size] });
    const page = await context.newPage();
    const check = (what) => lookAt(page, `${what} on a ${size}`, inColours);
    await page.goto(`${demo.url}/dead-letters`);
    await check("the list");
    await page.goto(`${demo.url}/pipelines/payments/dead-letters`);
    await check("a queue that is refused");
    await look(page, "inventory");
    await check("a queue");
    const nodes = await page.evaluate(() => document.querySelectorAll("*").length);
    assert.ok(nodes <= 3000, `${nodes} nodes`);
    const html = await (await context.request.get(page.url())).body();
    assert.ok(gzipSync(html[0] === 0x1f ? gunzipSync(html) : html).length <= 40_000, "the page of a queue is larger than 40 kB");
    await page.getByText("What can be written here").click();
    await check("a queue with its help");
    await page.locator(".letters .c-id a").nth(3).click();
    await check("a message");
    await page.getByRole("link", { name: "Edit and requeue" }).click();
    await check("the editor");
    await page.goto(`${demo.url}/pipelines/inventory/dead-letters?filter=class%3Amay_run_twice`);
    await page.getByRole("button", { name: /^Preview requeue of/ }).last().click();
    await check("a review");
    await start(page, /^Requeue/, `to look at it, ${size}`);
    await inState(page, "done");
    await check("a job");
    await page.getByRole("link", { name: "Every message of this job" }).click();
    await check("its messages");
    await page.goto(`${demo.url}/jobs`);
    await check("the list of jobs");
    assert.deepEqual(context.faults, []);
    await context.close();
  }
});
