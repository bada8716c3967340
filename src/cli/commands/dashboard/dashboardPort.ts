/** The dashboard's default port: the control plane's plus 1. */
export const DASHBOARD_PORT = 4701;
