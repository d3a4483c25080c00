import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// Everything is built into the Python package and served under /static/. Nothing is inlined: the
// page's security policy allows only files from its own origin.
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
