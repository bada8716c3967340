import { Hono } from 'hono';

import { listTargets } from '../../temporal/client/target/listTargets.ts';
import type { PageEnv } from '../access/access.ts';
import { document } from '../page/html.ts';
import { targetAddress } from '../page/addresses.ts';
import { Layout } from '../page/layout.tsx';
import type { PageContext } from '../pageContext.ts';

/** The pages of targets. */
export function targetRoutes({ temporal, files }: PageContext): Hono<PageEnv> {
  const routes = new Hono<PageEnv>();
  routes.get('/', async (c) => {
    const targets = await listTargets(temporal);
    return c.html(
      document(
        <Layout title="Targets" part="Targets" files={files} viewer={c.get('viewer')}>
          <h1>Targets</h1>
          <ul>
            {targets.map(({ workflowId, name }) => (
              <li>
                <a href={targetAddress(workflowId)}>{name}</a>
              </li>
            ))}
          </ul>
        </Layout>,
      ),
    );
  });
  return routes;
}
