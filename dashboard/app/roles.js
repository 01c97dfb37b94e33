// Roles: each may do what those before it may.
// SPDX-License-Identifier: Apache-2.0
const roles = ["viewer", "reviewer", "operator", "admin"];
export const hasRole = (session, least) => roles.indexOf(session.role) >= roles.indexOf(least);
