export const MINI = false;
