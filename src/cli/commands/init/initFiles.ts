import { readFile } from 'node:fs/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { stringify } from 'yaml';

import { CONFIG_FILE } from '../../../config/findConfig.ts';
import type { InitAnswers } from './initAnswers.ts';
import type { CiKind, RepositoryFacts } from './repositoryFacts.ts';

interface CiFile {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
  /** What the user must still do before it works. */
  readonly then: string;
}

const TEMPLATES = fileURLToPath(new URL('../../../../templates/', import.meta.url));
const NAMED_TARGET = /(?<=\b(?:target|name): |_TARGET: )staging\b/g;
/** The repository of Slipway's source in the templates: this package publishes no address. */
const PLACEHOLDER = 'OWNER/slipway';

/** @param folder - the path in the repository; empty: its root, the only place where CI finds the file. */
export async function ciFile(kind: Exclude<CiKind, 'none'>, target: string, folder: string): Promise<CiFile> {
  const { template, path, then, config } = FILES[kind];
  const moved = `move it to the root of the repository, and add to its jobs "${config}: ${folder}${CONFIG_FILE}"; `;
  const text = await readFile(`${TEMPLATES}${template}`, 'utf8');
  return {
    path,
    text: text.replaceAll(NAMED_TARGET, target),
    then: `${folder === '' ? '' : moved}replace ${PLACEHOLDER} with your copy of Slipway's repository; ${then}`,
  };
}

const FILES = {
  github: {
    template: 'github/release.yml',
    path: '.github/workflows/release.yml',
    config: 'config',
    then: 'set the variable TEMPORAL_ADDRESS and the secrets that the workflow names, in the settings of the repository',
  },
  gitlab: {
    template: 'gitlab/release.gitlab-ci.yml',
    path: '.gitlab/slipway.gitlab-ci.yml',
    config: 'SLIPWAY_INPUT_CONFIG',
    then: 'include it in .gitlab-ci.yml ("include: [.gitlab/slipway.gitlab-ci.yml]"), and set its variables',
  },
} as const;

const SCHEMA = new URL('../../../../docs/slipway.schema.json', import.meta.url);

/** Where editors find the file's JSON Schema: in this installation, which may be inside the repository. */
function schemaPlace(folder: string): string {
  const path = relative(folder, fileURLToPath(SCHEMA));
  return path.startsWith('..') ? SCHEMA.href : path;
}

/** The text of a first `slipway.yaml`. */
export function configText(
  { target, controlPlane, deployment, assistant }: InitAnswers,
  { graphConfig }: Pick<RepositoryFacts, 'graphConfig'>,
  folder: string,
): string {
  const lines = [
    `# yaml-language-server: $schema=${schemaPlace(folder)}`,
    '# How this agent is released. Every field: docs/slipway-yaml.md of Slipway. Check the file: slipway lint',
    'targets:',
    `  ${scalar(target)}:`,
    `    controlPlane: ${scalar(controlPlane)}`,
    '    # The worker resolves it in its own environment. Never write a secret into this file.',
    '    apiKey: { from: env:SLIPWAY_API_KEY }',
    `    deployment: ${scalar(deployment)}`,
  ];
  // The default name is left out.
  if (graphConfig !== undefined && graphConfig !== 'graph.json') {
    lines.push('', 'artifact:', `  graphConfig: ${scalar(graphConfig)}`);
  }
  if (assistant !== undefined) {
    lines.push(
      '',
      '# Checks run the agent of the released revision. If one fails, Slipway restores the previous revision.',
      '# Set an input for this agent, and the answer that you expect: expect: { contains: … }',
      'checks:',
      '  - name: answers',
      `    assistant: ${scalar(assistant)}`,
      "    input: { messages: [{ role: user, content: 'Hello' }] }",
      '    timeout: 60s',
    );
  }
  return `${lines.join('\n')}\n`;
}

function scalar(text: string): string {
  return stringify(text, { lineWidth: 0 }).trimEnd();
}
