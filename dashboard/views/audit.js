// Who changed what, when and why. Nobody can change it.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { get } from "../app/api.js";
import { shown, timeIn } from "../app/format.js";
import { html } from "../app/html.js";
import { Choice, Note, Panel, problemText, Table, Text, Time } from "../app/parts.js";
import { texts } from "../app/texts.js";

const spans = [["day", texts.lifetimes.day, 86_400], ["week", texts.lifetimes.week, 7 * 86_400], ["", texts.audit.allTime, 0]];

const Json = ({ title, value }) => value && html`<div><dt>${title}</dt><dd><code class="text">${shown(JSON.stringify(value))}</code></dd></div>`;

// What the row is about; the audit itself names exceptions and reports by their numbers.
function subjectOf(row) {
  const item = row.after ?? row.before ?? {};
  return item.entry ?? item.url ?? (item.switch ? `${item.group}: ${item.switch}` : row.subject);
}

const columns = [
  { title: texts.columns.time, kind: "time", cell: (row) => html`<${Time} time=${row.at} />` },
  { title: texts.columns.what, cell: (row) => texts.audit.whats[row.what] ?? shown(row.what) },
  { title: texts.columns.subject, kind: "wide", cell: (row) => html`<${Text} value=${subjectOf(row)} />
    ${(row.before || row.after) && html`<details><summary>${texts.audit.details}</summary>
      <dl class="facts"><${Json} title=${texts.audit.before} value=${row.before} /><${Json} title=${texts.audit.after}
        value=${row.after} /></dl></details>`}` },
  { title: texts.columns.why, cell: (row) => html`<${Text}
    value=${row.why} />${row.report && html` <small>${texts.exceptions.report(row.report)}</small>`}` },
  { title: texts.columns.who, cell: (row) => html`<span class="text">${shown(row.who)}</span> <small>${shown(row.via)}</small>` },
];

export function Audit() {
  const [span, setSpan] = useState("week");
  return html`
    <${Choice} label=${texts.audit.since} value=${span} options=${spans} onChange=${setSpan} />
    <${Rows} key=${span} seconds=${spans.find(([name]) => name === span)[2]} />`;
}

function Rows({ seconds }) {
  const [found, setFound] = useState(null);
  const [error, setError] = useState(null);
  const stop = useRef(null);
  const since = useRef(seconds ? timeIn(-seconds) : undefined);
  const ask = async (cursor) => {
    setError(null);
    try {
      const page = await get("/audit", { since: since.current, cursor }, stop.current.signal);
      setFound((before) => ({ items: [...(before?.items ?? []), ...page.items], next: page.next }));
    } catch (failed) {
      if (!stop.current.signal.aborted) setError(failed);
    }
  };
  useEffect(() => {
    stop.current = new AbortController();
    ask();
    return () => stop.current.abort();
  }, []);
  return html`
    ${error && html`<${Note} kind="bad">${problemText(error)}</${Note}>`}
    ${!found && !error && html`<p class="quiet" role="status">${texts.loading}</p>`}
    ${found && html`<${Panel}><${Table} caption=${texts.titles.audit} columns=${columns} rows=${found.items} keyOf=${(row) => row.id}
      empty=${texts.audit.empty} /></${Panel}>`}
    ${found?.next && html`<button onClick=${() => ask(found.next)}>${texts.more}</button>`}`;
}
