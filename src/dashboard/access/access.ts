import type { Hono, MiddlewareHandler } from 'hono';

import type { Viewer } from './viewer.ts';

/** What a request to the dashboard carries once it has passed access. */
export interface PageEnv {
  readonly Variables: { readonly viewer: Viewer };
}

/** How the dashboard finds out who looks. */
export interface Access {
  /** Puts the viewer on the request, or answers it: by a way to sign in, or a refusal. */
  readonly requireViewer: MiddlewareHandler<PageEnv>;
  /** Routes that need no viewer. Absent: none. */
  readonly routes?: Hono<PageEnv>;
}
