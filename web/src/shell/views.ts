// The views, in the order of the navigation. Each has a folder under `views/` and is loaded when
// it is first shown; `web/README.md` says how to add one.
import { type ComponentType, lazy } from "react";

export interface View {
  name: string;
  path: string;
  title: string;
  /** The key to press after `g`. */
  key: string;
  /** Also shown in the bar at the bottom of narrow screens. */
  pocket?: boolean;
  body: ComponentType;
}

export const VIEWS: readonly View[] = [
  {
    name: "now",
    path: "/",
    title: "Now",
    key: "n",
    pocket: true,
    body: lazy(() => import("../views/now/Now")),
  },
  {
    name: "sessions",
    path: "/sessions",
    title: "Sessions",
    key: "s",
    pocket: true,
    body: lazy(() => import("../views/sessions/Sessions")),
  },
  {
    name: "jobs",
    path: "/jobs",
    title: "Jobs",
    key: "j",
    pocket: true,
    body: lazy(() => import("../views/jobs/Jobs")),
  },
  {
    name: "work",
    path: "/work",
    title: "Work",
    key: "w",
    pocket: true,
    body: lazy(() => import("../views/work/Work")),
  },
  {
    name: "files",
    path: "/files",
    title: "Files",
    key: "f",
    body: lazy(() => import("../views/files/Files")),
  },
  {
    name: "processes",
    path: "/processes",
    title: "Processes",
    key: "p",
    body: lazy(() => import("../views/processes/Processes")),
  },
  {
    name: "memory",
    path: "/memory",
    title: "Memory",
    key: "m",
    body: lazy(() => import("../views/memory/Memory")),
  },
  {
    name: "history",
    path: "/history",
    title: "History",
    key: "h",
    body: lazy(() => import("../views/history/History")),
  },
];

/** The view for a path; undefined if there is none. */
export function viewAt(parts: readonly string[]): View | undefined {
  const first = parts[0];
  if (first === undefined) return VIEWS[0];
  return VIEWS.find((view) => view.path === `/${first}`);
}
