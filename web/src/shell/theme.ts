// The light or dark theme: the system's, unless the user chose one.
import { makeStore } from "../kit/store";

export type Theme = "system" | "light" | "dark";

const KEY = "longhouse.theme";

export const theme = makeStore<{ chosen: Theme }>({
  chosen: (localStorage.getItem(KEY) as Theme | null) ?? "system",
});

export function applyTheme(): void {
  const { chosen } = theme.get();
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}

export function chooseTheme(chosen: Theme): void {
  localStorage.setItem(KEY, chosen);
  theme.set({ chosen });
  applyTheme();
}

/** Switch to the theme that is not shown now. */
export function flipTheme(): void {
  const { chosen } = theme.get();
  const dark =
    chosen === "dark" ||
    (chosen === "system" && matchMedia("(prefers-color-scheme: dark)").matches);
  chooseTheme(dark ? "light" : "dark");
}
