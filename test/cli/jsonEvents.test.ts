import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

const docs = readFileSync(fileURLToPath(new URL('../../docs/json.md', import.meta.url)), 'utf8');
const folder = fileURLToPath(new URL('../../src/cli/', import.meta.url));

/** Every event that the code of the command names. */
const events = new Set(
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .flatMap((path) => [...readFileSync(`${folder}${path}`, 'utf8').matchAll(/\bevent: '(\w+)'/g)])
    .map(([, event]) => event ?? ''),
);

describe('docs/json.md', () => {
  it.each([...events].sort())('describes the event %s', (event) => {
    expect([`\`${event}\``, `"event":"${event}"`].some((told) => docs.includes(told))).toBe(true);
  });

  it('is held against all of them', () => {
    expect(events.size).toBeGreaterThan(20);
  });
});
