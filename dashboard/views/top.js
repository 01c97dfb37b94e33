// What was blocked most, of an hour or a day.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { AllowDialog } from "../app/allow.js";
import { get } from "../app/api.js";
import { html } from "../app/html.js";
import { Card, Choice, Loaded } from "../app/parts.js";
import { hasRole } from "../app/roles.js";
import { texts } from "../app/texts.js";
import { TopTable } from "../app/top_table.js";
import { useData, useHold } from "../app/use.js";

const period = 10_000; // milliseconds

export function Top({ session, notify }) {
  const [span, setSpan] = useState("1h");
  const [subject, setSubject] = useState(null);
  const [held, handlers] = useHold();
  const tops = useData((signal) => get("/tops", { span }, signal), [span], period, held);
  const allow = hasRole(session, "reviewer") && setSubject;
  const done = (notice) => {
    setSubject(null);
    notify(notice);
  };
  return html`
    <${Choice} label=${texts.top.span} value=${span} options=${Object.entries(texts.spans)} onChange=${setSpan} />
    <${Loaded} from=${tops}>${(data) => html`
      <div class="columns tops" ...${handlers}>
        ${["hosts", "filters", "groups", "clients"].filter((kind) => data[kind]).map((kind) => html`
          <${Card} key=${kind} title=${texts.top[kind]} id=${`top-${kind}`}>
            <${TopTable} title=${texts.top[kind]} rows=${data[kind]} allow=${kind === "hosts" && allow} />
          </${Card}>`)}
      </div>`}</${Loaded}>
    ${subject && html`<${AllowDialog} subject=${subject} session=${session} onClose=${() => setSubject(null)} onDone=${done} />`}`;
}
