import { runAgentCommand } from '../../../src/cli/agent.ts';

// `slipway agent DIR --port 0 --json` as a process of its own, for tests.
const [dir = '.'] = process.argv.slice(2);
await runAgentCommand({ dir, port: 0, json: true });
