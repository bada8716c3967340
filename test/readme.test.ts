import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

import { describe, expect, it } from 'vitest';

import { targetWorkflowId } from '../src/domain/target/targetSpec.ts';
import { commandLineProblem } from './docs/commandLine.ts';
import { shellCommands } from './docs/shellCommands.ts';
import { parseConfig } from './config/parseConfig.ts';

const readme = readFileSync(fileURLToPath(new URL('../README.md', import.meta.url)), 'utf8');
const { scripts } = JSON.parse(
  readFileSync(fileURLToPath(new URL('../package.json', import.meta.url)), 'utf8'),
) as { scripts: Record<string, string> };

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, text]) => text ?? '',
  );
}

const commands = blocks('sh')
  .flatMap((block) => block.split('\n'))
  .map((line) => line.replace(/\s+#.*$/, '').trim())
  .filter((line) => line !== '');

describe('the README', () => {
  it.each(commands.filter((line) => line.startsWith('npm ')))('names a script that exists: %s', (line) => {
    const script = /^npm (?:run )?([\w:]+)/.exec(line)?.[1] ?? '';
    expect(['ci', 'link', ...Object.keys(scripts)]).toContain(script);
  });

  it.each(commands.filter((line) => line.startsWith('slipway ')))('shows a valid command: %s', (line) => {
    expect(shellCommands(line).map(([, ...words]) => commandLineProblem(words))).toEqual([undefined]);
  });

  it('shows a valid slipway.yaml', () => {
    const files = blocks('yaml');
    expect(files).not.toEqual([]);
    for (const file of files) parseConfig(file, 'README.md');
  });

  it('shows the workflow id of the target of its slipway.yaml', () => {
    const config = parseConfig(blocks('yaml')[0] ?? '', 'README.md');
    const { controlPlane, deployment = '' } = Object.values(config.targets)[0]!;
    expect(readme).toContain(targetWorkflowId({ controlPlane, deployment }));
  });

  it('has no broken links', () => {
    const links = [...readme.matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, link]) => link ?? '');
    const missing = links.filter(
      (link) => !existsSync(fileURLToPath(new URL(`../${link}`, import.meta.url))),
    );
    expect(missing).toEqual([]);
  });
});
