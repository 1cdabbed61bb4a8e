// What somebody who is woken at night does with an alert: without JavaScript, with it, by keyboard alone, and on a phone.
import { after, before, test } from "node:test";
import assert from "node:assert/strict";
import { startDemo, startBrowser, signIn, look, sizes, faultsOf } from "./demo.mjs";

let demo, browser;
before(async () => {
  demo = await startDemo();
  browser = await startBrowser();
});
after(async () => {
  await browser?.close();
  await demo?.stop();
});

const one = (key) => `${demo.url}/alerts/one?key=${encodeURIComponent(key)}`;
const rate = "duplicate_rate/pipeline/inventory";
const hostile = `"><img src=x onerror=alert(1)><!channel> @all [x](javascript:alert(1))`;

/** Opens a signed-in page; whatever happens, nothing must be wrong on it in the end. */
async function withPage(options, work) {
  const context = await signIn(browser, demo.url, options);
  try {
    await work(await context.newPage(), context);
    assert.deepEqual(context.faults, []);
  } finally {
    await context.close();
  }
}

test("without JavaScript an alert is found, understood, acknowledged, silenced after a preview, and told again", async () => {
  await withPage({ name: "operator", javaScriptEnabled: false }, async (page) => {
    await page.goto(demo.url);
    const banner = page.locator(".banner");
    assert.match(await banner.innerText(), /^2 alerts in emergency, [5-9] severe( \([^)]*\))?, the oldest (of the others )?for (2 h 5\d m|3 h)/);
    await banner.getByRole("link").click();
    assert.equal((await page.locator(".alert-rows .group .chip").first().innerText()).trim(), "emergency");
    await page.getByRole("link", { name: "Tier" }).click();
    assert.equal(await page.locator(".alert-rows .group").count(), 0);
    assert.deepEqual((await page.locator(".alert-rows .c-tier").allInnerTexts()).slice(0, 3).map((text) => text.trim()), ["emergency", "emergency", "severe"]);

    // Why: value against limit, since when, likely cause, first step, what happened, and the evaluations behind it.
    await page.locator(".alert-rows tbody tr").getByRole("link", { name: "Duplicate rate" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Duplicate rate" }).waitFor();
    assert.match(await page.locator(".verdict").innerText(), /17\.18 %, above the emergency limit of 10\.00 %/);
    assert.match(await page.locator(".where").innerText(), /pipeline inventory\s+· fires since\s+(\d+ \w+ )?\d\d:\d\d(:\d\d)?\s+1 h [34]\d m/);
    const steps = (await page.locator(".steps dt").allInnerTexts()).join(", ");
    assert.equal(steps, "Likely cause, What to do first, What it means, Runbook");
    assert.deepEqual((await page.locator(".timeline .kind").allInnerTexts()).slice(0, 2).map((text) => text.trim()), ["escalated", "fired"]);
    assert.match(await page.locator("section[aria-labelledby=why-title] tbody").innerText(), /17\.18 %\s+22,200\s+emergency\s+emergency\s+firing at emergency/);

    // Acknowledge.
    await page.getByLabel("Note, for those who look next").fill("stocktaking sends twice, OPS-9");
    await page.getByLabel("Acknowledge for").selectOption("1 hour");
    await page.getByRole("button", { name: "Acknowledge" }).click();
    assert.match(await page.locator("#alert .attention").innerText(), /Acknowledged by operator .*“stocktaking sends twice, OPS-9”/);
    assert.match(await banner.innerText(), /^2 alerts in emergency \(1 of them acknowledged\)|^2 alerts in emergency.*acknowledged/);
    await page.goto(`${demo.url}/alerts?state=acked`);
    assert.equal(await page.locator(".alert-rows tbody tr:not(.group)").count(), 2);

    // Silence, with a preview first.
    await page.getByRole("link", { name: "Duplicate rate" }).first().click();
    await page.getByRole("link", { name: "Silence it" }).click();
    assert.equal(await page.getByLabel("Value 1").inputValue(), "duplicate_rate");
    assert.equal(await page.getByLabel("Value 2").inputValue(), "inventory");
    await page.getByLabel("From now for").selectOption("4 hours");
    assert.equal(await page.getByRole("button", { name: "Silence", exact: true }).count(), 0, "it can be made before its preview");
    await page.getByRole("button", { name: "Preview" }).click();
    assert.match(await page.locator(".covers").innerText(), /^It keeps 1 alert quiet now, and can cover alerts of 1 pipeline.*, until /);
    assert.match(await page.locator("#preview .alert-rows").innerText(), /17\.18 %/);
    await page.getByLabel(/^Reason/).fill("the stocktaking runs until five");
    await page.getByRole("button", { name: "Silence", exact: true }).click();
    const active = page.getByRole("table", { name: "Silences that hold now" }).getByRole("row", { name: /stocktaking runs/ });
    assert.match(await active.innerText(), /rule="duplicate_rate"\s+pipeline="inventory"\s+keeps 1 alert quiet now[^]*operator/);
    await page.goto(one(rate));
    assert.match(await page.locator("#alert").innerText(), /✓ acknowledged\s+✓ silenced[^]*Silenced until .* by operator: “the stocktaking runs until five”/);

    // Expire, and take the acknowledgement back: the alert is as it was.
    await page.goto(`${demo.url}/silences`);
    await active.getByRole("button", { name: /^End now/ }).click();
    assert.match(await page.getByRole("table", { name: /^Silences that have ended/ }).innerText(), /stocktaking runs until five[^]*ended by operator/);
    assert.equal(await active.count(), 0);
    await page.goto(one(rate));
    await page.getByRole("button", { name: "Take the acknowledgement back" }).click();
    assert.match(await page.locator("#attend-title ~ p").first().innerText(), /Nobody has acknowledged it/);
    assert.match(await banner.innerText(), /^2 alerts in emergency/);
  });
});

test("what was done to an alert stands in the audit", async () => {
  await withPage({ javaScriptEnabled: false }, async (page) => {
    await page.goto(`${demo.url}/audit`);
    const entries = await page.locator(".entries").innerText();
    for (const said of ["stocktaking sends twice, OPS-9", "the stocktaking runs until five"]) assert.ok(entries.includes(said), entries);
  });
});

test("a silence that covers nothing is made only after a warning", async () => {
  await withPage({ name: "operator", javaScriptEnabled: false }, async (page, context) => {
    context.expected.push(/status of 422/);
    await page.goto(`${demo.url}/silences/new?pipeline=none-such&reason=too+early`);
    await page.getByRole("button", { name: "Preview" }).click();
    assert.match(await page.locator("#preview").innerText(), /covers nothing/);
    await page.getByRole("button", { name: "Silence it nevertheless" }).click();
    await page.getByRole("row", { name: /too early/ }).getByRole("button", { name: /^End now/ }).click();
  });
});

test("the keyboard alone finds the worst alert and acknowledges it", async () => {
  await withPage({ name: "operator", javaScriptEnabled: false }, async (page) => {
    const tabTo = async (what, found) => {
      for (let i = 0; i < 60; i++) {
        await page.keyboard.press("Tab");
        if (await page.evaluate(found)) return;
      }
      assert.fail(`the keyboard does not reach ${what}`);
    };
    await page.goto(`${demo.url}/alerts`);
    await tabTo("the worst alert", () => document.activeElement.matches(".alert-rows .c-id > a"));
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: "Dead-letter inflow" }).waitFor();
    await tabTo("the note", () => document.activeElement.name === "note");
    await page.keyboard.type("looking at it");
    await tabTo("the button", () => document.activeElement.textContent === "Acknowledge");
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.notEqual(outline, "none", "the focus cannot be seen");
    await page.keyboard.press("Enter");
    await page.getByText(/Acknowledged by operator .*“looking at it”/).first().waitFor();
    await page.getByRole("button", { name: "Take the acknowledgement back" }).press("Enter");
    await page.getByText("Nobody has acknowledged it").waitFor();
  });
});

