// Asks for a token, which becomes a session. The token itself is not kept.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "../vendor/hooks.mjs";
import { html } from "./html.js";
import { Input, Note, problemText } from "./parts.js";
import { texts } from "./texts.js";

export function Login({ begin, hasEnded }) {
  const [token, setToken] = useState("");
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = `${texts.login.title} – ${texts.name}`;
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await begin(token.trim());
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  return html`
    <main class="login">
      <form class="card" onSubmit=${submit}>
        <h1>${texts.name}</h1>
        ${hasEnded && !error && html`<${Note}>${texts.login.ended}</${Note}>`}
        <${Input} label=${texts.login.token} value=${token} onChange=${setToken} type="password" required autofocus
          autocomplete="current-password" name="token" maxlength="200" spellcheck="false" />
        ${error && html`<${Note} kind="bad">${error.status === 401 ? texts.login.wrong : problemText(error)}</${Note}>`}
        <div class="buttons"><button class="primary" type="submit" disabled=${isBusy}>${texts.login.verb}</button></div>
        <p class="hint">${texts.login.hint}<br /><code>${texts.login.command}</code></p>
      </form>
    </main>`;
}
