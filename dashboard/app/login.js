// Asks for a token, or for the name and the password of somebody in admin.users_file; either becomes a session and is
// not kept.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "../vendor/hooks.mjs";
import { html } from "./html.js";
import { Input, Note, problemText } from "./parts.js";
import { texts } from "./texts.js";

export function Login({ begin, hasEnded }) {
  const [user, setUser] = useState("");
  const [secret, setSecret] = useState("");
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
      await begin(user.trim() === "" ? { token: secret.trim() } : { user: user.trim(), password: secret });
    } catch (failed) {
      setError(failed);
      setBusy(false);
    }
  };
  const isByToken = user.trim() === "";
  const wrong = isByToken ? texts.login.wrong : texts.login.wrongPassword;
  return html`
    <main class="login">
      <form class="card" onSubmit=${submit}>
        <h1>${texts.name}</h1>
        ${hasEnded && !error && html`<${Note}>${texts.login.ended}</${Note}>`}
        <${Input} label=${texts.login.user} value=${user} onChange=${setUser} autofocus
          autocomplete="username" name="user" maxlength="255" spellcheck="false" autocapitalize="none" />
        <${Input} label=${isByToken ? texts.login.token : texts.login.password} value=${secret} onChange=${setSecret}
          type="password" required autocomplete="current-password" name="secret" maxlength="500" spellcheck="false" />
        ${error && html`<${Note} kind="bad">${error.status === 401 ? wrong : problemText(error)}</${Note}>`}
        <div class="buttons"><button class="primary" type="submit" disabled=${isBusy}>${texts.login.verb}</button></div>
        <p class="hint">${texts.login.hint}<br /><code>${texts.login.command}</code></p>
      </form>
    </main>`;
}