test("a viewer reads everything and is offered nothing but the reason", async () => {
  await withPage({ name: "reader" }, async (page) => {
    for (const path of [one(rate), `${demo.url}/silences`, `${demo.url}/silences/new`]) {
      await page.goto(path);
      assert.equal(await page.locator("main form[method=post], main [formmethod=post]").count(), 0, path);
      assert.match(await page.locator("main").innerText(), /needs the role operator; you are signed in as viewer/);
    }
    await page.goto(`${demo.url}/alerts`);
    assert.equal(await page.getByRole("heading", { name: "Channels" }).count(), 0);
  });
});

test("the channels say which of them refuses, and send a message for trial", async () => {
  await withPage({ name: "operator", javaScriptEnabled: false }, async (page, context) => {
    context.expected.push(/status of 503/);
    await page.goto(`${demo.url}/alerts`);
    const channel = (name) => page.getByRole("table", { name: "Channels of notifications" }).getByRole("row", { name });
    assert.match(await channel(/^night-shift/).innerText(), /delivers/);
    assert.match(await channel(/^ops-chat/).innerText(), /refuses[^]*an admin of the workspace has to allow this app to post/);
    assert.match(await channel(/^post/).innerText(), /never used/);
    await channel(/^night-shift/).getByRole("button", { name: /^Send a test/ }).click();
    await page.getByText("The channel night-shift took the message for trial.").waitFor();
    await channel(/^ops-chat/).getByRole("button", { name: /^Send a test/ }).click();
    await page.getByText(/did not take it: Slack answered 403/).waitFor();
  });
});

