// The filters that are served, and the lists that they are built from.
// SPDX-License-Identifier: Apache-2.0
import { useState } from "../vendor/hooks.mjs";
import { change, get } from "../app/api.js";
import { bytes, count, oneIn, shown } from "../app/format.js";
import { html } from "../app/html.js";
import { FilterLists } from "../app/list_table.js";
import { Badge, Card, FormDialog, Loaded, Panel, problemText, Table, Text, Time } from "../app/parts.js";
import { hasRole } from "../app/roles.js";
import { texts } from "../app/texts.js";
import { useData } from "../app/use.js";

const period = 30_000; // milliseconds

const columns = [
  { title: texts.columns.name, kind: "wide", cell: (filter) => html`<strong>${shown(filter.name)}</strong> <small
    class="own-line"><${Text} value=${filter.file} /></small>` },
  { title: texts.columns.action, cell: (filter) => texts.values[filter.action] ?? shown(filter.action) },
  { title: texts.columns.state, cell: (filter) => html`
    <${Badge} kind=${filter.lost ? "bad" : "good"}>${filter.lost ? texts.filters.lost : texts.filters.serving}</${Badge}>
    ${filter.fallback && html` <${Badge} kind="bad">${texts.filters.lastGood}</${Badge}>
      ${filter.fallback.why.map((why) => html` <small class="own-line"><${Text} value=${why} /></small>`)}`}
    ${filter.rebuild_due && html` <${Badge} kind="warn">${texts.filters.rebuild}</${Badge}>`}
    ${filter.exceptions === "refused" && html` <small>${texts.filters.noExceptions}</small>`}` },
  { title: texts.columns.entries, kind: "number", cell: (filter) => count(filter.entries) },
  { title: texts.columns.changes, kind: "number", cell: (filter) => count(filter.delta_entries) },
  { title: texts.columns.size, kind: "number", cell: (filter) => bytes(filter.bytes) },
  { title: texts.columns.age, cell: (filter) => html`<${Time} time=${filter.created} />` },
  { title: texts.columns.error, cell: (filter) => oneIn(filter.predicted_error.unlisted_host) },
];

export function Filters({ session, notify }) {
  const filters = useData((signal) => get("/filters", {}, signal), [], period);
  return html`
    <${Loaded} from=${filters}>${(data) => html`<${Panel}>
      <${Table} caption=${texts.titles.filters} columns=${columns} rows=${data.items} keyOf=${(filter) => filter.name} />
    </${Panel}>`}</${Loaded}>
    ${hasRole(session, "operator") && html`<${Lists} notify=${notify} />`}`;
}

// Updates run beside the proxy; what is pressed here asks for one.
function Lists({ notify }) {
  const lists = useData((signal) => get("/lists", {}, signal), [], period);
  const [forced, setForced] = useState(null);
  const ask = async (wish) => {
    await change("POST", "/update", wish);
    notify({ kind: "good", text: texts.filters.asked });
  };
  const update = () => ask({}).catch((error) => notify({ kind: "bad", text: problemText(error) }));
  const force = async () => {
    await ask({ filters: [forced.filter], force: true });
    setForced(null);
  };
  const aside = lists.data?.items.length > 0 && html`<button class="small" onClick=${update}>${texts.filters.update}</button>`;
  return html`
    <${Card} title=${texts.filters.lists} id="lists" aside=${aside}>
      <${Loaded} from=${lists}>${(data) => html`<${FilterLists} rows=${data.items} force=${setForced} />`}</${Loaded}>
    </${Card}>
    ${forced && html`<${FormDialog} title=${texts.filters.forceOf(shown(forced.filter))} verb=${texts.filters.force} kind="danger" submit=${force}
      onClose=${() => setForced(null)}>
      <p>${texts.filters.forceText}</p>
      <p><${Text} value=${[forced.guard, forced.message, ...forced.sources.map((list) => list.message)].filter(Boolean).join(" · ")} /></p>
    </${FormDialog}>`}`;
}
