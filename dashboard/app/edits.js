// What of the configuration may be edited, asked and changed so that nobody overwrites another's edit unseen.
// SPDX-License-Identifier: Apache-2.0
import { change, getTagged, segment } from "./api.js";
import { shown } from "./format.js";
import { texts } from "./texts.js";
import { useData } from "./use.js";
import { useEffect, useState } from "../vendor/hooks.mjs";

const kSoon = 5000; // milliseconds until it is asked again how far a list has come

const load = async (signal) => {
  const { data, tag } = await getTagged("/edits", signal);
  return { ...data, tag };
};
const isOnItsWay = (list) => list.state === "wanted" || list.state === "building";

// useData() of {tag, enabled, reason, devices, groups, schedules, filters, ...}: the answer with its ETag, asked again while
// a list is on its way.
export function useEdits() {
  const [period, setPeriod] = useState(0);
  const edits = useData(load, [], period);
  const next = edits.data?.lists?.some(isOnItsWay) ? kSoon : 0;
  useEffect(() => setPeriod(next), [next]);
  return edits;
}

const pathOf = (kind, name) => `/edits/${kind}/${segment(name)}`;

// `kind`: devices, groups or schedules. What it says: {item, file, warnings, undo}.
export const put = (edits, kind, name, item) => change("PUT", pathOf(kind, name), item, edits.tag);
// One that was not shown: another of its name stays as it is.
export const putNew = async (edits, kind, name, item) => {
  if (edits[kind].some((each) => each.name === name)) throw Object.assign(new Error(), { status: 1, title: texts.edits.isThere(shown(name)) });
  return put(edits, kind, name, item);
};
export const takeAway = (edits, kind, name) => change("DELETE", pathOf(kind, name), undefined, edits.tag);
// Of what nobody has changed since.
export const takeBack = (undo) => change(undo.method, undo.path, undo.body, undo.if_match);

// Of the catalogue: added by the update service, later.
export const wantList = (edits, name, exceptions) => change("PUT", pathOf("lists", name), { exceptions }, edits.tag);

// Texts between commas, or on lines, without blanks around them.
export const textsIn = (text, separator = ",") => text.split(separator).map((each) => each.trim()).filter(Boolean);

// Groups into which a device can be put: those that ask for clients.
export const groupsForDevices = (edits) => edits.groups.filter((group) => group.clients === "devices" || group.clients?.length > 0).map((group) => group.name);
