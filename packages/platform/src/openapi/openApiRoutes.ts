import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { Hono } from 'hono';

import { controlPlaneDocument, runApiDocument } from './document.ts';

/** The files from the package `swagger-ui-dist`, with their content types. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** The page loads from and sends to the platform only. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** The build copies the files, because the package is not installed with the platform. */
const COPIED = fileURLToPath(new URL('../swagger-ui', import.meta.url));
const FOLDER = existsSync(COPIED)
  ? COPIED
  : dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

/**
 * The OpenAPI documents, and a page for people: `/openapi.json` (control plane), `/openapi/run-api.json`, `/docs`.
 * Decision: they need no key, because they contain nothing beyond the published contract; the page asks for a key to
 * try a request.
 */
export function openApiRoutes(): Hono {
  const app = new Hono();
  const documents = {
    '/openapi.json': once(() => JSON.stringify(controlPlaneDocument())),
    '/openapi/run-api.json': once(() => JSON.stringify(runApiDocument())),
  };
  for (const [path, text] of Object.entries(documents)) {
    app.get(path, (c) => c.body(text(), 200, headersOf('application/json')));
  }
  const texts = {
    '/docs': [PAGE, 'text/html; charset=utf-8'],
    '/docs/page.css': [PAGE_STYLE, 'text/css; charset=utf-8'],
    '/docs/page.js': [PAGE_SCRIPT, 'text/javascript; charset=utf-8'],
  } as const;
  for (const [path, [text, type]] of Object.entries(texts)) {
    app.get(path, (c) =>
      c.body(text, 200, { ...headersOf(type), 'content-security-policy': CONTENT_SECURITY_POLICY }),
    );
  }
  for (const [name, type] of Object.entries(ASSETS)) {
    app.get(`/docs/${name}`, async (c) =>
      c.body(new Uint8Array(await readFile(join(FOLDER, name))), 200, headersOf(type)),
    );
  }
  return app;
}

function headersOf(type: string): Record<string, string> {
  return {
    'content-type': type,
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}

/** Made on first use: a platform whose documents are never read pays nothing. */
function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** The page at `/docs`. Scripts and styles are separate files, because the page's policy forbids inline ones. */
const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Slipway API</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
    <link rel="stylesheet" href="/docs/swagger-ui.css">
    <link rel="stylesheet" href="/docs/page.css">
  </head>
  <body>
    <div id="api"></div>
    <noscript>This page needs JavaScript. The documents themselves are at <a href="/openapi.json">/openapi.json</a> and
      <a href="/openapi/run-api.json">/openapi/run-api.json</a>.</noscript>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/swagger-ui-standalone-preset.js"></script>
    <script src="/docs/page.js"></script>
  </body>
</html>
`;

/** Starts the page. `validatorUrl: null` keeps it from sending the document to a validator on the internet. */
const PAGE_SCRIPT = `window.ui = SwaggerUIBundle({
  dom_id: '#api',
  urls: [
    { name: 'Control plane', url: '/openapi.json' },
    { name: 'Run API', url: '/openapi/run-api.json' },
  ],
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: 'StandaloneLayout',
  deepLinking: true,
  validatorUrl: null,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  persistAuthorization: false,
});
`;

/** Replaces the package's bar with a plain one, and wraps long lines on narrow screens. */
const PAGE_STYLE = `body { margin: 0; background: #fafafa; }
.swagger-ui .topbar { background: #1b2733; padding: 8px 0; }
.swagger-ui .topbar .link { visibility: hidden; width: 0; }
.swagger-ui .topbar .download-url-wrapper .select-label select { border-color: #6b7a89; }
.swagger-ui .opblock .opblock-summary-path { max-width: none; word-break: break-word; }
noscript { display: block; margin: 2rem; font-family: sans-serif; }
`;
