import { expect, it } from 'vitest';

import { createFailureLines } from '../../src/builder/buildFailure.ts';

function shownOf(output: string): string[] {
  const lines = createFailureLines();
  for (const line of output.trim().split('\n')) lines.add(line);
  return [...lines.relevantLines()];
}

it('of an outdated lock file list what is missing, without npm’s usage text', () => {
  const options = Array.from({ length: 100 }, (_, i) => `npm error   --option-${i}`).join('\n');
  const shown = shownOf(`
npm warn Unknown user config
npm error code EUSAGE
npm error
npm error \`npm ci\` can only install packages when your package.json and package-lock.json are in sync.
npm error
npm error Missing: left-pad@1.3.0 from lock file
npm error
npm error Clean install a project
npm error
npm error Usage:
npm error npm ci
npm error
npm error Options:
${options}
npm error aliases: clean-install, ic, install-clean, isntall-clean
npm error
npm error Run "npm help ci" for more info
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-11-23T08_06_49_373Z-debug-0.log`);
  expect(shown).toEqual([
    'npm warn Unknown user config',
    'npm error code EUSAGE',
    'npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync.',
    'npm error Missing: left-pad@1.3.0 from lock file',
  ]);
});

it('begin with npm’s first message, even if its list is long', () => {
  const missing = Array.from({ length: 50 }, (_, i) => `npm ERR! Missing: dep-${i}@1.0.0 from lock file`);
  const shown = shownOf(['npm ERR! code EUSAGE', 'npm ERR! not in sync', ...missing].join('\n'));
  expect(shown.slice(0, 3)).toEqual(['npm ERR! code EUSAGE', 'npm ERR! not in sync', '…']);
  expect(shown.slice(3)).toEqual(missing.slice(-10));
});

it.each([
  [
    'a package that is not known',
    `
npm error code E404
npm error 404 Not Found - GET https://registry.example.com/nothing
npm error 404
npm error 404  The requested resource 'nothing@1.0.0' could not be found or you do not have permission to access it.
npm error 404
npm error 404 Note that you can also install from a
npm error 404 tarball, folder, http url, or git url.
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-debug-0.log`,
    [
      'npm error code E404',
      'npm error 404 Not Found - GET https://registry.example.com/nothing',
      "npm error 404  The requested resource 'nothing@1.0.0' could not be found or you do not have permission to access it.",
    ],
  ],
  [
    'dependencies that exclude each other',
    `
npm error code ERESOLVE
npm error ERESOLVE unable to resolve dependency tree
npm error
npm error While resolving: a@1.0.0
npm error Found: q@1.0.0
npm error Could not resolve dependency:
npm error peer q@"^2.0.0" from p@1.0.0
npm error
npm error For a full report see:
npm error /home/me/.npm/_logs/2026-11-23T08_06_55_168Z-eresolve-report.txt
npm error A complete log of this run can be found in: /home/me/.npm/_logs/2026-debug-0.log`,
    [
      'npm error code ERESOLVE',
      'npm error ERESOLVE unable to resolve dependency tree',
      'npm error While resolving: a@1.0.0',
      'npm error Found: q@1.0.0',
      'npm error Could not resolve dependency:',
      'npm error peer q@"^2.0.0" from p@1.0.0',
    ],
  ],
  ['anything else', 'one\n\ntwo', ['one', '', 'two']],
])('of %s are the lines with the cause', (_, output, shown) => {
  expect(shownOf(output)).toEqual(shown);
});

it('keep the line about a full disk', () => {
  const more = Array.from({ length: 30 }, (_, i) => `line ${i}`);
  const shown = shownOf(['write: No space left on device', ...more].join('\n'));
  expect(shown).toEqual(['write: No space left on device', '…', ...more.slice(-10)]);
});
