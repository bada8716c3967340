/** The dashboard's usual port, next to the control plane's. */
export const DASHBOARD_PORT = 4701;
