import type { ErrorHandler, MiddlewareHandler, NotFoundHandler } from 'hono';
import { raw } from 'hono/html';
import { HTTPException } from 'hono/http-exception';
import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';

import { SlipwayError } from '../../domain/errors.ts';
import { AccessRefusal } from '../access/accessRefusal.ts';
import type { PageEnv, Viewer } from '../access/session.ts';
import type { PageFiles } from '../pageFiles.ts';

const PARTS = [
  { name: 'Targets', path: '/' },
  { name: 'Promotions', path: '/promotions' },
  { name: 'History', path: '/history' },
] as const;

export type PartName = (typeof PARTS)[number]['name'];

interface PageProps {
  readonly title: string;
  /** The part that the page belongs to. Absent: none. */
  readonly part?: PartName;
  /** The address of the page's change stream. Absent: the page does not change. */
  readonly live?: string;
  /** `false`: something has not been read yet, so a browser without the script reloads the page. Default: `true`. */
  readonly isWhole?: boolean;
  readonly charts?: boolean;
}

declare module 'hono' {
  interface ContextRenderer {
    (content: Child, props: PageProps): Response;
  }
}

/** Middleware that lets handlers render pages: `c.render(content, { title })`. */
export function renderPages(files: PageFiles): MiddlewareHandler<PageEnv> {
  return async (c, next) => {
    c.setRenderer((content, props) => {
      const page = (
        <Layout {...props} files={files} viewer={c.get('viewer')}>
          {content}
        </Layout>
      );
      return c.html(raw(`<!doctype html>${renderText(page)}`));
    });
    await next();
  };
}

interface LayoutProps extends PageProps {
  readonly files: PageFiles;
  /** Absent: the viewer has not signed in. */
  readonly viewer: Viewer | undefined;
  readonly children?: Child;
}

function Layout({ title, files, viewer, part, live, isWhole = true, charts = false, children }: LayoutProps) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{`${title} · Slipway`}</title>
        <link rel="icon" href={ICON} />
        <link rel="stylesheet" href={files.address('page.css')} />
        <script type="module" src={files.address('page.js')}></script>
        {charts && (
          <>
            <link rel="stylesheet" href={files.address('charts.css')} />
            <script type="module" src={files.address('charts.js')}></script>
          </>
        )}
        {!isWhole && (
          <noscript>
            <meta http-equiv="refresh" content="2" />
          </noscript>
        )}
      </head>
      <body data-live={live} data-version={files.version} data-now={Date.now()}>
        <a class="skip" href="#content">
          Skip to content
        </a>
        <header class="top">
          <a class="brand" href="/">
            Slipway
          </a>
          {viewer && (
            <>
              <nav aria-label="Main">
                {PARTS.map(({ name, path }) => (
                  <a href={path} aria-current={name === part ? 'page' : undefined}>
                    {name}
                  </a>
                ))}
              </nav>
              <p class="viewer">
                <span class="quiet">{viewer.proved ? 'Signed in as' : 'You are'}</span>{' '}
                <a href="/you">{viewer.name}</a>
              </p>
            </>
          )}
        </header>
        <main id="content" tabindex={-1}>
          {children}
        </main>
        <p id="connection" class="connection" role="status" hidden>
          Not connected. This data may be old. Reconnecting …
        </p>
        <p id="announcer" class="unseen" role="status" aria-live="polite"></p>
      </body>
    </html>
  );
}

/** Two strokes of a slipway, in the page's accent color. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 12 14 4M2 15 14 15' stroke='%232f6fde' stroke-width='2.4' stroke-linecap='round'/%3E%3C/svg%3E";

/** Renders an element as text. Components of the dashboard are synchronous: their data has been read before. */
export function renderText(element: JSX.Element): string {
  if (element instanceof Promise) throw new Error('a component of the dashboard waits for something');
  return element.toString();
}

export const problemPage: ErrorHandler<PageEnv> = (error, c) => {
  if (error instanceof HTTPException) return error.getResponse();
  const known = error instanceof SlipwayError;
  const refusal = error instanceof AccessRefusal ? error : undefined;
  if (refusal?.retryAfterSeconds !== undefined) c.header('Retry-After', String(refusal.retryAfterSeconds));
  if (!known) process.stderr.write(`${error.stack ?? error.message}\n`);
  const title = known ? error.message : 'The dashboard failed with an unexpected error';
  const { written = '' } = refusal ?? {};
  const hint = known ? error.hint : 'The log of the dashboard has the error.';
  c.status(refusal?.status ?? (known ? 503 : 500));
  return c.render(
    <section class="problem">
      <h1>{title}</h1>
      {hint && <p>{hint}</p>}
      {known && <p class="quiet">{error.code}</p>}
      {written !== '' && (
        <label class="reason">
          Your reason, to copy
          <textarea readonly rows={3}>
            {written}
          </textarea>
        </label>
      )}
      <p>
        {refusal?.signIn === undefined ? (
          <a href="" target={written === '' ? undefined : '_blank'}>
            Try again
          </a>
        ) : (
          <a href={refusal.signIn}>Sign in</a>
        )}
      </p>
    </section>,
    { title: 'Problem' },
  );
};

export const unknownPage: NotFoundHandler<PageEnv> = (c) => {
  c.status(404);
  return c.render(
    <section class="problem">
      <h1>There is no such page</h1>
      <p>
        <a href="/">All targets</a>
      </p>
    </section>,
    { title: 'Not found' },
  );
};
