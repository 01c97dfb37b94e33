// Lists that filters subscribe to: what was fetched when, and why not.
// SPDX-License-Identifier: Apache-2.0
import { count, shown } from "./format.js";
import { html } from "./html.js";
import { Badge, Table, Text, Time } from "./parts.js";
import { texts } from "./texts.js";

const columns = [
  { title: texts.columns.list, kind: "wide", cell: (list) => html`<${Text} value=${list.url ?? list.name} />` },
  { title: texts.columns.filter, cell: (list) => shown(list.filter ?? list.name) },
  { title: texts.columns.state, cell: (list) => html`<${Badge} kind=${list.error ? "bad" : "good"}>${shown(list.result ?? texts.unknown)}</${Badge}>
    ${list.error && html` <${Text} value=${list.error} />`}` },
  { title: texts.columns.entries, kind: "number", cell: (list) => count(list.entries) },
  { title: texts.columns.fetched, cell: (list) => html`<${Time} time=${list.fetched} />` },
];

export const ListTable = ({ rows }) => html`
  <${Table} caption=${texts.filters.lists} columns=${columns} rows=${rows} keyOf=${(list) => `${list.filter} ${list.url ?? list.name}`}
    empty=${texts.filters.noLists} />`;
