"use strict";
// Looks up what .ci/docs/select_data.py has computed; nothing is decided here.

const NONE = "none";
const isNvidia = (gpu) => gpu.startsWith("sm_");
const systemOf = (id) => SELECT_DATA.systems.find((system) => system.id === id);

/** The drivers that matter beside a GPU: [value, label] pairs. */
function driversFor(system, gpu) {
  return isNvidia(gpu) ? system.drivers : [[NONE, "not needed: no NVIDIA GPU"]];
}

/** The answer for {system, gpu, driver, python, tool}, its texts in place; undefined for what is not offered. */
function answerFor(choice) {
  const system = systemOf(choice.system);
  let place = 0;
  for (const gpu of system.gpus) {
    for (const [driver] of driversFor(system, gpu)) {
      for (const python of SELECT_DATA.pythons) {
        for (const tool of SELECT_DATA.tools) {
          if (gpu === choice.gpu && driver === choice.driver && python === choice.python && tool === choice.tool) {
            return inWords(SELECT_DATA.answers[system.index[place]]);
          }
          place += 1;
        }
      }
    }
  }
  return undefined;
}

function inWords(answer) {
  const texts = SELECT_DATA.texts;
  const words = (value) => (Array.isArray(value) ? value.map((place) => texts[place]) : texts[value]);
  return Object.fromEntries(Object.entries(answer).map(([key, value]) => [key, words(value)]));
}

/** Every combination that the page offers. */
function offered() {
  const all = [];
  for (const system of SELECT_DATA.systems)
    for (const gpu of system.gpus)
      for (const [driver] of driversFor(system, gpu))
        for (const python of SELECT_DATA.pythons)
          for (const tool of SELECT_DATA.tools) all.push({ system: system.id, gpu, driver, python, tool });
  return all;
}

/** The words of install-cmd that ask the same. */
function sameAsked(choice) {
  const host = systemOf(choice.system).host;
  const quoted = (text) => (text.includes(" ") ? `"${text}"` : text);
  const words = ["torchdoctor install-cmd"];
  for (const [key, value] of Object.entries(host)) {
    words.push(value === true ? `--${key}` : `--${key.replace("_", "-")} ${value}`);
  }
  words.push(`--python-version ${choice.python}`, `--gpu ${quoted(choice.gpu)}`);
  if (host.os !== "macos") words.push(`--driver ${choice.driver}`);
  words.push(`--tool ${choice.tool}`);
  return words.join(" ");
}

const at = (id) => document.getElementById(id);
const FIELDS = ["system", "gpu", "driver", "python", "tool"];
const chosen = () => Object.fromEntries(FIELDS.map((name) => [name, at(name).value]));

function node(tag, content, parts = []) {
  const made = document.createElement(tag);
  made.textContent = content;
  made.append(...parts);
  return made;
}

/** Fill a select; what was chosen stays where it is still offered. What was the only choice was no choice. */
function fill(id, pairs) {
  const select = at(id);
  const before = select.disabled ? undefined : select.value;
  select.replaceChildren(...pairs.map(([value, label]) => new Option(label, value)));
  const kept = pairs.some(([value]) => value === before);
  if (kept) select.value = before;
  select.disabled = pairs.length === 1;
  return kept;
}

function gpuLabel(gpu) {
  const name = SELECT_DATA.names[gpu];
  return gpu === NONE || name === gpu ? name : `${name} (${gpu})`;
}

function refill() {
  const system = systemOf(at("system").value);
  fill("gpu", system.gpus.map((gpu) => [gpu, gpuLabel(gpu)]));
  const drivers = driversFor(system, at("gpu").value);
  if (!fill("driver", drivers)) at("driver").value = drivers[Math.max(0, drivers.length - 2)][0]; // the newest may be new to all
  at("find").disabled = system.gpus.length === 1;
}

/** Lines of commands; folded between words alone, since a browser would fold after each hyphen. */
function codeBlock(lines) {
  const words = lines.join("\n").split(/(\s+)/).map((word) => (word.trim() ? node("span", word) : word));
  const pre = node("pre", "", [node("code", "", words)]);
  pre.tabIndex = 0;
  return pre;
}

function copyButton(lines) {
  const button = node("button", "Copy");
  button.type = "button";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(lines.join("\n") + "\n");
    button.textContent = "Copied";
  });
  return button;
}

function list(title, items) {
  return items.length ? [node("h3", title), node("ul", "", items.map((item) => node("li", item)))] : [];
}

function installed(answer) {
  const name = answer.torch ? `torch ${answer.torch}, build ${answer.build}` : "the torch that this index holds";
  const parts = [node("h2", name)];
  if (answer.file) {
    parts.push(node("p", `These lines belong into ${answer.file}:`), codeBlock(answer.lines), copyButton(answer.lines));
  }
  if (answer.commands) {
    if (answer.file) parts.push(node("p", "Then:"));
    parts.push(codeBlock(answer.commands), copyButton(answer.commands));
  }
  return parts.concat(
    list("Why", [...(answer.reason ?? []), ...(answer.more ?? [])]),
    list("With a newer driver", answer.upgrade ? [`driver ${answer.upgrade}`] : []),
    list("Not taken", answer.not ?? []),
  );
}

function refused(answer) {
  const parts = [node("h2", "Nothing to install"), node("p", answer.reason.join("; "))];
  return answer.change ? parts.concat(list("Smallest change", [answer.change])) : parts;
}

function show() {
  const choice = chosen();
  const answer = answerFor(choice);
  const runs = Boolean(answer.commands || answer.lines);
  const same = [node("h3", "The same, asked on a command line"), codeBlock([sameAsked(choice)])];
  at("answer").classList.toggle("refused", !runs);
  at("answer").replaceChildren(...(runs ? installed(answer) : refused(answer)), ...same);
}

function find() {
  const wanted = at("find").value.trim();
  const gpu = SELECT_DATA.models[wanted];
  const isHere = gpu && systemOf(at("system").value).gpus.includes(gpu);
  if (isHere) at("gpu").value = gpu;
  const elsewhere = gpu ? `${gpu}: not offered for this system` : `not on this page: torchdoctor install-cmd --gpu "${wanted}"`;
  at("found").textContent = wanted === "" ? "" : isHere ? `chosen: ${gpu}` : elsewhere;
  refill();
  show();
}

function start() {
  fill("system", SELECT_DATA.systems.map((system) => [system.id, system.label]));
  fill("python", SELECT_DATA.pythons.map((python) => [python, python]));
  at("python").value = SELECT_DATA.pythons[1];
  fill("tool", SELECT_DATA.tools.map((tool) => [tool, SELECT_DATA.names[tool]]));
  at("models").replaceChildren(...Object.keys(SELECT_DATA.models).map((name) => new Option(name, name)));
  at("scope").textContent = `${offered().length} combinations, computed from the tables of ${SELECT_DATA.tables}.`;
  at("system").value = "linux";
  refill();
  at("gpu").value = "sm_89";
  refill();
  at("chooser").addEventListener("submit", (event) => event.preventDefault());
  at("chooser").addEventListener("change", (event) => {
    if (event.target.id === "find") return find();
    refill();
    return show();
  });
  show();
}

start();
