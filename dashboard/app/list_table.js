// Filters that are made of lists: what was fetched and built when, what a guard refused, and when it is tried again.
// SPDX-License-Identifier: Apache-2.0
import { bytes, count, shown } from "./format.js";
import { html } from "./html.js";
import { Badge, Empty, Table, Text, Time } from "./parts.js";
import { texts } from "./texts.js";

const kinds = { none: "plain", built: "good", updated: "good", unchanged: "good", failed: "warn", refused: "bad" };

const Result = ({ of }) => html`<${Badge} kind=${kinds[of.result] ?? "plain"}>${texts.filters.results[of.result] ?? shown(of.result)}</${Badge}>`;
const Reason = ({ of }) => html`
  ${of.guard && html`<small class="own-line">${texts.filters.guard(shown(of.guard))}</small>`}
  ${of.message && html`<small class="own-line"><${Text} value=${of.message} /></small>`}
  ${of.loss && html`<small class="own-line"><${Text} value=${of.loss} /></small>`}`;

const columns = [
  { title: texts.columns.list, kind: "wide", cell: (list) => html`<${Text} value=${list.url} />` },
  { title: texts.columns.state, kind: "middle", cell: (list) => html`<${Result} of=${list} /><${Reason} of=${list} />` },
  { title: texts.columns.entries, kind: "number", cell: (list) => count(list.entries) },
  { title: texts.columns.size, kind: "number", cell: (list) => bytes(list.bytes) },
  { title: texts.columns.fetched, cell: (list) => html`<${Time} time=${list.succeeded} />` },
  { title: texts.columns.next, cell: (list) => html`<${Time} time=${list.due} otherwise=${texts.unknown} />` },
];

// `force`: called with a filter that a guard has refused.
export function FilterLists({ rows, force }) {
  if (rows.length === 0) return html`<${Empty}>${texts.filters.noLists}</${Empty}>`;
  return rows.map((filter) => html`
    <div key=${filter.filter} class="of-filter">
      <h3>${shown(filter.filter)} <${Result} of=${filter} /> ${filter.stale && html`<${Badge} kind="warn">${texts.filters.stale}</${Badge}>`}</h3>
      <p><${Reason} of=${filter} /></p>
      <p class="quiet">${texts.filters.lastBuilt}<${Time} time=${filter.built} />
        ${filter.result === "refused" && html` <button class="small" aria-label=${texts.filters.forceOf(shown(filter.filter))}
          onClick=${() => force(filter)}>${texts.filters.force} …</button>`}</p>
      <${Table} caption=${texts.filters.listsOf(shown(filter.filter))} columns=${columns} rows=${filter.sources} keyOf=${(list) => list.url} />
    </div>`);
}
