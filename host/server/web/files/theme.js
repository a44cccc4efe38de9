// SPDX-License-Identifier: Apache-2.0
//
// The colours that the user chose, kept in the browser for all pages.
const kTheme = "tandem.theme";

function useTheme(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
}

// `select`: the element that chooses.
export function keepTheme(select) {
  select.value = localStorage.getItem(kTheme) ?? "auto";
  useTheme(select.value);
  select.addEventListener("change", () => {
    localStorage.setItem(kTheme, select.value);
    useTheme(select.value);
  });
}
