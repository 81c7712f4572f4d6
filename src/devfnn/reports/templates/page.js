"use strict";
(() => {
  // The counts above the log become switches: press one to see only events of its kind.
  const rows = document.querySelectorAll("#event-log tbody tr");
  const buttons = [];
  let chosen = null;
  for (const chip of document.querySelectorAll("#event-kinds li")) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...chip.childNodes);
    button.setAttribute("aria-pressed", "false");
    button.addEventListener("click", () => {
      const kind = chip.dataset.kind;
      chosen = chosen === kind ? null : kind;
      for (const each of buttons) {
        each.button.setAttribute("aria-pressed", String(each.kind === chosen));
      }
      for (const row of rows) {
        row.hidden = chosen !== null && row.dataset.kind !== chosen;
      }
    });
    buttons.push({ kind: chip.dataset.kind, button });
    chip.append(button);
  }
})();
