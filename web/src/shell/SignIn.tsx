import { useState } from "react";
import { keep, session } from "../api/session";
import { useStore } from "../kit/store";
import styles from "./signin.module.css";

export function SignIn() {
  const { why } = useStore(session);
  const [token, setToken] = useState("");
  return (
    <main className={styles.page}>
      <form
        className={`card ${styles.card}`}
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim()) keep(token.trim());
        }}
      >
        <img src="/static/icon.svg" alt="" width="44" height="44" />
        <h1>Sign in to Longhouse</h1>
        <p className="soft">
          To sign in automatically, open the address that <code>longhouse up</code> printed. Or
          paste a token here.
        </p>
        {why && (
          <p className="refused" role="alert">
            {why}
          </p>
        )}
        <label>
          Token
          <input
            className="field"
            type="password"
            autoComplete="off"
            placeholder="lh_…"
            value={token}
            onChange={(event) => setToken(event.target.value)}
            required
          />
        </label>
        <button type="submit" className="button" data-kind="main">
          Sign in
        </button>
      </form>
    </main>
  );
}
