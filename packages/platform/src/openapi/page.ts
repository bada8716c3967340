/** The page at `/docs`. Scripts and styles are files of their own: the page's policy lets nothing inline through. */
export const PAGE = `<!doctype html>
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

/** Starts the page. `validatorUrl: null` keeps it from sending the document to a validator on the net. */
export const PAGE_SCRIPT = `window.ui = SwaggerUIBundle({
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

/** A plain bar instead of the package's own, and lines that do not run over the edge of a narrow screen. */
export const PAGE_STYLE = `body { margin: 0; background: #fafafa; }
.swagger-ui .topbar { background: #1b2733; padding: 8px 0; }
.swagger-ui .topbar .link { visibility: hidden; width: 0; }
.swagger-ui .topbar .download-url-wrapper .select-label select { border-color: #6b7a89; }
.swagger-ui .opblock .opblock-summary-path { max-width: none; word-break: break-word; }
noscript { display: block; margin: 2rem; font-family: sans-serif; }
`;
