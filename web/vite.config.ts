import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Everything goes into the Python package and is served under /static/. Nothing is inlined: the
// page's policy lets in files of its own origin only.
export default defineConfig({
  base: "/static/",
  plugins: [react()],
  build: {
    outDir: "../src/longhouse/surfaces/http/static",
    emptyOutDir: true,
    manifest: "manifest.json",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
  },
  css: { modules: { localsConvention: "camelCaseOnly" } },
});
