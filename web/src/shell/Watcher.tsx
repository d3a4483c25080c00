// Keeps the count of items that need the user up to date in every view.
import { useEffect } from "react";
import { useNeeds } from "../views/now/needs";
import { inWords } from "../views/now/ranking";
import { href } from "./router";
import { setWaiting } from "./waiting";

export function Watcher() {
  const { all, pending, ready } = useNeeds();
  useEffect(() => {
    if (!ready) return;
    const open = all.filter((need) => pending.get(need.subject)?.state !== "done");
    setWaiting(open.map((need) => ({ id: need.id, ...inWords(need), place: href("/") })));
  }, [all, pending, ready]);
  return null;
}
