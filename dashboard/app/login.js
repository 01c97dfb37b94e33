// Asks for a token, or for the name and the password of somebody in admin.users_file; either becomes a session and is
// not kept.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { html } from "./html.js";
import { Input, Note, problemText } from "./parts.js";
import { texts } from "./texts.js";

// `byPassword`: whether anybody has one. `hasEnded`: above a page whose session has ended.
export function Login({ begin, byPassword, hasEnded = false }) {
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
  const form = html`
    <main class="login">
      <form class="card" onSubmit=${submit}>
        <h1>${texts.name}</h1>
        ${hasEnded && !error && html`<${Note}>${texts.login.ended} ${texts.login.again}</${Note}>`}
        ${byPassword && html`<${Input} label=${texts.login.user} value=${user} onChange=${setUser} autofocus
          autocomplete="username" name="user" maxlength="255" spellcheck="false" autocapitalize="none" />`}
        <${Input} autofocus=${!byPassword} label=${isByToken ? texts.login.token : texts.login.password} value=${secret} onChange=${setSecret}
          type="password" required autocomplete="current-password" name="secret" maxlength="500" spellcheck="false" />
        ${error && html`<${Note} kind="bad">${error.status === 401 ? wrong : problemText(error)}</${Note}>`}
        <div class="buttons"><button class="primary" type="submit" disabled=${isBusy}>${texts.login.verb}</button></div>
        <p class="hint">${texts.login.hint}<br /><code>${texts.login.command}</code></p>
      </form>
    </main>`;
  return hasEnded ? html`<${OverAll}>${form}</${OverAll}>` : form;
}

// Above a dialog that was open when the session ended, which blocks everything that is no dialog.
function OverAll({ children }) {
  const dialog = useRef(null);
  useEffect(() => {
    const element = dialog.current;
    element.showModal();
    element.querySelector("input").focus();
    return () => element.close();
  }, []);
  return html`<dialog class="whole" ref=${dialog} onCancel=${(event) => event.preventDefault()}>${children}</dialog>`;
}
