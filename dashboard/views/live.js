// Requests as they end. The newest is on top; so many are kept, and a busy proxy sends no more than so many a second.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "../vendor/hooks.mjs";
import { AllowDialog } from "../app/allow.js";
import { pathOf } from "../app/api.js";
import { count } from "../app/format.js";
import { html } from "../app/html.js";
import { Choice, Input, Panel } from "../app/parts.js";
import { RequestTable } from "../app/request_table.js";
import { texts } from "../app/texts.js";
import { useHold } from "../app/use.js";

const kept = 200; // rows
const showPeriod = 250; // milliseconds: rows that come sooner are shown together

export function Live({ session, notify }) {
  const [decision, setDecision] = useState("");
  const [isPaused, setPaused] = useState(false);
  const [sought, setSought] = useState("");
  const [subject, setSubject] = useState(null);
  const [held, handlers] = useHold();
  const stream = useStream(decision, isPaused, held);
  const done = (notice) => {
    setSubject(null);
    notify(notice);
  };
  const matches = (request) => JSON.stringify([request.url, request.host, request.client, request.user, request.group, request.filter])
    .toLowerCase().includes(sought.toLowerCase());
  return html`
    <div class="toolbar">
      <${Input} label=${texts.live.find} type="search" value=${sought} onChange=${setSought} />
      <${Choice} label=${texts.columns.decision} value=${decision} options=${[["", texts.live.all], ["blocked", texts.live.onlyBlocked]]}
        onChange=${setDecision} />
      <button aria-pressed=${isPaused ? "true" : "false"}
        onClick=${() => setPaused(!isPaused)}>${isPaused ? texts.live.resume : texts.live.pause}</button>
    </div>
    <p class="quiet">${stream.state}${stream.skipped > 0 && ` ${texts.live.skipped(count(stream.skipped))}`}</p>
    <${Panel} ...${handlers}><${RequestTable} caption=${texts.titles.live} requests=${stream.rows.filter(matches)} empty=${texts.live.empty}
      allow=${setSubject} isLive /></${Panel}>
    ${subject && html`<${AllowDialog} subject=${subject} session=${session} onClose=${() => setSubject(null)} onDone=${done} />`}`;
}

// The rows of the stream; while it is paused, or the reader is on them (`isOn`), they wait, as many as are kept.
function useStream(decision, isPaused, isOn) {
  const [rows, setRows] = useState([]);
  const [skipped, setSkipped] = useState(0);
  const [state, setState] = useState(texts.live.connecting);
  const [held, setHeld] = useState(0);
  const waiting = useRef([]);
  useEffect(() => {
    setRows([]);
    setSkipped(0);
    waiting.current = [];
    const source = new EventSource(pathOf("/stream", { decision }));
    source.addEventListener("open", () => setState(texts.live.connected));
    source.addEventListener("error", () => setState(source.readyState === EventSource.CLOSED ? texts.live.refused : texts.live.broken));
    source.addEventListener("request", (event) => {
      waiting.current = [JSON.parse(event.data), ...waiting.current].slice(0, kept);
    });
    source.addEventListener("skipped", (event) => setSkipped((before) => before + JSON.parse(event.data).requests));
    return () => source.close();
  }, [decision]);
  useEffect(() => {
    const timer = setInterval(() => {
      const waits = isPaused || isOn.current;
      setHeld(waits ? waiting.current.length : 0);
      if (waits || waiting.current.length === 0) return;
      const fresh = waiting.current;
      waiting.current = [];
      setRows((before) => [...fresh, ...before].slice(0, kept));
    }, showPeriod);
    return () => clearInterval(timer);
  }, [isPaused, decision]);
  return { rows, skipped, state: isPaused || held > 0 ? texts.live.paused(count(held)) : state };
}
