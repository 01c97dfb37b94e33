// The last reloads and what each said.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { get, run } from "../app/api.js";
import { html } from "../app/html.js";
import { shown } from "../app/format.js";
import { Badge, Loaded, Panel, problemText, Table, Text, Time } from "../app/parts.js";
import { texts } from "../app/texts.js";
import { useData } from "../app/use.js";

const period = 15_000; // milliseconds

const Lines = ({ lines }) => html`<ul class="plain-list">${lines.map((line, i) => html`<li key=${i}><${Text} value=${line} /></li>`)}</ul>`;

const columns = [
  { title: texts.columns.time, kind: "time", cell: (reload) => html`<${Time} time=${reload.at} />` },
  { title: texts.columns.state, cell: (reload) => html`<${Badge}
    kind=${reload.ok ? "good" : "bad"}>${reload.ok ? texts.reloads.ok : texts.reloads.refused}</${Badge}>` },
  { title: texts.columns.messages, kind: "wide", cell: (reload) => html`<${Lines} lines=${reload.lines} />
    ${reload.warnings.length > 0 && html`<p><${Badge} kind="warn">${texts.reloads.warnings}</${Badge}></p><${Lines} lines=${reload.warnings} />`}` },
];

export function Reloads({ notify }) {
  const reloads = useData((signal) => get("/reloads", {}, signal), [], period);
  const [isBusy, setBusy] = useState(false);
  const reload = async () => {
    setBusy(true);
    try {
      const isDone = (await run("/reload")).at(-1)?.exit_status === 0;
      notify({ kind: isDone ? "good" : "bad", text: isDone ? texts.reloads.done : texts.reloads.failed });
    } catch (error) {
      notify({ kind: "bad", text: problemText(error) });
    }
    setBusy(false);
    reloads.reload();
  };
  return html`
    <div class="toolbar"><button class="primary" disabled=${isBusy}
      onClick=${reload}>${isBusy ? texts.reloads.reloading : texts.reloads.reload}</button></div>
    <${Loaded} from=${reloads}>${(data) => html`<${Panel}><${Table} caption=${texts.titles.reloads} columns=${columns}
      rows=${data.items.map((item, i) => ({ ...item, i: data.items.length - i }))}
      keyOf=${(item) => `${item.at} ${item.i}`} empty=${texts.reloads.empty} /></${Panel}>`}</${Loaded}>`;
}
