// Redirects from the ref of a card or an entry to its document.
import { useEffect } from "react";
import { Empty, Link, Refused } from "../../kit/parts";
import { useRead } from "../../live/reads";
import { go, href } from "../../shell/router";

export function Jump({ id }: { id: string }) {
  const read = useRead("open", { id });
  const found = read.data;
  useEffect(() => {
    if (found && "head" in found && found.kind === "card") {
      const { branch, doc } = found.head;
      go(href("/memory", { branch, doc, card: found.id }), "replace");
    } else if (found && "entry" in found && found.kind === "doc_entry") {
      const { branch, doc, seq } = found.entry;
      go(href("/memory", { branch, doc, at: String(seq) }), "replace");
    }
  }, [found]);
  if (!read.error && (!found || found.kind === "card" || found.kind === "doc_entry")) {
    return (
      <p className="soft" role="status">
        Looking for {id}…
      </p>
    );
  }
  return (
    <>
      {read.error && <Refused error={read.error} />}
      <Empty title={`${id} is not in memory.`}>
        <Link href={href("/memory")}>Browse memory</Link>
      </Empty>
    </>
  );
}
