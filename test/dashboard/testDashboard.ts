import type { Listening } from '../../src/dashboard/listen.ts';
import { type DashboardOptions, startDashboard } from '../../src/dashboard/server.ts';
import type { TemporalConnection } from '../../src/temporal/client/connection.ts';

/** Bundles the browser's files like the build, so that tests need no build. */
export const { bundlePage: bundlePageFiles } = (await import(
  new URL('../../scripts/build/bundlePage.mjs', import.meta.url).href
)) as { readonly bundlePage: (folder: string) => Promise<unknown> };

/** Starts a dashboard on a free port, with files that were bundled. By default it has no Temporal, and no sign-in. */
export function startTestDashboard(
  folder: string,
  options: Partial<DashboardOptions> = {},
): Promise<Listening> {
  return startDashboard({
    temporal: {} as TemporalConnection,
    home: folder,
    environment: {},
    host: '127.0.0.1',
    port: 0,
    access: { signIn: { way: 'none', user: 'ada' } },
    filesFolder: folder,
    ...options,
  });
}
