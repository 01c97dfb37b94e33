// The views in the order of the menu, and the least role for each.
// SPDX-License-Identifier: Apache-2.0
import { Audit } from "../views/audit.js";
import { Check } from "../views/check.js";
import { Clients } from "../views/clients.js";
import { Edits } from "../views/edits.js";
import { Exceptions } from "../views/exceptions.js";
import { Filters } from "../views/filters.js";
import { Groups } from "../views/groups.js";
import { Live } from "../views/live.js";
import { Now } from "../views/now.js";
import { Reloads } from "../views/reloads.js";
import { Reports } from "../views/reports.js";
import { Search } from "../views/search.js";
import { Tokens } from "../views/tokens.js";
import { Top } from "../views/top.js";

export const sections = [
  { name: "watch", views: [
    { name: "now", role: "viewer", of: Now },
    { name: "top", role: "viewer", of: Top },
    { name: "live", role: "operator", of: Live },
    { name: "search", role: "operator", of: Search },
    { name: "clients", role: "operator", of: Clients },
  ] },
  { name: "decide", views: [
    { name: "reports", role: "reviewer", of: Reports },
    { name: "exceptions", role: "reviewer", of: Exceptions },
    { name: "groups", role: "viewer", of: Groups },
    { name: "edits", role: "admin", of: Edits },
    { name: "check", role: "reviewer", of: Check },
  ] },
  { name: "run", views: [
    { name: "filters", role: "viewer", of: Filters },
    { name: "reloads", role: "operator", of: Reloads },
    { name: "tokens", role: "admin", of: Tokens },
    { name: "audit", role: "admin", of: Audit },
  ] },
];

const views = sections.flatMap((section) => section.views);
export const viewOf = (name) => (name ? views.find((view) => view.name === name) : views[0]);
