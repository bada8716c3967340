import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const WORKFLOWS = ['.github/workflows', 'templates/github'].flatMap((folder) =>
  readdirSync(join(ROOT, folder)).map((file) => `${folder}/${file}`),
);

interface Job {
  readonly env?: Readonly<Record<string, string>>;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: readonly { readonly uses?: string; readonly run?: string }[];
}

describe.each([...WORKFLOWS, 'packages/action/action.yml'])('%s', (file) => {
  it('pins third-party actions to commits, with their versions', () => {
    const uses = [...read(file).matchAll(/uses: (.+)$/gm)].map(([, action = '']) => action);
    for (const action of uses.filter((each) => !each.startsWith('OWNER/slipway/packages/action@'))) {
      expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    }
  });
});

describe.each(WORKFLOWS)('%s', (file) => {
  it('installs packages only without their scripts, in jobs without secrets', () => {
    const { jobs } = parse(read(file)) as { jobs: Readonly<Record<string, Job>> };
    for (const { env, permissions, steps } of Object.values(jobs)) {
      const installs = steps.flatMap(({ run = '' }) => run.match(/npm (?:ci|install)\b.*/g) ?? []);
      if (installs.length === 0) continue;
      expect(installs.filter((line) => !line.includes('--ignore-scripts'))).toEqual([]);
      expect(JSON.stringify(env ?? {})).not.toContain('secrets.');
      expect(permissions ?? {}).not.toHaveProperty('id-token');
    }
  });
});

describe('a release of Slipway', () => {
  const { jobs } = parse(read('.github/workflows/release.yml')) as { jobs: Readonly<Record<string, Job>> };
  const lines = (job: string): string => (jobs[job]?.steps ?? []).map(({ run = '' }) => run).join('\n');

  it('includes a list of its parts, their licenses, and provenance', () => {
    expect(lines('pack')).toContain('npm run --silent parts > reports/sbom.cdx.json');
    expect(lines('pack')).toContain('npm run --silent licenses');
    expect(lines('pack')).toContain('npm pkg set "repository=git+$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git"');
    expect(lines('publish')).toContain('--provenance');
    expect(lines('image')).toContain('--sbom=true --provenance=mode=max');
    expect(lines('notes')).toContain('reports/sbom.cdx.json reports/licenses.txt');
  });

  it('is published by a job with an identity, which runs no code of the packages', () => {
    expect(jobs['publish']?.permissions).toEqual({ 'id-token': 'write' });
    expect(lines('publish')).not.toMatch(/npm (?:ci|install|run)/);
    expect(lines('publish')).toContain('--ignore-scripts');
    expect(lines('notes')).not.toMatch(/\bn(?:pm|ode)\b/);
  });
});

it('every package that users install has an allowed license', () => {
  const list = execFileSync(process.execPath, [join(ROOT, 'scripts/listLicenses.mjs')], { encoding: 'utf8' });
  expect(list).toMatch(/^zod \d+\.\d+\.\d+ {2}MIT$/m);
  expect(list).not.toMatch(/^vitest /m);
});

it('the list of parts has the packages of Slipway, and every package that users install with them', () => {
  const printedBy = (script: string): string =>
    execFileSync(process.execPath, [join(ROOT, 'scripts', script)], { encoding: 'utf8' });
  const { components } = JSON.parse(printedBy('listParts.mjs')) as {
    readonly components: readonly { readonly name: string; readonly version: string }[];
  };
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const own = ['slipway', '@slipway/contract', '@slipway/platform'].map((name) => `${name} ${version}`);
  const licensed = printedBy('listLicenses.mjs').trim().split('\n');
  expect(components.map((part) => `${part.name} ${part.version}`).sort()).toEqual(
    [...own, ...licensed.map((line) => line.slice(0, line.indexOf('  ')))].sort(),
  );
});
