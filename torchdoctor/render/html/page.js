"use strict";
// Puts a button beside each command. Without this script the page reads the same.
(() => {
  const told = document.createElement("p");
  told.className = "told";
  told.setAttribute("role", "status");
  document.body.append(told);

  const byHand = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };

  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return byHand(text);
    }
  };

  for (const line of document.querySelectorAll("pre.command")) {
    const box = document.createElement("div");
    box.className = "copied";
    line.replaceWith(box);
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${line.textContent}`);
    button.addEventListener("click", async () => {
      const done = await copy(line.textContent);
      button.textContent = done ? "Copied" : "Not copied";
      told.textContent = done ? "The command is copied." : "The command could not be copied: select it by hand.";
      setTimeout(() => { button.textContent = "Copy"; told.textContent = ""; }, 2000);
    });
    box.append(line, button);
  }
})();
