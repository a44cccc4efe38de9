// SPDX-License-Identifier: Apache-2.0
//
// What a page may get wrong for people who do not see it, or see it poorly: rules of WCAG 2.2, level AA, that a program can check.
// browser_test.py runs it in the page; it returns the faults, a line each. Only what is visible counts.
const faults = [];
const all = (selector) => [...document.querySelectorAll(selector)];
const isVisible = (each) => each.checkVisibility({checkVisibilityCSS: true, checkOpacity: true}) && each.getClientRects().length > 0;
const visible = (selector) => all(selector).filter(isVisible);
const named = (each) => `${each.tagName.toLowerCase()}${each.id ? "#" + each.id : ""} "${(each.textContent ?? "").trim().slice(0, 30)}"`;
const fault = (each, text) => faults.push(`${each instanceof Element ? named(each) : each}: ${text}`);

function nameOf(each) {
  const by = each.getAttribute("aria-labelledby");
  if (by) return by.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ").trim();
  const said = each.getAttribute("aria-label") ?? each.getAttribute("alt");
  if (said?.trim()) return said.trim();
  if (each.labels?.length) return [...each.labels].map((label) => label.textContent).join(" ").trim();
  return each.matches("input, select, textarea") ? "" : each.textContent.trim();
}

function checkStructure() {
  if (!document.documentElement.lang) fault("html", "has no language");
  if (!document.title.trim()) fault("html", "has no title");
  if (visible("h1").length !== 1) fault("page", `${visible("h1").length} headings of level 1`);
  if (visible("main").length !== 1) fault("page", "has no one main landmark");
  if (visible("header").length !== 1 || visible("nav").length !== 1) fault("page", "has no banner or no navigation");
  let level = 0;
  for (const heading of visible("h1, h2, h3, h4, h5, h6")) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) fault(heading, `follows a heading of level ${level}`);
    level = own;
  }
  const outside = visible("body > *").filter((each) => !each.matches("header, main, footer, nav, a.skip, noscript"));
  outside.forEach((each) => fault(each, "lies outside of all landmarks"));
  const numbers = all("[id]").map(({id}) => id);
  numbers.filter((id, i) => numbers.indexOf(id) !== i).forEach((id) => fault(id, "is an id of two elements"));
}

function checkNames() {
  const controls = "a[href], button, input, select, textarea, summary, nav, aside, section, progress, meter, table, [role=img], [role=region], [tabindex='0']";
  visible(controls).filter((each) => !nameOf(each)).forEach((each) => fault(each, "has no name"));
  visible("img:not([alt])").forEach((each) => fault(each, "has no alternative text"));
  visible("svg:not([role]):not([aria-hidden])").forEach((each) => fault(each, "is neither an image nor hidden from readers"));
  visible("th:not([scope])").forEach((each) => fault(each, "has no scope"));
  visible("[aria-labelledby], [aria-describedby]").forEach((each) => {
    const ids = `${each.getAttribute("aria-labelledby") ?? ""} ${each.getAttribute("aria-describedby") ?? ""}`;
    ids.trim().split(/\s+/).filter((id) => !document.getElementById(id)).forEach((id) => fault(each, `names ${id}, which is not there`));
  });
  visible("[tabindex]").filter((each) => each.tabIndex > 0).forEach((each) => fault(each, "changes the order of the keyboard"));
}

function checkSizes() {
  visible("button, nav a, input, select, textarea").forEach((each) => {
    const {width, height} = each.getBoundingClientRect();
    if (Math.min(width, height) < 24) fault(each, `is ${width.toFixed(0)} x ${height.toFixed(0)} pixels, less than 24`);
  });
  visible("*").filter((each) => /auto|scroll/.test(getComputedStyle(each).overflowX + getComputedStyle(each).overflowY)).forEach((each) => {
    const scrolls = each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1;
    const reached = each.tabIndex >= 0 || each.querySelector("a[href], button, input, select, textarea");
    if (scrolls && !reached) fault(each, "scrolls and the keyboard does not reach it");
  });
}

// [red, green, blue, alpha] of a computed colour.
function colour(text) {
  const found = text.match(/^rgba?\(([^)]+)\)$/);
  if (!found) return [0, 0, 0, text === "none" ? 0 : NaN];
  const [r, g, b, a = 1] = found[1].split(/[\s,/]+/).map(Number);
  return [r, g, b, a];
}

const over = (front, back) => [0, 1, 2].map((i) => front[i] * front[3] + back[i] * (1 - front[3])).concat(1);

function backOf(each) {
  const layers = [];
  for (let at = each; at; at = at.parentElement) layers.push(colour(getComputedStyle(at).backgroundColor));
  return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
}

function luminance([r, g, b]) {
  const [x, y, z] = [r, g, b].map((v) => v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * x + 0.7152 * y + 0.0722 * z;
}

function checkContrast() {
  const texts = visible("body *").filter((each) => !each.closest("[disabled], select option, title") &&
    ([...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()) || each.matches("input, textarea, select")));
  for (const each of texts) {
    const style = getComputedStyle(each), back = backOf(each);
    const front = over(colour(each.namespaceURI.endsWith("svg") ? style.fill : style.color), back);
    const [dark, light] = [luminance(front), luminance(back)].sort((a, b) => a - b);
    const ratio = (light + 0.05) / (dark + 0.05), size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    if (!(ratio >= least)) fault(each, `contrast ${ratio.toFixed(2)}, less than ${least}`);
  }
  if (texts.length < 10) fault("page", "shows almost no text");
}

checkStructure();
checkNames();
checkSizes();
checkContrast();
return faults;
