// The program that the platform starts for each revision: `agentMain.js DIR [--config FILE]`. It prints
// `{"event":"ready","url":…}` once the agent answers.
import { parseArgs } from 'node:util';

import { serveAgent } from './agent.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { config: { type: 'string' } },
});
const [dir = '.'] = positionals;
await serveAgent({
  dir,
  port: 0,
  readyLine: (url) => `${JSON.stringify({ event: 'ready', url })}\n`,
  config: values.config,
});
