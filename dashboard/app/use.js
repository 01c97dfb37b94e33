// Hooks that views have in common.
// SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "../vendor/hooks.mjs";

// What load(signal) gives, asked again when one of `inputs` changes, by reload(), and each `period` milliseconds while the
// page is looked at and nothing is held (useHold). Of {data, error, isLoading, reload} `data` stays what it was while a
// later question is under way.
export function useData(load, inputs, period = 0, held = null) {
  const [state, setState] = useState({ data: null, error: null, isLoading: true });
  const [turn, setTurn] = useState(0);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  const asked = useRef(null); // the inputs that `data` is of
  useEffect(() => {
    const stop = new AbortController();
    const isOther = asked.current !== JSON.stringify(inputs);
    setState((before) => ({ data: isOther ? null : before.data, error: isOther ? null : before.error, isLoading: true }));
    asked.current = JSON.stringify(inputs);
    let timer = null;
    let isFirst = true;
    const next = () => {
      if (period && !stop.signal.aborted) timer = setTimeout(again, period);
    };
    const again = async () => {
      if ((document.hidden || held?.current) && !isFirst) return next();
      isFirst = false;
      try {
        const data = await load(stop.signal);
        if (!stop.signal.aborted) setState({ data, error: null, isLoading: false });
      } catch (error) {
        if (!stop.signal.aborted) setState((before) => ({ data: error.isMissing ? null : before.data, error, isLoading: false }));
        if (error.isMissing || error.status === 401) return;
      }
      next();
    };
    again();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [...inputs, turn, period]);
  useEffect(() => {
    waiting.add(reload);
    return () => waiting.delete(reload);
  }, []);
  return { ...state, reload };
}

// What asks again once somebody has signed in, since it was told that nobody was.
const waiting = new Set();
export const askAgain = () => waiting.forEach((reload) => reload());

// Of a list that comes in pages: the first page as useData() gives it, and what more() has added behind it, which a change
// of the inputs takes away. `load(query, signal)` asks for one page.
export function usePages(load, inputs, period = 0, held = null) {
  const first = useData((signal) => load({}, signal), inputs, period, held);
  const [older, setOlder] = useState({ of: "", items: [] });
  const key = JSON.stringify(inputs);
  const behind = older.of === key ? older : { of: key, items: [] };
  const next = behind.next === undefined ? first.data?.next : behind.next;
  const more = async () => {
    const page = await load({ cursor: next });
    setOlder({ of: key, items: [...behind.items, ...page.items], next: page.next });
  };
  const reload = () => {
    setOlder({ of: "", items: [] });
    first.reload();
  };
  const data = first.data && { ...first.data, items: [...first.data.items, ...behind.items], next };
  return { ...first, data, reload, more };
}

// A text once it has not changed for a while, as what is typed: for questions to the proxy.
export function useSettled(value, wait = 300) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), wait);
    return () => clearTimeout(timer);
  }, [value, wait]);
  return settled;
}

// For rows that have buttons: they must not move away under the pointer or the keyboard's focus. Gives [held, handlers]: a
// reference that is true meanwhile, and what the element around the rows takes.
export function useHold() {
  const held = useRef(false);
  const state = useRef({ pointer: false, focus: false });
  const note = (name, value) => {
    state.current[name] = value;
    held.current = state.current.pointer || state.current.focus;
  };
  const handlers = {
    onPointerEnter: () => note("pointer", true),
    onPointerLeave: () => note("pointer", false),
    onFocusIn: (event) => note("focus", event.target.matches(":focus-visible")),
    onFocusOut: () => note("focus", false),
  };
  return [held, handlers];
}

const rowsIn = (container) => [...(container?.querySelectorAll("tbody tr, li") ?? [])];

// Where an element stands among rows (useKeptFocus); null: it is in none.
export function placeAmongRows(element) {
  const container = element?.closest(".rows");
  return container ? { container, index: Math.max(0, rowsIn(container).indexOf(element.closest("tr, li"))) } : null;
}

// Gives the focus to what can be pressed in the row of that index, else in the next one, else in the one before, else to the heading.
export function focusRow(place) {
  const all = rowsIn(place?.container);
  const ordered = [...all.slice(place?.index ?? 0), ...all.slice(0, place?.index ?? 0).reverse()];
  const first = (what) => ordered.map((row) => row.querySelector(what)).find((control) => control);
  (first("button:not(.unfold)") ?? first("a") ?? document.querySelector("h1"))?.focus();
}

// The focus stays among rows: when the control that has it goes, with its row or alone, the control of the next row gets
// it, else that of the last one. Gives what the element around the rows takes.
export function useKeptFocus() {
  const rows = useRef(null);
  const last = useRef(null); // {element, place}: what has the focus, and where that is
  useLayoutEffect(() => {
    const gone = last.current;
    if (!gone || gone.element.isConnected || (document.activeElement && document.activeElement !== document.body)) return;
    last.current = null;
    focusRow({ ...gone.place, container: rows.current });
  });
  const onFocusIn = (event) => {
    last.current = { element: event.target, place: placeAmongRows(event.target) };
  };
  const onFocusOut = (event) => {
    const { target } = event;
    setTimeout(() => { // one that is being taken away is still there now
      if (last.current?.element === target && target.isConnected && document.activeElement !== target) last.current = null;
    });
  };
  return { ref: rows, onFocusIn, onFocusOut };
}

// The place in "#/search?host=example.com": its view, and what stands behind the question mark.
function placeOf(hash) {
  const [view, query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  return { view, query: new URLSearchParams(query), key: hash };
}

export function usePlace() {
  const [place, setPlace] = useState(() => placeOf(location.hash));
  useEffect(() => {
    const changed = () => setPlace(placeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place;
}

export const addressOf = (view, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value);
  return `#/${view}` + (given.length ? "?" + new URLSearchParams(given) : "");
};

// Whether a media query holds now.
export function useMedia(query) {
  const [matches, setMatches] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const media = matchMedia(query);
    const changed = () => setMatches(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, [query]);
  return matches;
}
