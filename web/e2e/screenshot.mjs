// Takes pictures of every page into test-results/, and the one for the README with --readme.
import { join } from "node:path";
import { startDemo, startBrowser, signIn, watched, results } from "./demo.mjs";

const demo = await startDemo();
const browser = await startBrowser();
const readme = process.argv.includes("--readme");

async function shots(name, context, pages) {
  for (const [scene, path, label] of pages) {
    await demo.scene(scene);
    const page = await context.newPage();
    await page.goto(demo.url + path);
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(results, `${name}-${label}.png`), fullPage: true });
    await page.close();
  }
}

const pages = [
  ["mixed", "/", "overview"],
  ["mixed", "/pipelines/orders", "orders"],
  ["mixed", "/pipelines/inventory?range=6h", "inventory"],
  ["mixed", "/pipelines/invoices", "invoices"],
];
const more = [
  ["hostile", "/", "hostile"],
  ["hostile", "/pipelines/orders", "hostile-pipeline"],
  ["stale", "/", "stale"],
  ["starting", "/", "starting"],
  ["empty", "/", "empty"],
  ["mixed", "/?q=nothing", "filtered"],
  ["mixed", "/?sort=nonsense", "bad"],
  ["healthy", "/", "healthy"],
  ["no-history", "/pipelines/mailings", "down"],
  ["many", "/", "many"],
];
try {
  if (readme) {
    await demo.scene("shop");
    const context = await signIn(browser, demo.url, { viewport: { width: 1280, height: 1000 } });
    const page = await context.newPage();
    await page.goto(demo.url + "/");
    await page.waitForTimeout(800);
    await page.screenshot({ path: join(results, "..", "docs", "screenshot.png") });
  } else {
    const light = await signIn(browser, demo.url);
    await shots("light", light, [...pages, ...more]);
    await shots("dark", await signIn(browser, demo.url, { colorScheme: "dark" }), pages);
    await shots("phone", await signIn(browser, demo.url, { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 }), pages.slice(0, 3));
    await shots("nojs", await signIn(browser, demo.url, { javaScriptEnabled: false }), pages.slice(0, 2));
    const anonymous = await watched(browser);
    await shots("light", anonymous, [["mixed", "/login", "login"]]);
    await shots("dark", await watched(browser, { colorScheme: "dark" }), [["mixed", "/login", "login"]]);
    for (const fault of light.faults) console.log("fault:", fault);
  }
} finally {
  await browser.close();
  await demo.stop();
}
