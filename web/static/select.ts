// Selecting in a list of markers: all of a page at once, how many are ticked, and no way to review nothing. The list works
// without this file too.

/** Shows what is selected; called again after every change and whenever the list was filled again. */
export function showSelection(form: HTMLFormElement): void {
  const boxes = [...form.querySelectorAll<HTMLInputElement>("input[name=sel]:not(:disabled)")];
  const ticked = boxes.filter((box) => box.checked).length;
  for (const label of form.querySelectorAll<HTMLElement>(".pick-page")) {
    label.hidden = boxes.length === 0;
    const all = label.querySelector<HTMLInputElement>(".pick-all");
    if (!all) continue;
    all.checked = boxes.length > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  }
  for (const line of form.querySelectorAll<HTMLElement>(".picked")) {
    line.hidden = boxes.length === 0;
    const words = line.querySelector(".n");
    const text = ticked === 0 ? "none selected" : `${ticked} of ${boxes.length} selected`;
    if (words && words.textContent !== text) words.textContent = text;
  }
  for (const button of form.querySelectorAll<HTMLButtonElement>(".for-selected")) {
    button.disabled = ticked === 0;
    button.title = ticked === 0 ? "Tick the markers that you mean first" : "";
  }
}

export function showSelections(): void {
  document.querySelectorAll<HTMLFormElement>("form.act").forEach(showSelection);
}

document.addEventListener("change", (event) => {
  const target = event.target as HTMLInputElement;
  const form = target.closest?.<HTMLFormElement>("form.act");
  if (!form) return;
  if (target.classList.contains("pick-all")) {
    for (const box of form.querySelectorAll<HTMLInputElement>("input[name=sel]:not(:disabled)")) box.checked = target.checked;
  }
  showSelection(form);
});
// Browsers bring back what was ticked when somebody returns to the page.
window.addEventListener("pageshow", showSelections);
showSelections();