test("the worst tier stands on every page", async () => {
  await withPage({}, async (page) => {
    const paths = ["/", "/alerts", "/alerts?state=normal", `/alerts/one?key=${encodeURIComponent(rate)}`, "/silences", "/silences/new", "/dead-letters", "/jobs",
      "/operations", "/audit", "/lookup", "/pipelines/points", "/pipelines/points/markers"];
    for (const path of paths) {
      await page.goto(demo.url + path);
      assert.match(await page.locator(".banner.t-emergency").innerText(), /^2 alerts in emergency/, path);
    }
    await page.goto(`${demo.url}/pipelines/inventory`);
    assert.match(await page.locator(".alert-line").innerText(), /fire: .*, emergency since [^]*Its alerts/);
  });
});

for (const [size, inColours] of Object.entries({ desktop: ["light", "dark", "forced-colors"], phone: ["light", "dark"], "narrow phone": ["light"] })) {
  test(`the pages of alerts have no accessibility faults, no errors and no sideways scrolling on a ${size} in ${inColours.join(", ")}`, async () => {
    await withPage({ name: "operator", viewport: sizes[size] }, async (page) => {
      const paths = ["/alerts", "/alerts?choose=all", "/alerts/rules", "/alerts/one?key=stuck_markers%2Fpipeline%2Forders", "/alerts?pipeline=inventory&tier=severe", "/alerts?state=unknown", "/alerts?pipeline=none-such", `/alerts/one?key=${encodeURIComponent(rate)}`,
        "/alerts/one?key=duplicate_rate%2Fpipeline%2Fmailings", "/silences", "/silences/new", "/silences/new?preview=1&pipeline=inventory", "/silences/new?preview=1&label=rule&op=%3D~&value=(", "/pipelines/inventory", "/", "/docs", "/docs/alerts", "/docs/figures"];
      for (const path of paths) {
        await page.goto(demo.url + path);
        await look(page, path, inColours);
      }
    });
  });
}

test("on a phone the worst alert is on the first screen, and the filter opens", async () => {
  await withPage({ viewport: { width: 390, height: 844 } }, async (page) => {
    await page.goto(`${demo.url}/alerts`);
    const row = await page.locator(".alert-rows tbody tr:not(.group)").first().boundingBox();
    assert.ok(row.y + row.height < 844, `the first alert ends at ${row.y + row.height} px`);
    assert.ok(!(await page.getByLabel("Pipeline").isVisible()));
    await page.getByText("Filter by tier, pipeline or rule").click();
    await page.getByLabel("Pipeline").selectOption("orders");
    await page.getByRole("button", { name: "Apply" }).click();
    await page.waitForURL(/pipeline=orders/);
    assert.ok(await page.getByLabel("Pipeline").isVisible(), "a filter that is set is hidden");
    assert.match(await page.getByRole("region", { name: /^What happened to alerts of orders/ }).innerText(), /resolved|fired/);
  });
});

