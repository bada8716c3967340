import { runAgentCommand } from '../../../src/cli/agent.ts';

// `slipway agent DIR --port PORT --json` as a process of its own, for tests.
const [port = '0', dir = '.'] = process.argv.slice(2);
await runAgentCommand({ dir, port: Number(port), json: true });
