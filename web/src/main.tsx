import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "./kit/base.css";
import { App } from "./shell/App";
import { begin } from "./shell/begin";
import { applyTheme } from "./shell/theme";

applyTheme();
begin();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
