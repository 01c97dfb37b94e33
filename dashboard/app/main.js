// The page: who asks, where they are, and the view of that place.
// SPDX-License-Identifier: Apache-2.0
import { render } from "../vendor/preact.mjs";
import { useCallback, useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { change, get, whenSessionEnds } from "./api.js";
import { html } from "./html.js";
import { Login } from "./login.js";
import { Note, problemText } from "./parts.js";
import { hasRole } from "./roles.js";
import { Shell } from "./shell.js";
import { texts } from "./texts.js";
import { askAgain, usePlace } from "./use.js";
import { viewOf } from "./views.js";

function Page() {
  const place = usePlace();
  const [session, setSession] = useState(undefined); // undefined: not known yet; null: nobody
  const [byPassword, setByPassword] = useState(true); // whether there are people who sign in by one
  const [hasEnded, setEnded] = useState(false);
  const [failure, setFailure] = useState(null);
  const [notice, setNotice] = useState(null);
  const find = useCallback(async () => {
    try {
      const known = await get("/session");
      setSession(known.role ? known : null);
      setByPassword(known.passwords !== false);
      setFailure(null);
      return known;
    } catch (error) {
      setFailure(error);
    }
  }, []);
  useEffect(() => {
    whenSessionEnds(() => setEnded(true)); // what is shown stays below the form, and so does what was typed
    find();
  }, []);
  const begin = async (proof) => {
    await change("POST", "/session", proof);
    await find();
    setEnded(false);
    askAgain();
  };
  const end = async () => {
    setNotice(null);
    setEnded(false);
    setSession(null); // first: no view is to ask any more
    await change("DELETE", "/session").catch(find);
  };
  if (failure) return html`<main><${Note} kind="bad">${problemText(failure)} <button class="small"
    onClick=${find}>${texts.again}</button></${Note}></main>`;
  if (session === undefined) return html`<main><p class="quiet" role="status">${texts.loading}</p></main>`;
  if (session === null) return html`<${Login} begin=${begin} byPassword=${byPassword} />`;
  const whose = [session.who, session.role, ...session.groups].join(" "); // of somebody else all begins anew
  return html`
    <div class="shell" hidden=${hasEnded} key=${whose}>
      <${Shell} session=${session} place=${place} end=${end} notice=${notice} dismiss=${() => setNotice(null)}>
        <${View} key=${place.view} place=${place} session=${session} notify=${setNotice} />
      </${Shell}>
    </div>
    ${hasEnded && html`<${Login} key="again" begin=${begin} byPassword=${byPassword} hasEnded />`}`;
}

// One view below its heading, which has the focus after a change of place, so that it is read out.
function View({ place, session, notify }) {
  const heading = useRef(null);
  const view = viewOf(place.view);
  const title = view ? texts.titles[view.name] : texts.session.noView;
  useEffect(() => {
    document.title = `${title} – ${texts.name}`;
    if (isMoved) heading.current.focus();
    isMoved = true;
  }, []);
  return html`
    <h1 tabindex="-1" ref=${heading}>${title}</h1>
    ${view && !hasRole(session, view.role) && html`<${Note}>${texts.session.noRole(texts.roles[view.role])}</${Note}>`}
    ${view && hasRole(session, view.role) && html`<${view.of} place=${place} session=${session} notify=${notify} />`}`;
}
let isMoved = false; // whether a view was shown before

render(html`<${Page} />`, document.body);
