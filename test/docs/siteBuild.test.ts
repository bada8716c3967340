import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

import { expect, it } from 'vitest';

import { pages } from './pages.ts';
import { temporaryFolder } from '../support/temporaryFolder.ts';

const PAGES = pages();
const DOCS = fileURLToPath(new URL('../../docs', import.meta.url));
const VITEPRESS = fileURLToPath(new URL('../../node_modules/vitepress/bin/vitepress.js', import.meta.url));
/** Resources that a page loads itself: scripts, styles, pictures, fonts. */
const LOADED = /<(?:script|img|link)\b[^>]*\b(?:src|href)="(https?:[^"]+)"/g;

it('the site is built, a page for each, and loads nothing from other origins', async () => {
  const out = await temporaryFolder();
  await promisify(execFile)(process.execPath, [VITEPRESS, 'build', DOCS, '--outDir', out]);
  const files = await readdir(out, { recursive: true });
  const html = PAGES.map(({ path }) => path.replace(/md$/, 'html'));
  expect(files).toEqual(expect.arrayContaining([...html, 'slipway.schema.json', 'json-events.schema.json']));
  const texts = await Promise.all(html.map((file) => readFile(join(out, file), 'utf8')));
  expect(texts.flatMap((text) => [...text.matchAll(LOADED)].map(([, address]) => address))).toEqual([]);
});
