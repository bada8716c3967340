import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { expect, it, onTestFinished } from 'vitest';

import { versionText } from '../../src/cli/buildInfo.ts';

function place(content?: string): URL {
  const folder = mkdtempSync(join(tmpdir(), 'slipway-version-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'build.json');
  if (content !== undefined) writeFileSync(file, content);
  return pathToFileURL(file);
}

it.each([
  ['{"commit":"0123456789ab","bundle":"ba9876543210"}', '0.1.0 (commit 0123456789ab, bundle ba9876543210)'],
  ['{"commit":null,"bundle":"ba9876543210"}', '0.1.0 (bundle ba9876543210)'],
  [undefined, '0.1.0'],
])('the version of a build with %s is %s', (content, text) => {
  expect(versionText('0.1.0', place(content))).toBe(text);
});
