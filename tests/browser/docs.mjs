// Drives the built page in Chromium: node select.mjs PAGE; a JSON object on stdout. NODE_PATH names node_modules.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
const require = createRequire(`${process.env.NODE_PATH}/`);
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const [page_address, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function open(options = {}) {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"], bypassCSP: true, ...options });
  const page = await context.newPage();
  page.on("request", (request) => out.requests.push(request.url()));
  page.on("console", (message) => out.console.push(message.text()));
  page.on("pageerror", (error) => out.console.push(String(error)));
  await page.goto(page_address);
  return page;
}

/** Serious and critical violations of axe-core's rules, and whether the page is wider than the window. */
async function accessible(page) {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"], preload: false }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const overflows = await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth);
  return [...serious.map(({ id, nodes }) => `${id}: ${nodes[0].html}`), ...(overflows ? ["wider than the window"] : [])];
}

const shown = (page) =>
  page.evaluate(() => ({
    choice: chosen(),
    title: document.querySelector("#answer h2").textContent,
    blocks: [...document.querySelectorAll("#answer pre")].map((pre) => pre.textContent),
    refused: document.getElementById("answer").classList.contains("refused"),
    same: document.querySelector("#answer > pre:last-of-type").textContent,
  }));

const out = { requests: [], console: [], axe: {}, shown: [] };
const page = await open();
out.answers = await page.evaluate(() => offered().map((choice) => ({ ...choice, answer: answerFor(choice), same: sameAsked(choice) })));
out.hosts = await page.evaluate(() => Object.fromEntries(SELECT_DATA.systems.map(({ id, host }) => [id, host])));
out.models = await page.evaluate(() => SELECT_DATA.models);
out.not_offered = await page.evaluate(() => answerFor({ ...offered()[0], python: "2.7" }) === undefined);

// By keyboard alone: from the top of the page to the GPU, another one; then the system, which takes its GPU away.
const focused = () => page.evaluate(() => document.activeElement.id);
for (out.presses = 0; (await focused()) !== "gpu" && out.presses < 60; out.presses += 1) await page.keyboard.press("Tab");
await page.keyboard.press("ArrowDown");
out.shown.push(await shown(page));
await page.selectOption("#driver", "none");
out.shown.push(await shown(page));
await page.selectOption("#system", "windows");
await page.selectOption("#tool", "uv-project");
await page.selectOption("#driver", "580");
out.shown.push(await shown(page));
await page.selectOption("#system", "macos");
out.shown.push(await shown(page));
out.disabled = await page.evaluate(() => FIELDS.filter((name) => at(name).disabled));

await page.selectOption("#system", "linux");
await page.fill("#find", "NVIDIA GeForce RTX 3090");
await page.press("#find", "Enter");
out.found = await shown(page);
out.found_note = await page.textContent("#found");
await page.fill("#find", "GPU of nobody");
await page.press("#find", "Enter");
out.unknown_note = await page.textContent("#found");
await page.click("#answer button");
out.copied = await page.evaluate(() => navigator.clipboard.readText());
out.shown.push(await shown(page));

out.axe.light = await accessible(page);
out.axe.dark = await accessible(await open({ colorScheme: "dark" }));
out.axe.narrow = await accessible(await open({ viewport: { width: 320, height: 640 } }));
for (const name of ["index.html", "guides/first-aid.html", "findings/index.html", "findings/driver-too-old.html", "reference.html"]) {
  await page.goto(new URL(`../${name}`, page_address).href);
  out.axe[name] = await accessible(page);
}
await browser.close();
process.stdout.write(JSON.stringify(out));
