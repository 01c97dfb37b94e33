// Names with how often each was blocked, the most first.
// SPDX-License-Identifier: Apache-2.0
import { count, shown } from "./format.js";
import { html } from "./html.js";
import { Table, Text } from "./parts.js";
import { texts } from "./texts.js";

// `allow`: called with the subject (allow.js) of a host; falsy: names are not hosts, or nothing can be done.
export function TopTable({ title, rows, allow }) {
  const most = Math.max(1, ...rows.map((row) => row.blocked));
  const columns = [
    { title: texts.columns.name, kind: "wide", cell: (row) => html`<${Text} value=${row.name} />` },
    { title: texts.columns.blocked, kind: "number", cell: (row) => html`
      <meter class="bar" min="0" max=${most} value=${row.blocked} aria-hidden="true"></meter>
      <span class="bar-number" title=${row.error > 0 ? texts.top.atMost(count(row.blocked)) : undefined}
        >${row.error > 0 ? "≤ " : ""}${count(row.blocked)}</span>` },
    ...(allow ? [{ title: texts.actions, kind: "actions", cell: (row) => html`
      <button class="small" aria-label=${texts.allow.of(shown(row.name))}
        onClick=${() => allow({ entry: row.name })}>${texts.allow.ellipsis}</button>` }] : []),
  ];
  return html`<${Table} caption=${title} columns=${columns} rows=${rows} keyOf=${(row) => row.name} empty=${texts.top.empty} />`;
}
