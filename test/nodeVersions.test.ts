import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';
import { parse } from 'yaml';

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8');

const TESTED = (
  parse(read('.github/workflows/test.yml')) as {
    jobs: { test: { strategy: { matrix: { node: readonly string[] } } } };
  }
).jobs.test.strategy.matrix.node;
const NEWEST = TESTED.at(-1) ?? '';

it.each(['package.json', 'packages/contract/package.json', 'packages/platform/package.json'])(
  'the engines of %s are the versions of Node that CI tests',
  (path) => {
    const { engines } = JSON.parse(read(path)) as { engines: { node: string } };
    const majors = engines.node.split(' || ').map((range) => /^\^(\d+)\./.exec(range)?.[1]);
    expect(majors).toEqual(TESTED);
  },
);

it('the matrix that runs on one machine has the same versions', () => {
  expect(read('scripts/nodeMatrix.mjs')).toContain(`VERSIONS = ['${TESTED.join("', '")}']`);
});

it('the image, the action and the template run on the newest of them', () => {
  expect(read('Dockerfile')).toContain(`node:${NEWEST}.`);
  expect(read('templates/gitlab/release.gitlab-ci.yml')).toContain(`image: node:${NEWEST}.`);
  const action = parse(read('packages/action/action.yml')) as { inputs: Record<string, { default: string }> };
  expect(action.inputs['node-version']?.default).toBe(NEWEST);
});
