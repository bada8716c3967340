// The files of the page `/docs`. The platform includes them, because their package reports its installations.
import { cpSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

import { PACKAGES } from './freshness.mjs';

const FILES = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui-standalone-preset.js',
  'swagger-ui-standalone-preset.js.LICENSE.txt',
  'favicon-32x32.png',
  'LICENSE',
  'NOTICE',
];

/** Copies them to the platform's `dist/swagger-ui`, where `openApiRoutes.ts` looks first. */
export function copyApiPage() {
  const from = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const to = join(PACKAGES.platform.dist, 'swagger-ui');
  mkdirSync(to, { recursive: true });
  for (const name of FILES) cpSync(join(from, name), join(to, name));
}
