import { stringify } from 'yaml';

import type { InitAnswers } from './questions.ts';
import type { RepositoryFacts } from './repositoryFacts.ts';

/** Where editors find the schema of the file. */
const SCHEMA_URL = 'https://raw.githubusercontent.com/slipway/slipway/main/docs/slipway.schema.json';

/** The text of a first `slipway.yaml`: right, and with the next thing to change named where it stands. */
export function configText(
  { target, controlPlane, deployment, assistant }: InitAnswers,
  { graphConfig }: Pick<RepositoryFacts, 'graphConfig'>,
): string {
  const lines = [
    `# yaml-language-server: $schema=${SCHEMA_URL}`,
    '# How this agent is released. Every field: docs/slipway-yaml.md of Slipway. Check the file: slipway lint',
    'targets:',
    `  ${scalar(target)}:`,
    `    controlPlane: ${scalar(controlPlane)}`,
    '    # The worker reads it where it runs. Never write a secret itself into this file.',
    '    apiKey: { from: env:SLIPWAY_API_KEY }',
    `    deployment: ${scalar(deployment)}`,
  ];
  // The usual name need not be said.
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

/** A text as YAML writes it, in quotes only where it needs them. */
function scalar(text: string): string {
  return stringify(text, { lineWidth: 0 }).trimEnd();
}
