// Opens pages of torchdoctor in Chromium and tells what it saw: node report.mjs MODULES < job.json > answer.json
// job: {"pages": {name: path}, "shots": {name: {path, page, width, dark, print}}}
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const need = createRequire(`${process.argv[2]}/`);
const { chromium } = need("playwright-core");
const axe = readFileSync(need.resolve("axe-core/axe.min.js"), "utf8");
const job = JSON.parse(readFileSync(0, "utf8"));
const address = (path) => pathToFileURL(path).href;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});

const open = async (path, options, saw) => {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  page.on("request", (request) => { if (request.url() !== address(path)) saw.requests.push(request.url()); });
  page.on("console", (message) => { if (message.type() === "error") saw.errors.push(message.text()); });
  page.on("pageerror", (error) => saw.errors.push(String(error)));
  page.on("dialog", (dialog) => { saw.errors.push("dialog"); dialog.dismiss(); });
  await page.goto(address(path));
  return [context, page];
};

const judged = async (page) => {
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return result.violations.map((item) => `${item.impact} ${item.id}: ${item.nodes[0].target} (${item.nodes.length})`);
};

const tooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);

const answers = {};
for (const [name, path] of Object.entries(job.pages)) {
  const saw = { requests: [], errors: [] };
  const [context, page] = await open(path, { permissions: ["clipboard-read", "clipboard-write"] }, saw);
  saw.verdict = await page.locator("h1").innerText();
  saw.scripts = await page.locator("script").count();
  saw.evil = await page.evaluate(() => typeof window.evil);
  saw.images = await page.locator("img, iframe, object, link").count();
  saw.text = await page.locator("main").innerText();
  saw.commands = await page.locator("pre.command").allInnerTexts();
  const buttons = page.locator("button");
  saw.buttons = await buttons.count();
  if (saw.buttons) {
    await buttons.first().focus();
    await page.keyboard.press("Enter");
    await page.getByText("Copied", { exact: true }).waitFor({ timeout: 3000 });
    saw.copied = await page.evaluate(() => navigator.clipboard.readText());
    saw.told = await page.locator("[role=status]").innerText();
  }
  await page.evaluate(() => { document.activeElement.blur(); window.getSelection().removeAllRanges(); });
  await page.reload();
  await page.keyboard.press("Tab");
  saw.first = await page.evaluate(() => document.activeElement.className);
  const summary = page.locator("#facts summary").first();
  await summary.focus();
  await page.keyboard.press("Enter");
  saw.opened = await page.locator("#facts details").first().evaluate((item) => item.open);
  await page.evaluate(() => document.querySelectorAll("details").forEach((item) => { item.open = true; }));
  await page.evaluate(axe);
  saw.light = await judged(page);
  await page.emulateMedia({ colorScheme: "dark" });
  saw.dark = await judged(page);
  await page.setViewportSize({ width: 320, height: 700 });
  saw.over = await tooWide(page);
  saw.narrow = await judged(page);
  await page.emulateMedia({ media: "print" });
  saw.printed = await page.locator("button:visible").count();
  await context.close();
  const [bare, still] = await open(path, { javaScriptEnabled: false }, saw);
  saw.still = { verdict: await still.locator("h1").innerText(), commands: await still.locator("pre.command").allInnerTexts() };
  await bare.close();
  answers[name] = saw;
}
for (const shot of Object.values(job.shots || {})) {
  const size = { viewport: { width: shot.width || 1100, height: 900 }, colorScheme: shot.dark ? "dark" : "light" };
  const [context, page] = await open(shot.page, size, { requests: [], errors: [] });
  if (shot.print) await page.pdf({ path: shot.print, format: "A4" });
  await page.screenshot({ path: shot.path, fullPage: true });
  await context.close();
}
await browser.close();
console.log(JSON.stringify(answers));