for (const [name, options] of Object.entries({ phone: {}, "phone without JavaScript": { javaScriptEnabled: false } })) {
  test(`on a ${name} the preview of a silence is in sight, and other fields than those previewed make none`, async () => {
    await withPage({ name: "operator", viewport: { width: 390, height: 844 }, ...options }, async (page, context) => {
      context.expected.push(/status of 422/);
      await page.goto(`${demo.url}/silences/new?pipeline=inventory`);
      await page.getByRole("button", { name: "Preview" }).click();
      const button = page.getByRole("button", { name: "Silence", exact: true });
      await button.waitFor();
      for (const what of [page.getByRole("heading", { name: "What it covers" }), button]) {
        const at = await what.boundingBox();
        assert.ok(at.y > -1 && at.y + at.height <= 844, `it stands at ${at.y} px`);
      }
      await page.getByLabel("Value 1").fill("orders");
      await page.getByLabel(/^Reason/).fill("the shop is closed");
      await button.click();
      await page.getByText("It is not made yet").waitFor();
      assert.equal(await page.getByLabel(/^Reason/).inputValue(), "the shop is closed");
    });
  });
}

test("without JavaScript several alerts are acknowledged at once from the list", async () => {
  await withPage({ name: "operator", javaScriptEnabled: false, viewport: { width: 390, height: 844 } }, async (page) => {
    await page.goto(`${demo.url}/alerts`);
    await page.getByRole("link", { name: "Acknowledge several" }).click();
    const keys = ["Dead letters, pipeline shipping-labels", "Dead letters, pipeline mailings"];
    for (const key of keys) await page.getByLabel(`Select ${key}`).check();
    await page.getByLabel("Note, for those who look next").fill("one cause, OPS-77");
    await page.getByRole("button", { name: "Acknowledge the selected" }).click();
    await page.waitForURL(/state=acked/);
    for (const key of ["shipping-labels", "mailings"]) {
      await page.goto(one(`dead_letters/pipeline/${key}`));
      assert.match(await page.locator("#alert .attention").innerText(), /Acknowledged by operator .*“one cause, OPS-77”/);
      await page.getByRole("button", { name: "Take the acknowledgement back" }).click();
    }
  });
});

test("every tab of the list is in sight on a phone, and a pending alert is not green", async () => {
  await withPage({ viewport: { width: 390, height: 844 } }, async (page) => {
    await page.goto(`${demo.url}/alerts?state=pending`);
    for (const tab of await page.locator(".tabs a").all()) {
      const at = await tab.boundingBox();
      assert.ok(at.x >= 0 && at.x + at.width <= 390, `${await tab.innerText()} ends at ${at.x + at.width} px`);
    }
    assert.equal(await page.locator(".alert-rows .chip.t-normal").count(), 0);
    assert.match(await page.locator(".alert-rows .c-tier").first().innerText(), /^pending (warning|severe|emergency)$/);
    await page.goto(one(rate));
    const after = await page.locator(".evaluations .after").first().boundingBox();
    assert.ok(after.x + after.width <= 390, "the last column is cut off");
  });
});

