/** The hooks' usual port, next to the page's. */
export const HOOKS_PORT = 4702;