test("an alert leads to where its first step is done, and the list to all rules", async () => {
  await withPage({}, async (page) => {
    await page.goto(one("dead_letter_inflow/pipeline/inventory"));
    await page.getByRole("link", { name: "Its dead letters" }).click();
    await page.waitForURL(/\/pipelines\/inventory\/dead-letters$/);
    await page.goto(`${demo.url}/pipelines/inventory`);
    await page.getByRole("link", { name: "Open them" }).click();
    await page.waitForURL(/\/pipelines\/inventory\/dead-letters$/);
    await page.goto(`${demo.url}/alerts`);
    await page.getByRole("link", { name: /rules watch/ }).click();
    await page.getByRole("heading", { level: 1, name: "Rules of alerts" }).waitFor();
    await page.locator(".rule-rows tr", { hasText: "dead_letter_inflow" }).getByRole("link", { name: "Dead-letter inflow" }).click();
    await page.waitForURL(/\/docs\/alerts#dead_letter_inflow$/);
  });
});

test("a firing alert raises the tier of its pipeline on the overview, with a link", async () => {
  await withPage({}, async (page) => {
    await page.goto(demo.url);
    const row = page.locator("#pipelines tbody", { hasText: "shipping-labels" });
    assert.match(await row.last().innerText(), /warning[^]*Dead letters: 3 dead letters/);
    await row.last().getByRole("link", { name: "Alert Dead letters" }).click();
    await page.getByRole("heading", { level: 1, name: "Dead letters" }).waitFor();
  });
});

test("notes and reasons that attack stay text", async () => {
  await withPage({ name: "operator" }, async (page) => {
    await page.goto(one("ack_latency/pipeline/payments"));
    await page.getByLabel("Note, for those who look next").fill(hostile);
    await page.getByRole("button", { name: "Acknowledge" }).click();
    assert.match(await page.locator("#alert .attention").innerText(), /<img src=x onerror=alert\(1\)>/);
    await page.goto(`${demo.url}/silences/new?pipeline=payments&tier=warning`);
    await page.getByLabel(/^Reason/).fill(hostile);
    await page.getByRole("button", { name: "Preview" }).click();
    await page.getByRole("button", { name: "Silence", exact: true }).click();
    await page.getByRole("row", { name: /onerror=alert/ }).waitFor();
    for (const path of ["/alerts?state=acked", "/silences", "/audit"]) {
      await page.goto(demo.url + path);
      assert.equal(await page.locator("main img").count(), 0, path);
      assert.match(await page.locator("main").innerText(), /<img src=x onerror=alert\(1\)>/, path);
    }
  });
});

// From here on other scenes are shown, in which the alerts of before are over.
test("a page of alerts follows by itself, tells screen readers of the new tier, and keeps what is typed", async () => {
  await withPage({ name: "operator" }, async (page) => {
    await demo.scene("healthy");
    await page.goto(`${demo.url}/alerts`);
    await page.locator("#live-state[data-state=live]").waitFor();
    assert.equal(await page.locator("#announce").innerText(), "");
    const before = await page.locator("#alerts").getAttribute("data-alerts");
    await demo.scene("explained");
    await page.locator(".alert-rows .chip.t-emergency").first().waitFor();
    const said = await page.locator("#announce").innerText();
    assert.match(said, /^Alerts: \d+ emergency/);
    assert.notEqual(said, before);
    assert.equal(await page.locator("#announce").getAttribute("role"), "status");
    assert.equal(await page.locator("#alarm[role=alert]").innerText(), "An alert is in emergency.");

    await page.getByRole("link", { name: "Double effects" }).first().click();
    await page.locator("#live-state[data-state=live]").waitFor();
    await page.getByLabel("Note, for those who look next").fill("half typ");
    const row = page.locator("section[aria-labelledby=why-title] tbody tr").first();
    const seen = await row.locator("time").last().getAttribute("datetime");
    await page.waitForFunction((at) => new Date().toISOString().slice(0, 19) > at.slice(0, 19), new Date().toISOString());
    await demo.scene("explained");
    await page.waitForFunction((at) => [...document.querySelectorAll("#alert-why tbody tr:first-child time")].at(-1)?.dateTime !== at, seen);
    assert.equal(await page.getByLabel("Note, for those who look next").inputValue(), "half typ");
  });
});

test("what comes from outside is shown as text on the pages of alerts too", async () => {
  await demo.scene("hostile");
  await withPage({ viewport: { width: 390, height: 844 } }, async (page) => {
    for (const path of ["/alerts?state=firing,pending,unknown,normal", "/silences/new?preview=1&pipeline=orders", "/pipelines/orders"]) {
      await page.goto(demo.url + path);
      assert.deepEqual(await faultsOf(page), [], path);
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(wide <= 0, `${path} is ${wide} px wider than the screen`);
    }
  });
});
